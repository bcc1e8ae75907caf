#!/bin/sh
# each_scene.sh EVERY-WAIT SCENES DRIVER-FOLDER: each scene in a process of its own, with every wait, release and copy deferred. In one process
# with all the others, much is not deferred: a kernel that waits for the CPU, or memory of which little is known, is enough.
# $DRIVER: simulated (default) or system, for a machine with a GPU.
set -u
: "${DRIVER:=simulated}"
every_wait=$1 scenes=$2 driver=$3
failures=0 played=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# Other processes read this one's memory: what prove does not hold (docs/proving.md).
not_held=' process_mem process_readv '
for scene in $(LD_LIBRARY_PATH="$driver" "$scenes" --scenes | awk '{ print $1 }'); do
  case $not_held in *" $scene "*) continue ;; esac
  played=$((played + 1))
  "$every_wait" --driver "$DRIVER" --seconds 60 -- "$scenes" "$scene" >"$out" 2>&1 && continue
  failures=$((failures + 1))
  echo "FAILED $scene"
  sed 's/^/  /' "$out"
done
echo "$played scenes, failures: $failures"
[ "$played" -gt 100 ] && [ "$failures" -eq 0 ]
