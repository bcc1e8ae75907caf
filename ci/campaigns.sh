#!/bin/sh
# What takes too long for a change, on the simulated driver: campaigns.sh [OUT]. Run it after ./check, and before a release.
# Some 50 minutes on 2 processors. OUT (default: build/campaigns) gets what each step printed. A line for each step; exit
# status 0 if all went well. $RANDOM_PROGRAMS, $RANDOM_TRACES: how many (10,000 and 100,000).
set -u
cd "$(dirname "$0")/.." || exit 1
out=${1:-build/campaigns}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
: "${RANDOM_PROGRAMS:=10000}" "${RANDOM_TRACES:=100000}"
ci/build.sh release || exit 2
top=$PWD/build
export XDG_CACHE_HOME="$out/cache"
failures=0
step() { # step NAME COMMAND...
  name=$1
  shift
  began=$(date +%s)
  if "$@" >"$out/$name.txt" 2>&1; then
    echo "ok      $name ($(($(date +%s) - began)) s): $(tail -n 1 "$out/$name.txt")"
  else
    failures=$((failures + 1))
    echo "FAILED  $name: $out/$name.txt"
    tail -n 10 "$out/$name.txt"
  fi
}

step cells "$top/bin/tests/verdicts" litmus
step scenes "$top/bin/tests/verdicts" scenes
step random-programs sh tests/random/run_many.sh "$top" "$RANDOM_PROGRAMS" "$(nproc)" "$out/random"
step random-programs-kept env WHICH=--again sh tests/random/run_many.sh "$top" "$RANDOM_PROGRAMS" "$(nproc)" "$out/random-kept"
step oracle env DIOGENES_RANDOM_TRACES="$RANDOM_TRACES" "$top/bin/tests/necessity_test" "--gtest_filter=Oracle.*"
step windows env DIOGENES_RANDOM_TRACES="$RANDOM_TRACES" "$top/bin/tests/windows_test" "--gtest_filter=CutTraces.*"
step cut-sessions sh tests/oracle/cut_sessions.sh "$top" "$out/cut-sessions"
step replay "$top/bin/tests/analysis_test" --gtest_also_run_disabled_tests "--gtest_filter=ReplayAtRandom.*"
step every-wait env DRIVER=simulated LIMIT=1200 PROGRAMS_COUNT=1000 sh tests/gpu/every_wait.sh "$top" "$out/every-wait"
step each-scene sh tests/prove/each_scene.sh "$top/bin/tests/every-wait" "$top/bin/tests/programs/scenes" "$top/lib/simulated"
step killed-windows sh tests/faults/killed_windows_test.sh "$top/bin/diogenes" "$top/bin/tests/programs/steps" 100
step fuzz ci/fuzz.sh 60
echo "campaigns: failures: $failures"
[ "$failures" -eq 0 ]
