#!/usr/bin/env python3
"""times.py TOP [OUT] [NAME...]: what each stage costs against the plain run, as medians of paired runs.

A pair is one plain run and one `diogenes run`, by turns one first and the other, whose session says how long each stage took; a ratio is taken
inside each pair, so that a machine that grows slower during the measurement does not count. TOP: the unpacked folder of
the target portable-tests (or portable), or a build's output folder. NAME: als cfd multigrid gaussian, the runtime
examples that are there, loops (examples/pytorch/loops.py; left out where python3 has no torch that sees a GPU); default:
all. OUT (default: $OUT, or ./gpu-times) gets times.md, a table for docs/lab, and times.json, every reading.

$PAIRS (7), $DRIVER (system), $LIMIT: seconds for all of it (540); a program gets an equal share of what is left, and
fewer pairs if that is over. Exit status 0: all programs ran, gave the same output under every stage, and every stage is
within its aim.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

STAGES = ["baseline", "tracing", "memory-tracing", "sync-use"]
AIMS = {"baseline": 1.05, "tracing": 1.10, "memory-tracing": 1.5, "sync-use": 1.25}
EXAMPLES = ["als", "cfd", "multigrid", "gaussian"]
RUNTIME = ["als_runtime_static", "loop_runtime_static"]


def commands(top, driver, wanted):
    result = {}
    names = EXAMPLES + (RUNTIME if driver == "system" else [])
    for name in names:
        path = os.path.join(top, "bin", "examples", name)
        if os.access(path, os.X_OK):
            result[name] = [path]
    here = os.path.dirname(os.path.abspath(__file__))
    loops = os.path.join(here, "..", "..", "examples", "pytorch", "loops.py")
    has_torch = "import torch; assert torch.cuda.is_available()"
    if driver == "system" and subprocess.run([sys.executable, "-c", has_torch], capture_output=True).returncode == 0:
        result["loops"] = [sys.executable, os.path.normpath(loops)]
    else:
        print("left out: loops (python3 has no torch that sees a GPU)")
    return {name: command for name, command in result.items() if not wanted or name in wanted}


def environment(top, driver):
    result = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    if driver == "simulated":
        own = os.path.join(top, "lib", "simulated")
        result["LD_LIBRARY_PATH"] = own + (":" + result["LD_LIBRARY_PATH"] if result.get("LD_LIBRARY_PATH") else "")
    return result


def one_pair(top, driver, command, work, limit, plain_first):
    """Seconds of the plain run and of each stage; and what went wrong ('')."""
    seconds = {}

    def run_plain():
        begin = time.perf_counter()
        ended = subprocess.run(command, env=environment(top, driver), capture_output=True, timeout=limit)
        seconds["plain"] = time.perf_counter() - begin
        return ended

    plain = run_plain() if plain_first else None
    session = os.path.join(work, "session.diogenes")
    tool = [os.path.join(top, "bin", "diogenes"), "run", "--driver", driver, "--force", "--output", session, "--report",
            os.path.join(work, "report.txt"), "--"]
    environment_of_tool = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    measured = subprocess.run(tool + command, env=environment_of_tool, capture_output=True, timeout=limit)
    plain = plain or run_plain()
    if measured.stdout != plain.stdout or measured.returncode != plain.returncode:
        return seconds, "output or exit status is not the plain run's: " + measured.stderr.decode(errors="replace")[-400:]
    with open(os.path.join(session, "session.json"), encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    trouble = ""
    for run in runs:
        stage = re.sub(r"-\d+$", "", run["name"])  # of a stage's runs, the longest
        if stage in STAGES:
            seconds[stage] = max(run["runtime_s"], seconds.get(stage, 0))
            if run.get("output_difference") or run.get("state") != "complete":
                trouble = f"stage {run['name']}: {run.get('state')}, or its output differs"
    return seconds, trouble


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    top = os.path.abspath(arguments[0])
    out = arguments[1] if len(arguments) > 1 else os.environ.get("OUT", "gpu-times")
    driver = os.environ.get("DRIVER", "system")
    pairs = int(os.environ.get("PAIRS", "7"))
    end = time.monotonic() + float(os.environ.get("LIMIT", "540"))
    os.makedirs(out, exist_ok=True)
    programs = commands(top, driver, arguments[2:])
    readings, failures, late = {}, [], []
    for number, (name, command) in enumerate(programs.items()):
        share = (end - time.monotonic()) / (len(programs) - number)
        stop = time.monotonic() + share
        readings[name] = []
        longest = 0
        while len(readings[name]) < pairs and time.monotonic() + longest < stop:
            begin = time.monotonic()
            with tempfile.TemporaryDirectory() as work:
                try:
                    seconds, trouble = one_pair(top, driver, command, work, max(stop - time.monotonic(), 5),
                                                len(readings[name]) % 2 == 0)
                except subprocess.TimeoutExpired:
                    seconds, trouble = {}, "no time left"
            longest = max(longest, time.monotonic() - begin)
            if trouble:
                failures.append(f"{name}: {trouble}")
                break
            readings[name].append(seconds)
        print(f"{name}: {len(readings[name])} pairs", flush=True)

    table = ["| program | pairs | plain, s | baseline | tracing | memory tracing | sync-use |", "|---|---|---|---|---|---|---|"]
    for name, of_program in readings.items():
        if not of_program:
            continue
        cells = [name, str(len(of_program)), f"{statistics.median(r['plain'] for r in of_program):.3f}"]
        for stage in STAGES:
            ratios = [r[stage] / r["plain"] for r in of_program if stage in r]
            if not ratios:
                cells.append("-")
                continue
            median = statistics.median(ratios)
            if median > AIMS[stage]:
                late.append(f"{name}: {stage} {median:.3f}, aim {AIMS[stage]}")
            cells.append(f"{median:.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
        table.append("| " + " | ".join(cells) + " |")
    text = "\n".join(table) + "\n"
    text += "\nRun time by the plain run's, median of the pairs (least to most).\n"
    text += "".join(f"Over its aim: {line}\n" for line in late) + "".join(f"FAILED {line}\n" for line in failures)
    print(text, end="")
    with open(os.path.join(out, "times.md"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(out, "times.json"), "w", encoding="utf-8") as file:
        json.dump({"driver": driver, "readings": readings, "over_aim": late, "failures": failures}, file, indent=1)
    return 1 if failures or late or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
