#!/usr/bin/env python3
"""What the report says of PyTorch loops, and what fixing them gains: pytorch_loops.py PORTABLE OUT [NAME...]

Measures each loop of examples/pytorch/loops.py with PORTABLE/bin/diogenes, a session each, then runs original and fixed
variants in pairs without it, in several processes: the CPU's part of a step differs by some percent within a process, and by
up to a fifth between two. NAME: of the loops, default all, which takes 9 minutes: a start of PyTorch takes 8 s. OUT gets
loops.md, a table for docs/lab; NAME.json, NAME.txt and NAME.diogenes, the reports and sessions; every reading, a file a process.
$REPEAT: traced runs of a session (3); $PROCESSES (3), $PAIRS in each (4); $LIMIT: seconds for all of it (560). Exit status 0:
all loops were measured, their variants print the same, and what the report says of each holds.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import time

LOOPS = ["item", "same_batch", "pageable", "mask", "norm", "clean"]
CONTROL = "clean"
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.normpath(os.path.join(HERE, "..", "..", "examples", "pytorch", "loops.py"))
STARTED = time.monotonic()
LIMIT = float(os.environ.get("LIMIT", "560"))


def call(command, output=None):
    """The exit status; 124 where the time was up."""
    left = LIMIT - (time.monotonic() - STARTED)
    with open(output or os.devnull, "wb") as file:
        try:
            return subprocess.run(command, stdout=file, timeout=max(left, 1)).returncode
        except subprocess.TimeoutExpired:
            return 124


def measure(tool, out, name):
    begin = time.monotonic()
    status = call([tool, "run", "--force", "--timeout", "60", "--repeat", os.environ.get("REPEAT", "3"), "--output",
                   os.path.join(out, name + ".diogenes"), "--report", os.path.join(out, name + ".txt"), "--", sys.executable,
                   SCRIPT, "--loop", name])
    print(f"{name}: measured, status {status}, {time.monotonic() - begin:.1f} s", flush=True)


def report_of(tool, out, name):
    """None where there is none."""
    session, report = os.path.join(out, name + ".diogenes"), os.path.join(out, name + ".json")
    if call([tool, "export", session, "--format", "json", "--force", "-o", report]) != 0:
        return None
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def median_error(values):
    """The standard error of the median, from the median absolute deviation, as bench/benefit.cc has it."""
    middle = statistics.median(values)
    deviation = 1.4826 * statistics.median(abs(value - middle) for value in values)
    return 1.2533 * deviation * math.sqrt(len(values)) / (len(values) - 0.8)


def together(processes):
    """Of what the processes measured of one loop. The error: of all pairs, or of the processes, whichever is larger."""
    differences = [
        original - fixed for pairs in processes for original, fixed in zip(pairs["original_s"], pairs["fixed_s"])
    ]
    error = median_error(differences)
    if len(processes) > 1:
        by_process = [pairs["actual_s"] for pairs in processes]
        error = max(error, statistics.stdev(by_process) / math.sqrt(len(by_process)))
    return {
        "same_results": all(pairs["same_results"] for pairs in processes),
        "loop_s": statistics.median(second for pairs in processes for second in pairs["original_s"]),
        "actual_s": statistics.median(differences),
        "error_s": error,
        "by_process_s": [pairs["actual_s"] for pairs in processes],
    }


def measure_pairs(out, names):
    """By loop: the actual benefit, and how far it may be off."""
    found = {}
    for number in range(1, int(os.environ.get("PROCESSES", "3")) + 1):
        path = os.path.join(out, f"pairs-{number}.json")
        status = call([sys.executable, SCRIPT, "--pairs", os.environ.get("PAIRS", "4"), "--loop"] + names, path)
        print(f"pairs, process {number}: status {status}", flush=True)
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    pairs = json.loads(line)
                    found.setdefault(pairs["loop"], []).append(pairs)
    return {name: together(processes) for name, processes in found.items()}


def planted_line(name):
    with open(SCRIPT, encoding="utf-8") as file:
        return next((number for number, line in enumerate(file, 1) if line.rstrip().endswith("# PLANTED: " + name)), None)


def place(entry, name):
    where = entry["where"]
    if not where or where["line"] is None:
        return "no line"
    at = f"{os.path.basename(where['file'] or '')}:{where['line']}"
    return at + (" (planted)" if at == f"loops.py:{planted_line(name)}" else "")


def largest_finding(report):
    """The problem, or the group of problems of one place, with the largest expected benefit; of equal ones the group."""
    problems = {problem["id"]: problem for problem in report["problems"]}
    found = list(problems.values())
    for group in report["groups"]:
        if group["grouping"] != "sequence":
            members = [problems[member] for member in group["members"]]
            largest = max(members, key=lambda problem: problem["expected_benefit_s"])
            kinds = " and ".join(sorted({problem["kind"] for problem in members}))
            found.insert(0, dict(group, where=largest["where"], kind=kinds))
    return max(found, key=lambda entry: entry["expected_benefit_s"], default=None)


def ms(seconds):
    return f"{1000 * seconds:.1f}"


def percent(seconds, loop_s):
    return f"{100 * seconds / loop_s:.1f}%"


def verdict(name, finding, required, pairs):
    """Does what the report says of the planted line hold? The control has no finding of 1%. A range holds the actual gain;
    nothing may be said of what gains less than 5%."""
    loop_s, actual, error = pairs["loop_s"], pairs["actual_s"], pairs["error_s"]
    found = finding is not None and finding["expected_benefit_s"] >= 0.01 * loop_s
    if name == CONTROL:
        return "no" if found else "yes"
    if found and place(finding, name).endswith("(planted)"):
        low, high = finding["expected_benefit_range_s"]
    elif required is not None and place(required, name).endswith("(planted)"):
        low, high = required["up_to_range_s"]
    else:
        return "yes" if actual < 0.05 * loop_s else "no: not reported"
    return "yes" if low - 2 * error <= actual <= high + 2 * error else "no"


def row(name, report, pairs):
    loop_s = pairs["loop_s"]
    finding = largest_finding(report)
    required = max(report["required"], key=lambda entry: entry["up_to_s"], default=None)
    found = waits = "-"
    if finding is not None:
        gain = finding["expected_benefit_s"]
        low, high = (ms(end) for end in finding["expected_benefit_range_s"])
        found = f"{finding['kind']}, {place(finding, name)}: {ms(gain)} [{low} to {high}], {percent(gain, loop_s)}"
    if required is not None:
        gain = required["up_to_s"]
        low, high = (ms(end) for end in required["up_to_range_s"])
        call = required["api"] or required["operation"]
        waits = f"{call}, {place(required, name)}: {ms(gain)} [{low} to {high}], {percent(gain, loop_s)}"
    by_process = ", ".join(ms(seconds) for seconds in pairs["by_process_s"])
    actual = f"{ms(pairs['actual_s'])} +- {ms(pairs['error_s'])} ({by_process}), {percent(pairs['actual_s'], loop_s)}"
    return [name, ms(loop_s), found, waits, actual, verdict(name, finding, required, pairs)]


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    top, out = (os.path.abspath(path) for path in sys.argv[1:3])
    names = sys.argv[3:] or LOOPS
    os.makedirs(out, exist_ok=True)
    tool = os.path.join(top, "bin", "diogenes")
    for name in names:
        measure(tool, out, name)
    reports = {name: report_of(tool, out, name) for name in names}
    pairs = measure_pairs(out, names)
    lines = ["| loop | loop, ms | largest finding | largest needed wait, up to | actual (by process) | holds |", "|---|---|---|---|---|---|"]
    wrong = 0
    for name in names:
        if not reports[name] or name not in pairs or not pairs[name]["same_results"]:
            lines.append(f"| {name} | not measured, or its variants print different results |")
            wrong += 1
            continue
        cells = row(name, reports[name], pairs[name])
        wrong += not cells[-1].startswith("yes")
        lines.append("| " + " | ".join(cells) + " |")
    table = "\n".join(lines) + "\n"
    with open(os.path.join(out, "loops.md"), "w", encoding="utf-8") as file:
        file.write(table)
    print(table, end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
