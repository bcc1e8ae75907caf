#!/bin/sh
# The agent exports what its lists say, no more and no less, and needs no library beyond libc (also by its old parts) and the dynamic linker.
# Usage: exports_test.sh NM AGENT LIST
set -u
nm=$1 agent=$2 list=$3
failed=0
actual=$("$nm" -D --defined-only "$agent" | awk '{print $3}' | sed 's/@.*//' | sort -u)
wanted=$(grep -v '^$' "$list" | sort -u)
if [ "$actual" != "$wanted" ]; then
  echo "exports differ from the list ($list):"
  echo "exported: $actual"
  echo "listed:   $wanted"
  failed=1
fi
needed=$(LC_ALL=C readelf -d "$agent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
  case $library in
    libc.so.6 | libpthread.so.0 | libdl.so.2 | ld-linux-x86-64.so.2) ;;
    *) echo "the agent needs $library"; failed=1 ;;
  esac
done
exit $failed
