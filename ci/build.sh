#!/bin/sh
# Configures and builds one preset, quietly unless it fails: build.sh PRESET [TARGET...]
# TESTS_OUTSIDE=OFF: without the tests of what runs outside a target.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
launcher=
if command -v ccache >/dev/null 2>&1; then
  launcher="-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache"
fi
log=build/$preset.log
mkdir -p build
echo "Configuring ($preset)"
# shellcheck disable=SC2086 # two words, or none
if ! cmake --preset "$preset" -DDIOGENES_TESTS_OUTSIDE="${TESTS_OUTSIDE:-ON}" $launcher >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
[ "${1-}" = --configure-only ] && exit 0
echo "Building ($preset); the first time takes some minutes"
if [ $# -gt 0 ]; then
  cmake --build --preset "$preset" --target "$@" >"$log" 2>&1 && exit 0
else
  cmake --build --preset "$preset" >"$log" 2>&1 && exit 0
fi
tail -n 60 "$log" >&2
echo "The build failed; all of its output is in $log" >&2
exit 1
