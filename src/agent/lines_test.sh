#!/bin/sh
# How many lines live in the target: every file of this project that is compiled into the agent, headers and tables too,
# whatever their folder; tests are not linked and not counted. Counted as `wc -l` does. Prints a table by folder.
# Usage: lines_test.sh NINJA BUILD ROOT LIMIT OBJECT...    Exit status 1 above LIMIT lines.
set -eu
ninja=$1 build=$2 root=$3 limit=$4
shift 4
files=$(mktemp)
trap 'rm -f "$files"' EXIT
for object in "$@"; do
  "$ninja" -C "$build" -t deps "${object#"$build"/}"
done | sed -n "s|^    *\(/.*\)|\1|p; s|^    *\([^/ ].*\)|$build/\1|p" | xargs realpath -q | sed -n "\|^$root/|p" | sort -u >"$files"
# What the build makes for itself is not written by anybody.
grep -v "^$build/" "$files" >"$files.own" || true
mv "$files.own" "$files"
[ -s "$files" ] || {
  echo "no files: is the agent built?" >&2
  exit 2
}
while IFS= read -r file; do
  folder=${file#"$root"/}
  printf '%s %s\n' "${folder%/*}" "$(wc -l <"$file")"
done <"$files" | awk -v limit="$limit" '
  { lines[$1] += $2; files[$1]++; all += $2; count++ }
  END {
    sorted = "sort"
    for (folder in lines) printf "%-24s %4d files %6d lines\n", folder, files[folder], lines[folder] | sorted
    close(sorted)
    printf "%-24s %4d files %6d lines, at most %d\n", "all", count, all, limit
    exit all > limit
  }'
