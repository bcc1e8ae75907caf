#!/bin/sh
# verdicts.sh TOP [OUT]: is what the tool says of synchronizations right on this machine's driver? The litmus matrix and
# random programs, each measured; what they print must stay. TOP: the unpacked folder of the target portable-tests, or a
# build's output folder. Prints a line for each wrong cell, and a summary; OUT (default: $OUT, or ./gpu-verdicts) gets
# verdicts.txt, litmus.json and random.json. $DRIVER: system (default) or simulated, which adds the adversarial driver.
# $PROGRAMS_COUNT, $FIRST: random programs. $LIMIT: seconds for all of it (240). Exit status 0: nothing wrong.
set -u
top=$(cd "${1:?usage: verdicts.sh TOP [OUT]}" && pwd) || exit 2
out=${2:-${OUT:-gpu-verdicts}}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
: "${DRIVER:=system}" "${LIMIT:=240}" "${PROGRAMS_COUNT:=300}" "${FIRST:=1}"
verdicts=$top/bin/tests/verdicts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" XDG_CACHE_HOME="$work/cache"
started=$(date +%s)
: >"$out/verdicts.txt"
failures=0

# part NAME COMMAND...: within what is left of the time.
part() {
  part_name=$1
  shift
  left=$((LIMIT - ($(date +%s) - started)))
  if [ "$left" -lt 5 ]; then
    echo "left out $part_name: no time left" | tee -a "$out/verdicts.txt"
    failures=$((failures + 1))
    return
  fi
  timeout -k 5 "$left" "$@" >"$work/part.txt" 2>"$work/errors.txt"
  part_status=$?
  tee -a "$out/verdicts.txt" <"$work/part.txt"
  if [ "$part_status" -ne 0 ]; then
    failures=$((failures + 1))
    tail -n 20 "$work/errors.txt" >>"$out/verdicts.txt"
    echo "FAILED $part_name: status $part_status" | tee -a "$out/verdicts.txt"
  fi
}

part litmus "$verdicts" litmus --driver "$DRIVER" --json "$out/litmus.json"
part random "$verdicts" random "$FIRST" "$PROGRAMS_COUNT" --driver "$DRIVER" --per-run 150 --each --json "$out/random.json"
echo "verdicts: failures: $failures; took $(($(date +%s) - started)) s" | tee -a "$out/verdicts.txt"
[ "$failures" -eq 0 ]
