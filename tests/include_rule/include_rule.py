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
    "analysis": "trace ffm driver base",
    "views": "base",  # and of the analysis the report alone
    "launcher": "views analysis python trace ffm driver base",  # python: how its memory is read
    "sim": "driver base",
}
# Rooms in order: each may include itself and those before it. ".": the files of the folder itself. A folder with rooms may
# lie in a room.
ROOMS = {
    "agent": ["core", "watching", "hooks", "proving"],
    "agent/watching": ["guard", "order", ".", "facts"],
    "analysis": ["symbols", "runs", "necessity", "benefit", "replay", "program", "findings", "report", "samples", "cubins", "kernel_samples", "profile", ".", "proof"],
}
REPORT = "analysis/report/report.h"  # data only: the product
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


def room_of(rooms, folder, path):
    """Its position in the order; None: it lies in none of the folder's rooms."""
    if not path.startswith(folder + "/"):
        return None
    room, behind, _ = path[len(folder) + 1:].partition("/")
    room = room if behind else "."
    return rooms.index(room) if room in rooms else None


def violations(path):
    """(line, what is wrong)"""
    inside = path.removeprefix("src/")
    folder = inside.split("/")[0]
    if folder not in MAY:
        return [(1, f"folder {folder} has no line in the rule: add it to tests/include_rule")]
    orders = {of: rooms for of, rooms in ROOMS.items() if inside.startswith(of + "/") and not is_test(path)}
    wrong = [(1, f"the files of {of} lie in {', '.join(rooms[:-1])} or {rooms[-1]}")
             for of, rooms in orders.items() if room_of(rooms, of, inside) is None]
    if wrong:
        return wrong
    for number, system, target in includes(path):
        of = target.split("/")[0]
        if system:
            if folder == "agent" and not path.endswith("_test.cc") and NOT_IN_AGENT.match(target):
                wrong.append((number, f"the agent may not include <{target}>"))
        elif "../" in target:
            wrong.append((number, f'"{target}": includes are written from src/'))
        elif target == REPORT and folder in ("analysis", "views"):
            pass
        elif "/" in target and of in MAY and of != folder and of not in MAY[folder].split():
            wrong.append((number, f'{folder} may not include "{target}"'))
        else:  # perhaps beside this file, or generated
            for within, rooms in orders.items():
                here, there = room_of(rooms, within, inside), room_of(rooms, within, target)
                if there is not None and there > here:
                    wrong.append((number, f'{rooms[here]} may not include {rooms[there]}: "{target}"'))
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
            if named and not system:
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
