#!/bin/sh
# explorer-screens.sh BUILT: puts fresh screens of `diogenes explore` into docs/explorer.md, from a session of the example
# als on the simulated driver. Between `<!-- screen NAME -->` and the next `<!-- end -->` stands the screen of that name.
# shellcheck disable=SC2016 # what is typed is expanded by the shell in the terminal
set -eu
built=$(cd "$1" && pwd)
document=$(cd "$(dirname "$0")/.." && pwd)/docs/explorer.md
work=$(mktemp -d)
tmux() { command tmux -L "explorer-screens-$$" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
unset TMUX NO_COLOR
export LC_ALL=C.UTF-8
cd "$work"
# The paths that are shown begin where the program was measured.
cd "$(dirname "$document")/../examples/als"
"$built/bin/diogenes" run --driver simulated --output "$work/als.1.diogenes" -- "$built/bin/examples/als" >/dev/null 2>&1
cd "$work"

until_shown() {
  tries=0
  until tmux capture-pane -p -t 0 | grep -qF -- "$1"; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || {
      echo "not shown: $1" >&2
      exit 1
    }
    sleep 0.1
  done
}
take() { # take NAME: the screen, into the document
  tmux capture-pane -p -t 0 | sed -e 's/[[:space:]]*$//' -e 's/^/    /' -e 's/^    $//' >"$work/screen"
  awk -v name="$1" -v file="$work/screen" '
    $0 == "<!-- screen " name " -->" {
      print
      print ""
      while ((getline line < file) > 0) print line
      print ""
      inside = 1
    }
    $0 == "<!-- end -->" { inside = 0 }
    !inside' "$document" | awk -v name="$1" '
    # One empty line at the end of a screen is enough.
    { if ($0 == "") empty++; else { if (empty) print ""; empty = 0; print } }' >"$work/document"
  cp "$work/document" "$document"
}

tmux new-session -d -x 100 -y 24 sh
tmux send-keys -t 0 "clear; '$built/bin/diogenes' explore als.1.diogenes" Enter
until_shown '[1 Findings]'
take findings
tmux send-keys -t 0 2 Enter
until_shown 'Whole sequence'
tmux send-keys -t 0 j s
until_shown 'Part 2 to'
while tmux capture-pane -p -t 0 | grep -q 'estimating'; do sleep 0.1; done
take part
tmux send-keys -t 0 Escape 1 Enter
until_shown 'Findings >'
take problem
