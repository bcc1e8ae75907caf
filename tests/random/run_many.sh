#!/bin/sh
# run_many.sh TOP PROGRAMS [JOBS] [OUT]: so many random programs on the simulated driver, measured and then held against
# the adversarial driver; JOBS runs at a time (default: as many as processors), each with folders of its own. TOP: the
# unpacked folder of the target portable-tests, or a build's output folder. OUT (default: ./random-programs) gets
# random.json and random.txt: programs, changed outputs, the share of needless waits that were called needed, by reason.
# $FIRST: the first seed (1). $WHICH: --hand-over or --again, others (tests/random/program.h). $MOST_CAUTIOUS: fails if that share, in percent, is larger. Exit status 0: nothing changed.
set -u
usage='usage: run_many.sh TOP PROGRAMS [JOBS] [OUT]'
top=$(cd "${1:?$usage}" && pwd) || exit 2
programs=${2:?$usage}
jobs=${3:-$(getconf _NPROCESSORS_ONLN)}
out=${4:-random-programs}
mkdir -p "$out" || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" XDG_CACHE_HOME="$work/cache"
verdicts=$top/bin/tests/verdicts
# The driver's wait function is looked for once, and not by all at the same time.
"$verdicts" random 1 1 >"$work/first.txt" 2>&1
"$verdicts" random "${FIRST:-1}" "$programs" --jobs "$jobs" --each --json "$out/random.json" \
  --most-cautious "${MOST_CAUTIOUS:-100}" ${WHICH:+"$WHICH"} >"$out/random.txt"
status=$?
grep -v -e '^cautious: ' -e '^against the generator: ' "$out/random.txt"
exit "$status"
