#!/bin/sh
# Lint, fuzzing and sanitizers: what ./check runs beside the tests. A line for each step, its output only where it fails; the
# last line is 'N passed, N failed'.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0
step() { # step NAME COMMAND...
  name=$1
  shift
  began=$(date +%s)
  if "$@" >build/step.log 2>&1; then
    passed=$((passed + 1))
    echo "ok      $name ($(($(date +%s) - began)) s)"
  else
    failed=$((failed + 1))
    tail -n 60 build/step.log
    echo "FAILED  $name"
  fi
}

step 'shell scripts (shellcheck)' ci/lint-shell.sh
step 'format (clang-format)' ci/lint-format.sh
step 'lint (clang-tidy)' ci/lint-tidy.py
step 'readers of files, fuzzed for some seconds each' ci/fuzz.sh 2
step 'tests outside the target, with address and undefined-behaviour sanitizers' ci/sanitize.sh
echo "$passed passed, $failed failed"
