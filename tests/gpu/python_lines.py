#!/usr/bin/env python3
"""Lines of Python in reports of real programs: python_lines.py TOP OUT

Runs tests/gpu/python/*.py under TOP/bin/diogenes, as far as their libraries are installed, and looks in the reports for the
lines that are marked PLANTED. OUT gets the reports. Exit status 1: a line is missing.
"""
import importlib.util
import json
import os
import subprocess
import sys

# Script, library, what is planted, and how often it must be seen; `waits`: as a frame of the thread that waits.
PROGRAMS = [
    ("pytorch.py", "torch", [("step", 60, False), ("backward", 6, False), ("waiter", 6, True)]),
    ("cupy_waits.py", "cupy", [("step", 200, False)]),
]


def planted_line(script, name):
    with open(script, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.rstrip().endswith("# PLANTED: " + name):
                return number
    raise ValueError(name)


def report_of(top, out, script, name):
    session = os.path.join(out, name + ".diogenes")
    tool = os.path.join(top, "bin", "diogenes")
    subprocess.run([tool, "run", "--force", "--output", session, "--", sys.executable, script], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    exported = subprocess.run([tool, "export", session, "--format", "json"], check=True, stdout=subprocess.PIPE)
    return json.loads(exported.stdout)


def times_seen(report, script, line, waits):
    seen = 0
    for problem in report["problems"]:
        frames = [frame for frame in problem["stack"] if frame["language"] == "python"]
        if any(os.path.basename(frame["file"] or "") == script and frame["line"] == line and frame["waits"] == waits
               for frame in frames):
            seen += problem["instances"]
    return seen


def main():
    top, out = sys.argv[1:3]
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python")
    os.makedirs(out, exist_ok=True)
    missing = 0
    for script, library, places in PROGRAMS:
        if importlib.util.find_spec(library) is None:
            print(script + ": " + library + " is not installed here")
            continue
        path = os.path.join(folder, script)
        report = report_of(top, out, path, script[:-3])
        for name, expected, waits in places:
            seen = times_seen(report, script, planted_line(path, name), waits)
            print("%s, %s: %d of %d" % (script, name, seen, expected))
            missing += seen < expected
    sys.exit(1 if missing else 0)


main()
