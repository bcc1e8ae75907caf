#!/bin/sh
# `diogenes explore` in a real terminal, which tmux gives: explore_test.sh DIOGENES EXAMPLE
# What is waited for is the text on the screen; how long that takes does not matter.
# shellcheck disable=SC2016 # what is typed is expanded by the shell in the terminal
set -u
diogenes=$1
example=$2
work=$(mktemp -d)
socket=explore-test-$$
tmux() { command tmux -L "$socket" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NO_COLOR TMUX
export LC_ALL=C.UTF-8
failures=0
patience=1200 # tenths of a second

bad() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  tmux capture-pane -p -t 0 2>/dev/null | sed 's/^/  | /'
}
screen() { tmux capture-pane -p -t 0; }
until_shown() { # until_shown TEXT
  tries=0
  until screen 2>/dev/null | grep -qF -- "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -gt "$patience" ]; then
      bad "not shown: $1"
      return 1
    fi
    sleep 0.1
  done
}
until_gone() {
  tries=0
  while screen 2>/dev/null | grep -qF -- "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -gt "$patience" ]; then
      bad "still shown: $1"
      return 1
    fi
    sleep 0.1
  done
}
press() { tmux send-keys -t 0 "$@"; }
# A shell whose prompt is a word, and which says the status and the modes of the terminal.
begin() { # begin COLUMNS LINES
  tmux kill-server 2>/dev/null
  tmux new-session -d -x "$1" -y "$2" -e ENV= sh
  press "PS1='RE''ADY '" Enter # what is typed is not yet the prompt
  until_shown 'READY'
  press 'before=$(stty -g)' Enter
}
explore() { # explore ARGUMENTS: until the explorer is there
  press "clear; '$diogenes' explore $*" Enter
  until_shown '[1 Findings]'
}
back_in_the_shell() { # back_in_the_shell STATUS: with the modes and the screen of before
  press 'echo "status $? modes $([ "$(stty -g)" = "$before" ] && echo same || echo other)"' Enter
  until_shown "status $1 modes same"
  if screen | grep -qF '[1 Findings]'; then bad 'the screen of before is not back'; fi
}
explorer_pid() { # the child of the shell in the terminal
  shell=$(tmux display-message -p -t 0 '#{pane_pid}')
  tr -d ' ' <"/proc/$shell/task/$shell/children"
}

"$diogenes" run --driver simulated --output one.diogenes -- "$example" >/dev/null 2>run.err || {
  cat run.err
  exit 1
}
[ -e one.diogenes/report.kept ] || bad 'run does not keep the report'

# Not a terminal, or one that cannot move its cursor: one line that says what to do.
for how in "'$diogenes' explore one.diogenes </dev/null" "'$diogenes' explore one.diogenes | cat"; do
  script=$(sh -c "$how" 2>&1)
  case $script in *'diogenes report'*) ;; *) bad "no hint without a terminal: $how: $script" ;; esac
done
begin 80 24
press "clear; TERM=dumb '$diogenes' explore one.diogenes; echo status \$?" Enter
until_shown 'status 2'
screen | tr -d '\n' | grep -q 'TERM is dumb.*diogenes report' || bad 'TERM=dumb gives no hint'
press "clear; TERM=nonsense '$diogenes' explore one.diogenes" Enter
until_shown '[1 Findings]' # by a description that most terminals understand
press q
until_gone '[1 Findings]'

# The report that `run` kept is the one that is shown: nothing was analysed, so nothing was kept anew.
kept=$(stat -c '%i %Y' one.diogenes/report.kept)
explore one.diogenes
press q
until_gone '[1 Findings]'
[ "$kept" = "$(stat -c '%i %Y' one.diogenes/report.kept)" ] || bad 'the kept report was not taken'

# Moving, unfolding, problems, back, quitting.
explore one.diogenes
press d
until_shown 'Findings > '
press Escape
until_shown '[1 Findings]'
press 2
until_shown '[2 Sequences]'
press 3
until_shown '[3 Needed waits]'
press '?'
until_shown 'Keys'
press q
until_shown '[3 Needed waits]'
press 1 '/'
until_shown '/'
press -l 'cuCtxSynchronize'
until_shown '/cuCtxSynchronize'
press Enter
press q
until_gone '[1 Findings]'
back_in_the_shell 0

# A sequence, a part of it, and its estimate.
explore one.diogenes
press 2
until_shown '[2 Sequences]'
press Enter
until_shown 'Whole sequence'
press j s
until_shown 'Part 2 to'
until_gone 'estimating ...'
screen | grep -q 'Part 2 to .* m*s (.*%)' || bad 'a part of a sequence has no figure'
press Q
until_gone 'Whole sequence'
back_in_the_shell 0

# The size changes while it runs.
explore one.diogenes
tmux resize-window -x 40 -y 10
until_shown '[1 Findings]  2   3'
tmux resize-window -x 120 -y 40
until_shown '5 Session'
press q
until_gone '[1 Findings]'
back_in_the_shell 0

# Ctrl-C, SIGTERM, a crash: the terminal is as it was.
explore one.diogenes
press C-c
until_gone '[1 Findings]'
back_in_the_shell 130
for signal in TERM:143 SEGV:139 ABRT:134 HUP:129; do
  explore one.diogenes
  kill -s "${signal%:*}" "$(explorer_pid)"
  until_gone '[1 Findings]'
  back_in_the_shell "${signal#*:}"
done

# Ctrl-Z and back.
explore one.diogenes
press C-z
until_gone '[1 Findings]'
until_shown 'READY'
press 'echo "stopped $([ "$(stty -g)" = "$before" ] && echo same || echo other)"' Enter
until_shown 'stopped same'
press 'fg' Enter
until_shown '[1 Findings]'
press 3
until_shown '[3 Needed waits]'
press q
until_gone '[3 Needed waits]'
back_in_the_shell 0

# Keys that are no keys.
explore one.diogenes
for key in F1 F12 M-x C-a C-l Insert Delete ü '~' 0 9; do press "$key"; done
press 5
until_shown '[5 Session]'
press q
until_gone '[5 Session]'
back_in_the_shell 0

# A session that is not one, and one that is damaged.
mkdir empty.diogenes
press "clear; '$diogenes' explore empty.diogenes; echo status \$?" Enter
until_shown 'status 125'

# The report is kept, and one that is damaged is not taken.
[ -e one.diogenes/report.kept ] || bad 'the report was not kept'
printf 'x' | dd of=one.diogenes/report.kept bs=1 seek=400 conv=notrunc 2>/dev/null
explore one.diogenes
press q
until_gone '[1 Findings]'
back_in_the_shell 0

# The terminal goes away while it runs: so does the explorer.
explore one.diogenes
pid=$(explorer_pid)
tmux kill-server
tries=0
while kill -0 "$pid" 2>/dev/null; do
  tries=$((tries + 1))
  if [ "$tries" -gt "$patience" ]; then
    bad 'it stays when the terminal is gone'
    kill -9 "$pid"
    break
  fi
  sleep 0.1
done

[ "$failures" -eq 0 ] || exit 1
echo "all as expected"
