#!/bin/sh
# clang-tidy (checks: .clang-tidy) over the sources outside tests. A file whose text, headers of the tree and checks are as in
# the last clean run here is not looked at again.
set -eu
cd "$(dirname "$0")/.."
[ -f build/release/compile_commands.json ] || ci/build.sh release --configure-only
clean=build/tidy
mkdir -p "$clean"
headers=$(find src sim -name '*.h' -o -name '*.def' | LC_ALL=C sort | xargs cat .clang-tidy | sha256sum | cut -c 1-32)
export clean headers

# shellcheck disable=SC2016 # expanded by the inner shell
find src sim -name '*.cc' ! -name '*_test.cc' ! -path '*/testdata/*' ! -path '*/testing/*' -print | while IFS= read -r file; do
  grep -q "/$file\"" build/release/compile_commands.json && printf '%s\n' "$file"
done | xargs -d '\n' -r -n 1 -P "$(nproc)" sh -c '
  key=$clean/$(printf "%s" "$1" | tr / _).$( { echo "$headers"; cat "$1"; } | sha256sum | cut -c 1-32)
  [ -e "$key" ] && exit 0
  # What clang itself says is left to GCC, which builds the tree with warnings as errors, and knows attributes and
  # options that clang does not.
  found=$(clang-tidy --quiet -p build/release "$1" 2>/dev/null | grep -A 3 -E "(error|warning): .*\[(bugprone|misc|performance|readability)-")
  if [ -n "$found" ]; then
    printf "%s\n" "$found"
    exit 1
  fi
  rm -f "$clean/$(printf "%s" "$1" | tr / _)".*
  : >"$key"
' tidy
