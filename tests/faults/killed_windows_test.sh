#!/bin/sh
# Kills at random moments of a program that is recorded in windows: killed_windows_test.sh DIOGENES STEPS [ROUNDS]
# The launcher, whoever opened the window, and the program in turn. Where it is not itself killed, the program comes to its end
# and its results are right, and nothing is recorded any more a second after whoever wanted it is gone; what was complete is
# read back.
diogenes=$1
steps=$2
rounds=${3:-6}
# shellcheck source=../in_folder.sh
. "$(dirname "$0")/../in_folder.sh"

comes() { # comes COMMAND...: it succeeds in the end; a minute is for machines that starve
  tries=0
  until "$@" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || return 1
    sleep 0.1
  done
}
# shellcheck disable=SC2317 # called by comes()
works() { ls "$session"/gpu-times/*/calls >/dev/null 2>&1; }
# shellcheck disable=SC2317
closed() { [ "$(od -An -j8 -N8 -td8 "$session/gpu-times/control" | tr -d ' ')" = 0 ]; }
# shellcheck disable=SC2317
gone() { ! kill -0 "$1" 2>/dev/null; }
program_of() { # the process id in the name of the program's folder
  for folder in "$session"/gpu-times/*/; do
    folder=${folder%/}
    echo "${folder##*-}"
    return
  done
}
random() { awk -v seed="$1" -v most="$2" 'BEGIN { srand(seed); print rand() * most }'; }

seed=${SEED:-$$}
round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  session=$PWD/$round.diogenes
  "$diogenes" profile --wait --driver simulated --output "$session" -- "$steps" "$PWD/end$round" >"out$round" 2>"err$round" </dev/null &
  launcher=$!
  comes works || bad "round $round: the program does not work"
  "$diogenes" start "$session" --duration 0.4 >"start$round" 2>&1 </dev/null &
  opener=$!
  sleep "$(random $((seed + round)) 0.8)"
  program=$(program_of)
  case $((round % 3)) in
    0) what='the launcher' && kill -9 "$launcher" ;;
    1) what='who opened the window' && kill -9 "$opener" 2>/dev/null ;;
    2) what='the program' && kill -9 "$program" ;;
  esac
  what="round $round of $rounds, seed $seed, $what"
  wait "$opener" 2>/dev/null
  [ $((round % 3)) -eq 2 ] || comes closed || bad "$what: a window stays open"
  touch "end$round"
  wait "$launcher" 2>/dev/null
  comes gone "$program" || bad "$what: the program does not end"
  if [ $((round % 3)) -ne 2 ]; then
    [ "$(cat "out$round")" = 'all steps were right' ] || bad "$what: the program printed '$(cat "out$round")'"
  fi
  windows=0
  [ ! -e "$session/gpu-times/windows" ] || windows=$(($(wc -c <"$session/gpu-times/windows") / 40))
  number=0
  while [ "$number" -lt "$windows" ]; do
    number=$((number + 1))
    "$diogenes" report "$session" --window $number --format json >shown 2>err || bad "$what: window $number is not read back"
    grep -q '"judged": *false' shown || bad "$what: the report of window $number is none"
  done
  "$diogenes" report "$session" >shown 2>err
  [ $? -lt 126 ] || bad "$what: the report fails"
  rm -rf "$session" "end$round"
done
finish
