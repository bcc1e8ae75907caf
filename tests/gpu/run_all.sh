#!/bin/sh
# run_all.sh PORTABLE [OUT]: everything that needs a real GPU, in one call, from the unpacked portable folder.
# Needs a driver and /bin/sh; python3 with torch for the PyTorch loops, which are left out where there is none.
# Each step has a limit of its own, and the rest goes on when one fails. OUT (default: $OUT, or ./gpu-results) gets
# summary.txt, log.txt, bench.json and results.tar.gz with the reports. PROGRAMS: a folder with tests/e2e's programs
# (default: PORTABLE/bin/tests/programs, where that is), run under the tool as well. Exit status: 0 if all steps went well.
set -u
top=$(cd "${1:?usage: run_all.sh PORTABLE [OUT]}" && pwd) || exit 2
out=${2:-${OUT:-gpu-results}}
here=$(cd "$(dirname "$0")" && pwd)
loops=$here/../../examples/pytorch/loops.py
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
results=$work/results
mkdir -p "$results"
log=$out/log.txt
summary=$out/summary.txt
: >"$log"
: >"$summary"
started=$(date +%s)
if [ -d "$top/bin/tests/programs" ]; then : "${PROGRAMS:=$top/bin/tests/programs}"; fi
: "${DEADLINE:=510}" # seconds for everything
: "${PAIRS:=5}"
: "${DRIVER:=system}" # simulated: to try this script
export DRIVER
failures=0

say() { printf '%s\n' "$*" | tee -a "$summary"; }
left() { echo $((DEADLINE - ($(date +%s) - started))); }

# step SECONDS NAME COMMAND...: its output to the log; one line in the summary.
step() {
  step_limit=$1
  step_name=$2
  shift 2
  if [ "$(left)" -lt 5 ]; then
    say "left out  $step_name (no time left)"
    failures=$((failures + 1))
    return 1
  fi
  if [ "$step_limit" -gt "$(left)" ]; then step_limit=$(left); fi
  printf '\n===== %s\n' "$step_name" >>"$log"
  step_begin=$(date +%s)
  timeout -k 5 "$step_limit" "$@" >>"$log" 2>&1
  step_status=$?
  if [ "$step_status" -eq 0 ]; then
    say "ok        $step_name ($(($(date +%s) - step_begin)) s)"
  else
    say "FAILED    $step_name: status $step_status after $(($(date +%s) - step_begin)) s"
    failures=$((failures + 1))
  fi
  return "$step_status"
}

# measure SECONDS NAME PROGRAM FIXED COMMAND...: see measured.sh
measure() {
  measure_seconds=$1
  shift
  step "$measure_seconds" "$1" sh "$here/measured.sh" "$top" "$work" "$@"
}

environment() {
  uname -a
  nvidia-smi || true
  ldconfig -p | grep libcuda || true
  python3 -c 'import torch; print("torch", torch.__version__, torch.version.cuda, torch.cuda.get_device_name(0))' || true
  cat /proc/sys/kernel/perf_event_paranoid /proc/sys/vm/max_map_count
}
environment >"$results/environment.txt" 2>&1

step 60 doctor "$top/bin/diogenes" doctor --driver "$DRIVER"
if [ "$DRIVER" = simulated ]; then
  LD_LIBRARY_PATH=$top/lib/simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
fi
driver=$("$top/libexec/diogenes-discover" --locate 2>>"$log" | sed -n 's/.*"\(\/[^"]*\)".*/\1/p')
if [ -n "$driver" ]; then
  # shellcheck disable=SC2016 # expands in the inner shell
  step 45 "discovery in $driver" sh -c '"$1" --libcuda "$2" >"$3"' discover "$top/libexec/diogenes-discover" "$driver" \
    "$results/discovery.json"
else
  say "FAILED    the driver was not located"
  failures=$((failures + 1))
fi

for name in als cfd multigrid gaussian; do
  measure 60 "$name" "$name" "" "$top/bin/examples/$name"
  measure 60 "$name-fixed" "$name" --fixed "$top/bin/examples/$name" --fixed
done
runtime=
for name in als_runtime loop_runtime; do
  for cudart in static shared; do
    if [ "$DRIVER" = simulated ] || [ ! -x "$top/bin/examples/${name}_$cudart" ]; then
      say "left out  ${name}_$cudart (not built, or no real driver)"
      continue
    fi
    measure 60 "${name}_$cudart" "$name" "" "$top/bin/examples/${name}_$cudart"
    if [ "$cudart" = static ]; then runtime="$runtime ${name}_$cudart"; fi
  done
done

if python3 -c 'import torch; assert torch.cuda.is_available()' 2>>"$log"; then
  export CUBLAS_WORKSPACE_CONFIG=:4096:8
  measure 150 loops loops "" python3 "$loops"
  # shellcheck disable=SC2016 # expands in the inner shell
  step 40 loops-fixed sh -c 'python3 "$1" --fixed >"$2/loops.fixed" && cmp "$2/loops.alone" "$2/loops.fixed"' \
    loops "$loops" "$results"
else
  say "left out  loops.py (python3 has no torch that sees a GPU)"
fi

if [ -n "${PROGRAMS:-}" ]; then
  for command in "fork before" "fork after" "fork many" "spawn exec" "spawn exec-after" "spawn spawn" "spawn system" \
    "spawn vfork" "threads" "segv_handler before" "segv_handler after" "memory" "timers" "dynamic dlopen" \
    "dynamic proc-address" "patcher late" "end return" "end _exit" "end quick_exit" "end segv" "end abort" "end kill"; do
    # shellcheck disable=SC2086 # a command and its argument
    measure 40 "program-$(echo "$command" | tr ' ' '-')" program "" "$PROGRAMS"/$command
  done
fi

# shellcheck disable=SC2086 # names without spaces
step 200 bench-benefit "$top/bin/bench-benefit" --driver "$DRIVER" --pairs "$PAIRS" --json "$out/bench.json" \
  --keep "$work/bench" als cfd multigrid gaussian $runtime
sed -n '/===== bench-benefit/,$p' "$log" >"$results/bench.txt"
sed '1,2d' "$results/bench.txt" >>"$summary"

tar -C "$work" -czf "$out/results.tar.gz" results
say "failures: $failures; took $(($(date +%s) - started)) s"
rm -rf "$work"
[ "$failures" -eq 0 ]
