#!/bin/sh
# The tables of layout.cc beside the headers of CPython 3.8 to 3.12, where they are installed here: the system's and
# pyenv's. Usage: layout_test.sh PRINT_LAYOUT CC. Exit status 77: there are none.
set -eu
print=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seen=0
for headers in /usr/include/python3.* "${HOME:-/root}"/.pyenv/versions/3.*/include/python3.*; do
  [ -e "$headers/internal/pycore_pystate.h" ] || continue
  version=${headers##*/python}
  case $version in 3.8 | 3.9 | 3.10 | 3.11 | 3.12) ;; *) continue ;; esac
  "$cc" -w -I"$headers" -I"$headers/internal" -o "$work/offsets" "$here/testdata/offsets.c" || continue
  "$work/offsets" | sort >"$work/headers"
  "$print" "$version" | sort >"$work/table"
  echo "$headers"
  diff "$work/headers" "$work/table" || exit 1
  seen=1
done
[ $seen = 1 ] || exit 77
