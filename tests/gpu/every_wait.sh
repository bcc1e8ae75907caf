#!/bin/sh
# every_wait.sh TOP [OUT]: do programs print the same on this machine's driver when each of their waits, releases and copies
# is deferred, needed ones too? The litmus cells, the scenes, programs of tests/prove and random programs, under the corrector.
# TOP: the unpacked folder of the target portable-tests, or a build's output folder. OUT (default: $OUT, or ./gpu-every-wait)
# gets every-wait.txt. $DRIVER: system (default) or simulated. $PROGRAMS_COUNT, $FIRST: random programs (300 from 1), ten to a
# process. $LIMIT: seconds for all of it (240). Exit status 0: all printed the same.
set -u
top=$(cd "${1:?usage: every_wait.sh TOP [OUT]}" && pwd) || exit 2
out=${2:-${OUT:-gpu-every-wait}}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
: "${DRIVER:=system}" "${LIMIT:=240}" "${PROGRAMS_COUNT:=300}" "${FIRST:=1}"
programs=$top/bin/tests/programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
started=$(date +%s)
: >"$out/every-wait.txt"
failures=0
left_out=0

# part PROGRAM ARGS...: within what is left of the time; what every-wait prints, behind the part's name.
part() {
  part_name=$(basename "$*")
  left=$((LIMIT - ($(date +%s) - started)))
  if [ "$left" -lt 5 ]; then
    left_out=$((left_out + 1))
    return
  fi
  if timeout -k 5 "$left" "$top/bin/tests/every-wait" --driver "$DRIVER" --seconds 60 -- "$@" >"$work/part.txt" 2>&1; then
    result=same
  else
    result=FAILED
    failures=$((failures + 1))
  fi
  { echo "$result $part_name"; sed 's/^/  /' "$work/part.txt"; } >>"$out/every-wait.txt"
  if [ "$result" = FAILED ]; then
    echo "FAILED $part_name"
    tail -n 5 "$work/part.txt"
  fi
}

part "$programs/litmus"
part "$programs/scenes"
part "$programs/asks"
part "$programs/asks" thread
part "$programs/asks" device
part "$programs/beside"
part "$programs/full"
part "$programs/interrupts"
part "$programs/interrupts" driver
at=$FIRST
while [ "$at" -lt $((FIRST + PROGRAMS_COUNT)) ]; do
  part "$programs/random-program" "$at" 10
  at=$((at + 10))
done
echo "every wait: $(grep -c '^same' "$out/every-wait.txt") parts the same, failures: $failures, left out: $left_out;" \
  "took $(($(date +%s) - started)) s" | tee -a "$out/every-wait.txt"
[ "$failures" -eq 0 ] && [ "$left_out" -eq 0 ]
