#!/bin/sh
# Configures build/sanitize: what runs outside a target, with address and undefined-behaviour sanitizers, and libFuzzer in the fuzz
# targets. By clang, which takes half of GCC's time.
set -eu
cd "$(dirname "$0")/.."
launcher=
if command -v ccache >/dev/null 2>&1; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
# Warnings are GCC's, in the build of what is released.
# shellcheck disable=SC2086 # one word, or none
cmake -S . -B build/sanitize -G Ninja -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG='-O0 -g1 -Wno-error -w' \
  -DDIOGENES_SANITIZE=address,undefined -DDIOGENES_FUZZ=ON $launcher >/dev/null
