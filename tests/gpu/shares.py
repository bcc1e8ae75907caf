#!/usr/bin/env python3
"""A profile's shares inside kernels, beside those of ncu: shares.py TOP OUT [TURNS LAUNCHES WAVES]

Compiles regions.cu with nvcc, lets TOP/bin/diogenes and ncu sample it, and prints each kernel's shares by region, in percent.
Wants nvcc, ncu and nvdisasm on the PATH, and a GPU that may be sampled. OUT gets the program and what both recorded. Where
warps go through a kernel in step (WAVES of 2), ncu's own modes differ by some points (docs/driver-facts.md).
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "regions.cu")
PERIOD = ["--warp-sampling-interval", "9"]  # 2^14 cycles, as `diogenes profile` samples
SAMPLES = ["--metrics", "group:smsp__pcsamp_warp_stall_reasons"]
MODES = {
    "one pass": SAMPLES + PERIOD + ["--cache-control", "none"],
    "kernel replay": ["--section", "SourceCounters", "--cache-control", "none"] + PERIOD,
    "application replay": ["--section", "SourceCounters", "--cache-control", "none", "--replay-mode", "application"] + PERIOD,
    "caches cleared": SAMPLES + PERIOD + ["--cache-control", "all"],
}
LAUNCHES_OF_NCU = 8  # of each kernel


def output_of(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def regions_by_line(source):
    with open(source, encoding="utf-8") as file:
        marks = [re.search(r"// region (\w+)", line) for line in file]
    return {number: mark.group(1) for number, mark in enumerate(marks, 1) if mark}


def lines_of_code(listing, source):
    """nvdisasm -g: for each function, by offset, the innermost line of the source."""
    lines, frames, fresh, line, code = {}, [], True, None, None
    for text in listing.splitlines():
        section = re.match(r"\.text\.(\S+):", text)
        if section:
            code, line, frames = lines.setdefault(section.group(1), {}), None, []
            continue
        place = re.search(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?', text)
        if place:
            frames = frames if not fresh else []
            fresh = False
            frames += [(place.group(1), int(place.group(2)))]
            if place.group(3):
                frames.append((place.group(3), int(place.group(4))))
            continue
        instruction = re.match(r"\s+/\*([0-9a-f]{4,})\*/", text)
        if instruction and code is not None:
            if not fresh:
                line = next((number for file, number in frames if os.path.basename(file) == source), None)
            fresh = True
            code[int(instruction.group(1), 16)] = line
    return lines


def symbol_of(kernel, symbols):
    """ncu's name of a kernel, as the code has it: `scaled<(int)2>(...)` is the one with `scaledILi2E`."""
    name = re.match(r"(?:void )?(\w+)(?:<(?:\(int\))?(\d+)>)?", kernel)
    wanted = name.group(1) + (f"ILi{name.group(2)}E" if name.group(2) else "")
    return next(symbol for symbol in symbols if re.match(r"_Z\d+" + wanted, symbol))


def samples_of_ncu(report, symbols):
    """For each kernel, by offset, the samples of all its launches."""
    found, kernel, first, column = {}, None, None, 2
    listing = output_of(["ncu", "--import", report, "--page", "source", "--print-source", "sass", "--csv"])
    for row in csv.reader(listing.splitlines()):
        if row[:1] == ["Kernel Name"]:
            kernel, first = found.setdefault(symbol_of(row[1], symbols), {}), None
        elif row[:1] == ["Address"]:
            column = row.index("# Samples") if "# Samples" in row else 2
        elif row and row[0].startswith("0x"):
            address = int(row[0], 16)
            first = address if first is None else first
            kernel[address - first] = kernel.get(address - first, 0) + int(row[column] or 0)
    return found


def in_percent(samples):
    total = sum(samples.values())
    return {region: 100 * count / total for region, count in samples.items() if total}


def shares_of_ncu(report, lines, regions):
    shares = {}
    for symbol, samples in samples_of_ncu(report, lines).items():
        by_region = {}
        for offset, count in samples.items():
            region = regions.get(lines[symbol].get(offset), "other")
            by_region[region] = by_region.get(region, 0) + count
        shares[symbol] = in_percent(by_region)
    return shares


def shares_of_profile(report, lines, regions):
    shares = {}
    for work in report["profile"]["work"]:
        if not work["inside"]:
            continue
        by_region = {}
        for node in work["inside"]["nodes"]:
            own = os.path.basename(node["file"] or "") == os.path.basename(SOURCE)
            region = regions.get(node["line"], "other") if own else "other"
            by_region[region] = by_region.get(region, 0) + node["own"]["samples"]
        shares[symbol_of(work["name"], lines)] = in_percent(by_region)
    return shares


def main():
    if len(sys.argv) not in (3, 6):
        sys.exit(__doc__)
    for needed in ("nvcc", "ncu", "nvdisasm"):
        if not shutil.which(needed):
            sys.exit(f"shares.py: {needed} is not on the PATH: add the bin folder of CUDA, or of Nsight Compute")
    top, out, size = sys.argv[1], sys.argv[2], sys.argv[3:] or ["1024", "60", "40"]
    os.makedirs(out, exist_ok=True)
    program, cubin = os.path.join(out, "regions"), os.path.join(out, "regions.cubin")
    compiler = ["nvcc", "-O3", "-std=c++17", "-arch=native", "-lineinfo", SOURCE, "-o"]
    subprocess.run(compiler + [program], check=True)
    subprocess.run(compiler + [cubin, "-cubin"], check=True)
    lines = lines_of_code(output_of(["nvdisasm", "-g", "-c", cubin]), os.path.basename(SOURCE))
    regions = regions_by_line(SOURCE)

    tool, session = os.path.join(top, "bin", "diogenes"), os.path.join(out, "regions.diogenes")
    subprocess.run([tool, "profile", "--force", "--output", session, "--", program] + size, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = json.loads(output_of([tool, "report", session, "--format", "json"]))
    columns = {"profile": shares_of_profile(report, lines, regions)}
    turns, _, waves = size
    for mode, options in MODES.items():
        recorded = os.path.join(out, mode.replace(" ", "-") + ".ncu-rep")
        output_of(["ncu", "-f", "-o", recorded, "--clock-control", "none"] + options +
                  [program, turns, str(LAUNCHES_OF_NCU), waves])
        columns[mode] = shares_of_ncu(recorded, lines, regions)
    for symbol in lines:
        names = sorted({region for shares in columns.values() for region in shares.get(symbol, {})})
        print(f"{symbol}\n{'':20}" + "".join(f"{name:>12}" for name in names))
        for column, shares in columns.items():
            print(f"{column:20}" + "".join(f"{shares.get(symbol, {}).get(name, 0):12.1f}" for name in names))


if __name__ == "__main__":
    main()
