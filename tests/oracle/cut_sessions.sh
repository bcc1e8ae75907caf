#!/bin/sh
# The examples measured on the simulated driver, and their sessions cut into windows: cut_sessions.sh TOP OUT [CUTS]. TOP has
# bin/diogenes. A line for each; exit status 0 if what the windows call needless holds in the whole run.
set -u
top=$1
out=$2
cuts=${3:-200}
failed=0
mkdir -p "$out" || exit 2
for name in als cfd multigrid gaussian; do
  rm -rf "$out/$name.diogenes"
  if ! "$top/bin/diogenes" run --driver simulated --output "$out/$name.diogenes" --report "$out/$name.txt" -- \
    "$top/bin/examples/$name" --iterations 16 >"$out/$name.log" 2>&1; then
    echo "$name: not measured: $out/$name.log"
    failed=1
    continue
  fi
  printf '%s: ' "$name"
  "$top/bin/tests/cut-session" "$out/$name.diogenes" "$cuts" || failed=1
done
exit $failed
