#!/usr/bin/env python3
"""clang-tidy (checks: .clang-tidy) over the sources of src and sim outside tests. Sources of one folder of src, or one room of
the agent or the simulator, are looked at together, as one, which takes a third of the time; alone where they do not compile so.
What was clean in the last run here, with the same text, headers and checks, is not looked at again."""
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLEAN = "build/tidy"
# What clang itself says is left to GCC, which builds the tree with warnings as errors, and knows attributes and options that
# clang does not. A source that includes sources is ours.
CHECKS = "--checks=-bugprone-suspicious-include"
# What GCC takes and clang 14 does not. Any other source that clang cannot read has not been looked at.
KNOWN = re.compile(r"does not have a constant initializer|'noreturn' attribute does not appear on the first declaration")
FOUND = re.compile(r".*(?:error|warning): .*\[(?:bugprone|misc|performance|readability)-")


def text(path):
    with open(path, "rb") as file:
        return file.read()


def together(path):
    """The folder whose sources are looked at with this one."""
    apart = path.startswith(("src/agent/", "sim/"))
    return os.path.dirname(path) if apart else "/".join(path.split("/")[:2])


def sources():
    """Of each folder: source -> the options that say what it sees."""
    folders = {}
    with open("build/release/compile_commands.json", encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        files = [command["file"]]
        if "/Unity/" in files[0]:
            files = re.findall(r'#include "(.*)"', text(files[0]).decode())
        for path in (os.path.relpath(file, TOP) for file in files):
            if not re.match(r"(src|sim)/.*\.cc$", path) or re.search(r"_test\.cc$|/testdata/|/testing/", path):
                continue
            words = shlex.split(command["command"])
            options = [word for word in words if word.startswith(("-I", "-D"))]
            options += ["-isystem" + words[i + 1] for i, word in enumerate(words) if word == "-isystem"]
            folders.setdefault(together(path), {}).setdefault(path, options)
    return folders


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def looked_at(name, paths, options, headers):
    """What clang-tidy says of these sources together; None: they do not compile together."""
    key = f"{CLEAN}/{name.replace('/', '_')}.{hashlib.sha256(headers + b''.join(map(text, paths))).hexdigest()[:32]}"
    if os.path.exists(key):
        return ""
    unit = paths[0]
    if len(paths) > 1:
        unit = f"{CLEAN}/{name.replace('/', '_')}.cc"
        with open(unit, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{TOP}/{path}"\n' for path in paths)
    options = ["-std=c++20", *options]
    told = run("clang-tidy", "--quiet", CHECKS, unit, "--", "-w", *options).stdout.splitlines()
    errors = [line for line in told if "[clang-diagnostic-error]" in line]
    if errors and len(paths) > 1:
        return None
    unread = [line for line in errors if not KNOWN.search(line)]
    if unread:
        return f"{paths[0]}: clang cannot read it, so clang-tidy says nothing of it: {unread[0]}\n"
    found = [line for i, line in enumerate(told) if any(map(FOUND.match, told[max(0, i - 3) : i + 1]))]
    if not found:
        for old in glob.glob(key.rpartition(".")[0] + ".*"):
            if not old.endswith(".cc"):
                os.remove(old)
        with open(key, "wb"):
            pass
    return "".join(line + "\n" for line in found)


def folder_looked_at(folder, files, headers):
    paths = sorted(files)
    found = looked_at(folder, paths, sorted({option for options in files.values() for option in options}), headers)
    if found is None:
        found = "".join(looked_at(path, [path], files[path], headers) for path in paths)
    return found


def main():
    os.chdir(TOP)
    if not os.path.exists("build/release/compile_commands.json"):
        subprocess.run(["ci/build.sh", "release", "--configure-only"], check=True)
    os.makedirs(CLEAN, exist_ok=True)
    seen = [path for top in ("src", "sim") for path in glob.glob(f"{top}/**/*", recursive=True) if path.endswith((".h", ".def"))]
    headers = b"".join(map(text, [".clang-tidy", *sorted(seen)]))
    folders = sorted(sources().items(), key=lambda one: -len(one[1]))  # the largest first
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda one: folder_looked_at(*one, headers), folders))
    print("".join(found), end="")
    return any(found)


if __name__ == "__main__":
    sys.exit(main())
