#!/usr/bin/env python3
"""schedules.py TOP COUNT [OUT]: random schedules, expected benefit beside the actual one, one on each GPU at a time.

TOP: the unpacked folder of the target portable-tests, or a build's output folder. OUT (default: $OUT, or
./schedules) gets schedules.json (a row for each, of bench-accuracy), schedules.md (how many are right, and the wrong
ones) and sessions.tar.gz (some sessions, first of the wrong ones, then of those that a stricter measure calls wrong).

$FIRST: the first seed (1). $PAIRS (5), $MOST_PAIRS (9), $REPEAT (1), $ITERATIONS: as of bench-accuracy. $DRIVER: system
(default) or simulated. $JOBS: at a time; default: as many as there are GPUs, and a third of the processors on the
simulated driver. On several GPUs of one machine they hold each other up (docs/lab/2026-11-22-accuracy.md): one tells more.
$KEEP: which sessions, wrong (default) or all. $LIMIT: seconds; what was not begun by then is left out, and counted
(540). Exit status 0: all were measured.
"""
import concurrent.futures
import json
import os
import queue
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

KEEP = os.environ.get("KEEP", "wrong")
MOST_KEPT = 60 if KEEP == "all" else 12  # sessions


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 1
    return max(1, sum(line.startswith("GPU ") for line in listed.splitlines()))


class Measurements:
    def __init__(self, top, driver, jobs, work):
        self.bench = os.path.join(top, "bin", "bench-accuracy")
        self.driver, self.work = driver, work
        self.places = queue.Queue()  # one job on each GPU
        for place in range(jobs):
            self.places.put(place)
        self.end = time.monotonic() + float(os.environ.get("LIMIT", "540"))

    def measure(self, seed):
        """The row, and '' or what went wrong; None if it was not begun."""
        place = self.places.get()
        try:
            left = self.end - time.monotonic()
            if left <= 0:
                return None, ""
            folder = os.path.join(self.work, f"seed-{seed}")
            own = os.path.join(self.work, f"place-{place}")
            os.makedirs(own, exist_ok=True)
            environment = dict(os.environ, TMPDIR=own)
            if self.driver == "system":
                environment["CUDA_VISIBLE_DEVICES"] = str(place)
            table = os.path.join(self.work, f"seed-{seed}.json")
            options = ["--pairs", os.environ.get("PAIRS", "5"), "--most-pairs", os.environ.get("MOST_PAIRS", "9"),
                       "--repeat", os.environ.get("REPEAT", "1")]
            if os.environ.get("ITERATIONS"):
                options += ["--iterations", os.environ["ITERATIONS"]]
            ended = subprocess.run(
                [self.bench, "--driver", self.driver, *options, "--random", "1", "--seed", str(seed), "--keep", folder,
                 "--json", table], env=environment, capture_output=True, text=True, timeout=max(left, 60))
            with open(table, encoding="utf-8") as file:
                rows = json.load(file)["programs"]
            if ended.returncode != 0 or not rows:
                return None, f"seed {seed}: {ended.stderr.strip()[-400:]}"
            if rows[0]["replay_right"] and rows[0]["replay_strictly_right"] and KEEP != "all":
                shutil.rmtree(folder, ignore_errors=True)
            return rows[0], ""
        except (subprocess.TimeoutExpired, OSError, ValueError) as error:
            return None, f"seed {seed}: {error}"
        finally:
            self.places.put(place)


def milliseconds(row, *keys):
    return " | ".join(f"{1000 * row[key]:.2f}" for key in keys)


def summary(rows, asked, failures):
    wrong = [row for row in rows if not row["replay_right"]]
    worth = [row for row in rows if row["actual_s"] >= 0.01 * row["runtime_s"]]
    accuracy = sum(row["replay_accuracy"] for row in worth) / len(worth) if worth else 0
    lines = [
        "| random schedules | right: replay | in the range | 1% of the time from start to end of the work, not of the process |"
        " mean accuracy, benefits of 1% or more | right: paper |", "|---|---|---|---|---|---|",
        f"| {len(rows)} of {asked} | {len(rows) - len(wrong)} | {sum(row['in_range'] for row in rows)} |"
        f" {sum(row['replay_strictly_right'] for row in rows)} |"
        f" {accuracy:.3f} ({len(worth)}) | {sum(row['paper_right'] for row in rows)} |", ""]
    if wrong:
        lines += ["Wrong, milliseconds:", "", "| schedule | run time | of it noted | paper | replay | actual | error | allowed |"
                  " range | wide because |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in wrong:
        figures = milliseconds(row, "runtime_s", "noted_s", "paper_s", "replay_s", "actual_s", "actual_error_s", "allowed_s")
        low, high = row["range_s"]
        lines.append(f"| {row['program']} | {figures} | {1000 * low:.2f} to {1000 * high:.2f} | {row['range_reason'] or ''} |")
    lines += [f"FAILED {failure}" for failure in failures]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (3, 4) or not sys.argv[2].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    top, asked = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    out = sys.argv[3] if len(sys.argv) > 3 else os.environ.get("OUT", "schedules")
    driver = os.environ.get("DRIVER", "system")
    default = gpus() if driver == "system" else max(1, (os.cpu_count() or 1) // 3)
    jobs = int(os.environ.get("JOBS", default))
    first = int(os.environ.get("FIRST", "1"))
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = os.path.join(work, "cache")
        measurements = Measurements(top, driver, jobs, work)
        # The driver's wait function is looked for once, and not by all at the same time.
        rows, failures = [], []
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            seeds = range(first, first + asked)
            futures = [pool.submit(measurements.measure, seed) for seed in seeds[:1]]
            concurrent.futures.wait(futures)
            futures += [pool.submit(measurements.measure, seed) for seed in seeds[1:]]
            for done in concurrent.futures.as_completed(futures):
                row, failure = done.result()
                if row:
                    rows.append(row)
                    if len(rows) % 20 == 0:
                        print(f"{len(rows)} of {asked}, {sum(r['replay_right'] for r in rows)} right", flush=True)
                if failure:
                    failures.append(failure)
        rows.sort(key=lambda row: int(row["program"].split()[1]))
        text = summary(rows, asked, failures)
        print(text, end="")
        with open(os.path.join(out, "schedules.md"), "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(out, "schedules.json"), "w", encoding="utf-8") as file:
            json.dump({"schema": "diogenes-bench-accuracy/1", "driver": driver, "programs": rows}, file, indent=1)
        missed = sorted((row["replay_right"], row["replay_strictly_right"], row["program"].split()[1]) for row in rows)
        kept = [seed for right, strict, seed in missed if KEEP == "all" or not (right and strict)]
        with tarfile.open(os.path.join(out, "sessions.tar.gz"), "w:gz") as archive:
            for seed in kept[:MOST_KEPT]:
                archive.add(os.path.join(work, f"seed-{seed}"), f"seed-{seed}")
    return 1 if failures or len(rows) < asked else 0


if __name__ == "__main__":
    sys.exit(main())
