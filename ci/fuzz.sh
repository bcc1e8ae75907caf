#!/bin/sh
# Each fuzz target of tests/fuzz for some seconds, with address and undefined-behaviour sanitizers: fuzz.sh [SECONDS [TARGET...]]
# What it finds lies in build/fuzz/found/TARGET; files that crash are named on the last lines.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-4}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- session trace python_lines image eh_frame plan instruction fat_binary cubin code_loops report names proved corrections demangled profile gpu_samples
folder=$PWD/build/sanitize
ci/build-sanitized.sh
targets=
for name in "$@"; do targets="$targets fuzz_$name"; done
# shellcheck disable=SC2086 # one word a target
ninja -C "$folder" $targets >build/fuzz.log 2>&1 || {
  tail -n 40 build/fuzz.log
  exit 1
}
bad=0
for name in "$@"; do
  mkdir -p "$folder/found/$name"
  echo "$name, $seconds s"
  # Inputs stay small: what is large in a file is its repetition.
  "$folder/bin/tests/fuzz_$name" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="$folder/found/$name-" "$folder/found/$name" "tests/fuzz/corpus/$name" >"$folder/$name.log" 2>&1 || {
    bad=1
    tail -n 40 "$folder/$name.log"
  }
  grep -E 'number_of_executed_units|DONE' "$folder/$name.log" || true
done
exit "$bad"
