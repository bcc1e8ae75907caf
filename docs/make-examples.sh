#!/bin/sh
# make-examples.sh [BUILT [NAME...]]: puts fresh output of the examples into README.md and docs/. Between
# `<!-- example NAME -->` and the next `<!-- end -->` stands what NAME below prints; without NAMEs all are made anew.
# The examples run on the simulated driver, so no GPU is needed. The figures are times, so the script waits for half a
# minute (TRIES half seconds) until nobody else needs the processors; ANYWAY=1 does not wait. After ./check or ./demo,
# whose build (BUILT, default: build) it uses.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
built=$(cd "${1:-$top/build}" && pwd)
[ $# -eq 0 ] || shift
wanted=${*:-first report details sequences part diff needed gate gate-fixed doctor}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NO_COLOR
export LC_ALL=C.UTF-8
diogenes=$built/bin/diogenes
# Paths of sources are shown from here.
cd "$built/.."

busy() { # more than a tenth of the processors' time, for half a second
  awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat >"$work/before"
  sleep 0.5
  awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $5 + $6 }' /proc/stat | paste "$work/before" - |
    awk '{ used = $3 - $1; free = $4 - $2; exit !(9 * used > free) }'
}
measure() { # measure SESSION PROGRAM [OPTION...]: once
  [ -d "$work/$1" ] && return
  session=$1 program=$2
  shift 2
  tries=0
  while [ -z "${ANYWAY-}" ] && busy; do
    tries=$((tries + 1))
    [ "$tries" -lt "${TRIES:-60}" ] || {
      echo "the machine is busy: its figures would be no example; try again later" >&2
      exit 1
    }
  done
  "$diogenes" run --driver simulated --output "$work/$session" --report "$work/$session.txt" -- \
    "build/bin/examples/$program" "$@" >"$work/$session.out" 2>"$work/$session.err"
}
quiet() { # quiet SESSION: did nobody disturb it?
  if { [ -z "${ANYWAY-}" ] && busy; } || grep -q 'reproduces the measured run time only' "$work/$1.txt"; then
    echo "the machine became busy: its figures would be no example; try again later" >&2
    exit 1
  fi
}
als() { measure als.1.diogenes als; }
als_fixed() { measure als.2.diogenes als --fixed; }
# Of this one no gain is quoted.
transfers() { measure transfers.1.diogenes transfers; }
sequences() { # of a report
  awk '/^Sequences/ { on = 1 } /^Notices|^Next/ { on = 0 } on'
}

show() { # show NAME: what stands under this name
  case $1 in
    first) als && awk '/^ 2[.] / && ++seen == 2 { exit } { print }' "$work/als.1.diogenes.txt" ;; # with one finding's details
    report) als && cat "$work/als.1.diogenes.txt" ;;
    details) als && "$diogenes" report "$work/als.1.diogenes" --details P1 ;;
    sequences) als && "$diogenes" report "$work/als.1.diogenes" --sequences | sequences ;;
    part) als && "$diogenes" report "$work/als.1.diogenes" --sequences --subsequence G1:2-3 | sequences ;;
    diff) als && als_fixed && "$diogenes" diff "$work/als.1.diogenes" "$work/als.2.diogenes" ;;
    needed) transfers && awk '/^Needed waits/ { on = 1 } on && /^$/ { exit } on' "$work/transfers.1.diogenes.txt" ;;
    gate) als && { "$diogenes" gate "$work/als.1.diogenes" --fail-above 2 || true; } ;;
    gate-fixed) als_fixed && "$diogenes" gate "$work/als.2.diogenes" --fail-above 2 ;;
    doctor) "$diogenes" doctor --driver simulated -- build/bin/examples/als ;;
    *)
      echo "no example $1" >&2
      exit 2
      ;;
  esac
}

# Before any document changes, and where a message is seen.
als
quiet als.1.diogenes
als_fixed
quiet als.2.diogenes
transfers
for name in $wanted; do
  grep -lxF "<!-- example $name -->" "$top/README.md" "$top"/docs/*.md >"$work/documents" || continue
  # What belongs to this machine does not belong into a document.
  show "$name" >"$work/shown" 2>&1
  sed -e "s#$work/##g" -e "s#$built/#build/#g" -e "s#$(dirname "$built")/##g" -e 's/[[:space:]]*$//' "$work/shown" |
    sed -e '/./,$!d' -e 's/^./    &/' | awk '/./ { while (empty-- > 0) print ""; empty = 0; print; next } { empty++ }' \
    >"$work/screen"
  while IFS= read -r document; do
    awk -v name="$name" -v file="$work/screen" '
      $0 == "<!-- example " name " -->" {
        print $0 "\n"
        while ((getline line < file) > 0) print line
        close(file)
        print ""
        inside = 1
      }
      $0 == "<!-- end -->" { inside = 0 }
      !inside' "$document" >"$work/document"
    cp "$work/document" "$document"
    echo "$name: ${document#"$top"/}"
  done <"$work/documents"
done
