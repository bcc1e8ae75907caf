#!/bin/sh
# Every C and C++ file as .clang-format says. To mend: clang-format -i FILE
set -eu
cd "$(dirname "$0")/.."
find src sim examples tests bench \( -name '*.cc' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 |
  xargs -0 -r -n 20 -P "$(nproc)" clang-format --dry-run --Werror
