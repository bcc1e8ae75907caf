#!/bin/sh
# The oldest glibc that has all that these files need is LIMIT or older: glibc_test.sh LIMIT FILE...
# What is preloaded has to load wherever the measured program does (2.28); the tool itself runs from 2.35 on.
# cmake/Preloaded.cmake links old versions of what glibc has renewed since.
set -u
limit=$1
shift
failures=0
for library in "$@"; do
  needed=$(objdump -T "$library" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\))\{0,1\} *\([^ ]*\)$/\1 \2/p' | sort -V)
  if [ -z "$needed" ]; then
    echo "FAILED: $library needs nothing of glibc; can objdump read it?"
    failures=1
  fi
  newest=$(echo "$needed" | tail -n 1)
  echo "$(basename "$library"): ${newest% *} (${newest#* })"
  if [ "$(printf '%s\n%s\n' "${newest% *}" "$limit" | sort -V | tail -n 1)" != "$limit" ]; then
    echo "FAILED: that is newer than $limit:"
    echo "$needed" | tail -n 5
    failures=1
  fi
done
exit "$failures"
