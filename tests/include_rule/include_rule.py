#!/usr/bin/env python3
"""The one-way flow (ARCHITECTURE.md), checked by reading every #include "..." in src/ and sim/.

Usage: include_rule.py ROOT. Prints one line a violation; exit status 1 if there is any, 2 if ROOT holds no sources.
"""
import os
import re
import sys

# A folder may include itself and these.
MAY = {
    "base": "",
    "driver": "base",
    "ffm": "driver base",
    "trace": "ffm driver base",
    "agent": "trace ffm driver base",
    "gpu_times": "driver base",
    "python": "trace ffm driver base",
    "values": "trace ffm driver base",
    "corrector": "trace ffm driver base",
    "nvtx": "trace ffm driver base",
    "analysis": "trace ffm driver base",
    "views": "base",  # and of the analysis the report alone
    "launcher": "views analysis trace ffm driver base",
    "sim": "driver base",
}
# Rooms in order: each may include itself and those before it. ".": the files of the folder itself.
ROOMS = {
    "agent": ["core", "watching", "hooks"],
    "analysis": ["symbols", "runs", "necessity", "benefit", "replay", "program", "findings", "report", ".", "proof"],
}
REPORT = "analysis/report/report.h"  # data only: the product
# Folders whose files may still include each other in a circle.
KNOTS = ["src/agent/watching/"]
# What must not get into the program that is measured: allocation and streams behind its back.
NOT_IN_AGENT = re.compile(r"(iostream|fstream|sstream|regex|(nlohmann|fmt|elfutils|CLI)/.*)$")

INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*(["<])([^">]*)')


def sources():
    for top in ("src", "sim"):
        for folder, _, names in os.walk(top):
            for name in names:
                if name.endswith((".h", ".cc", ".c", ".S", ".def", ".inc")):
                    yield os.path.join(folder, name)


def includes(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if found := INCLUDE.match(line):
                yield number, found[1] == "<", found[2]


def room_of(folder, path):
    """Its position in the order; None: it lies in no room. `path`: from `folder` on."""
    room = path.split("/")[0] if "/" in path else "."
    return ROOMS[folder].index(room) if room in ROOMS[folder] else None


def violations(path):
    """(line, what is wrong)"""
    folder, _, inside = path.removeprefix("src/").partition("/")
    if folder not in MAY:
        return [(1, f"folder {folder} has no line in the rule: add it to tests/include_rule")]
    rooms = ROOMS.get(folder)
    if rooms and "/testing/" not in "/" + path and room_of(folder, inside) is None:
        return [(1, f"the files of {folder} lie in {', '.join(rooms[:-1])} or {rooms[-1]}")]
    wrong = []
    for number, system, target in includes(path):
        of, _, behind = target.partition("/")
        if system:
            if folder == "agent" and not is_test(path) and NOT_IN_AGENT.match(target):
                wrong.append((number, f"the agent may not include <{target}>"))
        elif "../" in target:
            wrong.append((number, f'"{target}": includes are written from src/'))
        elif not behind or (of == "analysis" and folder == "views" and target == REPORT):
            pass  # beside this file, or generated; or the report
        elif of == folder and rooms and not is_test(path) and target != REPORT:
            there = room_of(folder, behind)
            if there is not None and there > room_of(folder, inside):
                wrong.append((number, f'{rooms[room_of(folder, inside)]} may not include {rooms[there]}: "{target}"'))
        elif of in MAY and of != folder and of not in MAY[folder].split():
            wrong.append((number, f'{folder} may not include "{target}"'))
    return wrong


def is_test(path):
    return path.endswith("_test.cc") or "/testing/" in path


def circles(files):
    """Header and source of one name are one: which of these include each other, and one way around each circle."""
    present, edges = set(files), {}
    for path in files:
        beside, stem = os.path.dirname(path), os.path.splitext(path)[0]
        edges.setdefault(stem, set())
        for _, system, target in includes(path):
            named = [p for p in (f"{beside}/{target}", f"src/{target}", f"sim/{target}") if p in present]
            if named and not system and not any(stem.startswith(k) and named[0].startswith(k) for k in KNOTS):
                edges[stem].add(os.path.splitext(named[0])[0])
    done = set()
    for start in sorted(edges):
        if start in done:
            continue
        way, iterators = [start], [iter(sorted(edges[start]))]
        while way:
            then = next(iterators[-1], None)
            if then is None:
                done.add(way.pop())
                iterators.pop()
            elif then in way and then != way[-1]:
                yield way[way.index(then):] + [then]
            elif then not in done and then != way[-1]:
                way.append(then)
                iterators.append(iter(sorted(edges[then])))


def main():
    os.chdir(sys.argv[1])
    files = sorted(sources())
    if not files:
        print(f"no sources in {sys.argv[1]}/src or {sys.argv[1]}/sim: is this the project's root?", file=sys.stderr)
        return 2
    found = [f"{path}:{line}: {what}" for path in files for line, what in violations(path)]
    found += ["a circle of files: " + " -> ".join(way) for way in circles(files)]
    print("\n".join(found) if found else f"{len(files)} files follow the include rule")
    return 1 if found else 0


sys.exit(main())
