#!/bin/sh
# Builds targets with address and undefined-behaviour sanitizers, and with libFuzzer's counters, into build/sanitized:
# build-sanitized.sh [TARGET...]. One folder for tests and fuzzing, so that what both link is compiled once.
set -eu
cd "$(dirname "$0")/.."
folder=build/sanitized
launcher=
if command -v ccache >/dev/null 2>&1; then launcher="-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache"; fi
mkdir -p build
# GCC, which builds the tree elsewhere, has no libFuzzer; its warnings are errors, clang's are left out.
# shellcheck disable=SC2086 # some words, or none
cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g1 -Wno-error -w' \
  -DDIOGENES_SANITIZE=address,undefined -DDIOGENES_FUZZ=ON $launcher >/dev/null
[ $# -gt 0 ] || exit 0
ninja -C "$folder" "$@" >build/sanitized.log 2>&1 || {
  tail -n 40 build/sanitized.log
  exit 1
}
