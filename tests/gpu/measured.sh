#!/bin/sh
# measured.sh PORTABLE WORK NAME PROGRAM FIXED COMMAND...: runs the command alone, then under the tool. Output and exit
# status must be the same, and the report must say what was planted in PROGRAM (of expected.json; one that is not there
# is only shown). FIXED: --fixed or empty. Results go to WORK/results/NAME.*; exit status 0 if all is as it should be.
# $DRIVER: system (default) or simulated.
set -u
top=$1
work=$2
name=$3
program=$4
fixed=$5
shift 5
: "${DRIVER:=system}"
diogenes=$top/bin/diogenes
results=$work/results
mkdir -p "$results"
alone() {
  if [ "$DRIVER" = simulated ]; then
    LD_LIBRARY_PATH=$top/lib/simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
  else
    "$@"
  fi
}

alone "$@" >"$results/$name.alone" 2>"$results/$name.alone.errors"
alone_status=$?
"$diogenes" run --driver "$DRIVER" --force --output "$work/$name.diogenes" --report "$results/$name.txt" -- "$@" \
  >"$results/$name.measured" 2>"$results/$name.errors"
status=$?
cat "$results/$name.errors"
cat "$results/$name.txt"
cp "$work/$name.diogenes/session.json" "$results/$name.session.json"
echo "session: $(du -sk "$work/$name.diogenes" | cut -f 1) KiB"
bad=0
if [ "$alone_status" -ne "$status" ]; then
  echo "$name: status $alone_status alone, $status measured"
  bad=1
fi
if ! cmp "$results/$name.alone" "$results/$name.measured"; then bad=1; fi
if grep -q '"output_difference": *"[^"]' "$results/$name.session.json"; then
  echo "$name: the output of a later run differs"
  bad=1
fi
if "$diogenes" export "$work/$name.diogenes" --format json --force -o "$results/$name.json"; then
  # shellcheck disable=SC2086 # an option or nothing
  "$top/bin/examples/check-report" "$top/bin/examples/expected.json" "$program" "$results/$name.json" $fixed || bad=1
else
  bad=1
fi
exit "$bad"
