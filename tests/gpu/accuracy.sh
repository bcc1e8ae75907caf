#!/bin/sh
# accuracy.sh PORTABLE [OUT]: expected benefits beside actual ones on this machine's GPU, from the unpacked portable
# folder: the examples, the schedules that defeat naive estimates, and random schedules. OUT (default: $OUT, or
# ./gpu-results) gets accuracy.md (tables for docs/lab), accuracy.json and the reports.
# PAIRS, MOST_PAIRS: runs of original and fixed variant (default 5, and up to 9 where that is not enough); REPEAT: traced
# runs (default 1); PROGRAMS: of the bench, default all;
# RANDOM_SCHEDULES: how many (default 20); DRIVER: simulated, to try this script. Exit status: 0 if every program was
# measured.
set -u
top=$(cd "${1:?usage: accuracy.sh PORTABLE [OUT]}" && pwd) || exit 2
out=${2:-${OUT:-gpu-results}}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
driver=${DRIVER:-system}
pairs=${PAIRS:-5}
most=${MOST_PAIRS:-9}
repeat=${REPEAT:-1}
status=0
# shellcheck disable=SC2086  # a word for each program
"$top/bin/bench-accuracy" --driver "$driver" --pairs "$pairs" --most-pairs "$most" --repeat "$repeat" --keep "$work" \
  --markdown "$out/accuracy.md" --json "$out/accuracy.json" ${PROGRAMS:-} || status=1
if [ "${RANDOM_SCHEDULES:-20}" -gt 0 ]; then
  "$top/bin/bench-accuracy" --driver "$driver" --pairs "$pairs" --most-pairs "$most" --repeat "$repeat" \
    --random "${RANDOM_SCHEDULES:-20}" --json "$out/accuracy-random.json" >"$work/random.md" || status=1
  { printf '\n'; sed 1,4d "$work/random.md"; } >>"$out/accuracy.md"
fi
mkdir -p "$out/accuracy-reports"
cp "$work"/*.txt "$out/accuracy-reports/" 2>/dev/null
exit "$status"
