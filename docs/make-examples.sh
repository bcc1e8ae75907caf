#!/bin/sh
# make-examples.sh [BUILT [NAME...]]: puts fresh output of the examples into README.md and docs/. Between
# `<!-- example NAME -->` and the next `<!-- end -->` stands what NAME below prints; without NAMEs all are made anew.
# The examples run on the simulated driver, so no GPU is needed; wants a machine with nothing else to do, because the
# figures are times. After ./check or ./demo, whose build (BUILT, default: build) it uses.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
built=$(cd "${1:-$top/build}" && pwd)
[ $# -eq 0 ] || shift
wanted=${*:-first report details sequences part diff gate gate-fixed doctor}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NO_COLOR
export LC_ALL=C.UTF-8
diogenes=$built/bin/diogenes
# Paths of sources are shown from here.
cd "$built/.."

measure() { # measure SESSION PROGRAM [OPTION...]: once, in the folder of all sessions
  [ -d "$work/$1" ] && return
  session=$1 program=$2
  shift 2
  "$diogenes" run --driver simulated --output "$work/$session" --report "$work/$session.txt" -- \
    "build/bin/examples/$program" "$@" >"$work/$session.out" 2>"$work/$session.err"
}
als() { measure als.1.diogenes als; }

show() { # show NAME: what stands under this name
  case $1 in
    first) # of the report, up to the first finding's details
      als
      awk '/^ 2\. .*\(.*%\)/ && seen { exit } /^ 1\. .*\(.*%\)/ { seen++ } { print }' "$work/als.1.diogenes.txt" |
        awk '/^ 1\. / { count++ } { print }'
      ;;
    report) als && cat "$work/als.1.diogenes.txt" ;;
    details) als && "$diogenes" report "$work/als.1.diogenes" --details P1 ;;
    diff)
      als
      measure als.2.diogenes als --fixed
      "$diogenes" diff "$work/als.1.diogenes" "$work/als.2.diogenes"
      ;;
    sequences) als && "$diogenes" report "$work/als.1.diogenes" --sequences | awk '/^Sequences/ { on = 1 } /^Notices|^Next/ { on = 0 } on' ;;
    part) als && "$diogenes" report "$work/als.1.diogenes" --subsequence G1:2-4 --sequences | awk '/^Sequences/ { on = 1 } /^Notices|^Next/ { on = 0 } on' ;;
    gate) als && { "$diogenes" gate "$work/als.1.diogenes" --fail-above 2 || true; } ;;
    transfers)
      measure transfers.1.diogenes transfers
      cat "$work/transfers.1.diogenes.txt"
      ;;
    cost) als && "$diogenes" report "$work/als.1.diogenes" --profile | awk '/^Time by/ { on = 1 } /^Notices|^Next/ { on = 0 } on' ;;
    json) als && "$diogenes" export "$work/als.1.diogenes" --format json | head -n 30 ;;
    doctor) "$diogenes" doctor --driver simulated ;;
    *)
      echo "no example $1" >&2
      exit 2
      ;;
  esac
}

for name in $wanted; do
  grep -lF "<!-- example $name -->" "$top/README.md" "$top"/docs/*.md >"$work/documents" || continue
  # What belongs to this machine does not belong into a document.
  show "$name" 2>&1 | sed -e "s#$work/##g" -e "s#$built/#build/#g" -e "s#$(dirname "$built")/##g" \
    -e 's/[[:space:]]*$//' -e 's/^/    /' -e 's/^    $//' >"$work/screen"
  while IFS= read -r document; do
    awk -v name="$name" -v file="$work/screen" '
      $0 == "<!-- example " name " -->" {
        print
        print ""
        while ((getline line < file) > 0) if (line != "" || said) { text = text (said++ ? "\n" : "") line; }
        sub(/\n+$/, "", text)
        print text
        print ""
        text = ""
        said = 0
        close(file)
        inside = 1
      }
      $0 == "<!-- end -->" { inside = 0 }
      !inside' "$document" >"$work/document"
    cp "$work/document" "$document"
  done <"$work/documents"
  echo "$name: $(tr '\n' ' ' <"$work/documents" | sed "s#$top/##g")"
done
