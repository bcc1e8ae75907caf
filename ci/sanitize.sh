#!/bin/sh
# The parts that run outside a target (readers, analysis, views, driver files, launcher), built with sanitizers; their tests.
set -eu
cd "$(dirname "$0")/.."
folder=build/sanitize
ci/build-sanitized.sh
tests=$(ctest --test-dir "$folder" -N -R '^(base|driver|ffm|trace|analysis|symbols|views|expectation|launcher|interpret|necessity|fuzz)_.*' |
  sed -n 's/^ *Test *#[0-9]*: //p')
targets=
for test in $tests; do
  if ninja -C "$folder" -t query "$test" >/dev/null 2>&1; then targets="$targets $test"; fi
done
[ -n "$targets" ]
# shellcheck disable=SC2086 # one word a target
ninja -C "$folder" $targets >build/sanitize.log 2>&1 || {
  tail -n 40 build/sanitize.log
  exit 1
}
pattern=$(echo "$targets" | sed 's/^ //; s/ /|/g')
ASAN_OPTIONS=detect_leaks=1 ctest --test-dir "$folder" --output-on-failure --no-tests=error -R "^($pattern)\$"
