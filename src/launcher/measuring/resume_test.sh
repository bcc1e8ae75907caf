#!/bin/sh
# `diogenes run --resume`: resume_test.sh DIOGENES FAULTY
# Launchers and programs are killed where a program stands still and says so; nothing depends on how long anything takes.
diogenes=$1
faulty=$2
# shellcheck source=../../../tests/in_folder.sh
. "$(dirname "$0")/../../../tests/in_folder.sh"
refused() { # refused PATTERN ARGUMENT...: `diogenes run --resume` says so in one line, with status 125
  pattern=$1
  shift
  "$diogenes" run --resume "$@" >out 2>err </dev/null
  status=$?
  [ "$status" -eq 125 ] || bad "exit status $status, not 125: --resume $*"
  [ "$(wc -l <err)" -eq 1 ] || bad "not one line: --resume $*"
  grep -Eq -- "$pattern" err || bad "no line like '$pattern': --resume $*"
}
whole() { # whole SESSION RUNS: all is complete, and there were these runs, and those that the analysis asked for
  grep -q '"finished": true' "$1/session.json" || bad "$1: it is not finished"
  grep '"state"' "$1/session.json" | grep -vq '"complete"' && bad "$1: a run is not complete"
  grep -q 'is not complete' "$1/report.json" && bad "$1: the report says that something is missing"
  grep -q 'cuCtxSynchronize' "$1/report.json" || bad "$1: the report finds nothing"
  runs=$(grep -vE '^(gpu-times|sync-use)$' ran | tr '\n' ' ')
  [ "$runs" = "$2 " ] || bad "$1: these runs were made: $runs"
  rm -f ran
}

# A program that says which run it is in, and stands still where the file stop-RUN asks for it: it opens the fifo `gate`.
cat >steps <<'STEPS'
#!/bin/sh
cd "$2" || exit 1
run=${DIOGENES_PLAN%/plan}
run=${run##*/}
"$1" cat || exit 1
echo "$run" >>ran
if [ -e "stop-$run" ]; then
  rm "stop-$run"
  echo $$ >pid
  echo "$run" >reached
  read -r _ <gate
fi
exit 7
STEPS
chmod +x steps
mkfifo gate reached
begin() { # begin SESSION RUN: a launcher, in the background, whose program stands still in that run
  : >"stop-$2"
  "$diogenes" run --driver simulated --output "$1" -- ./steps "$faulty" "$work" <input >out 2>err &
  launcher=$!
  read -r run <reached
  [ "$run" = "$2" ] || bad "$1 stands still in $run, not in $2"
}
ended() { # ended PID: waits until that process, which is no child of ours, is gone
  while [ -e "/proc/$1" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; do sleep 0.05; done
}
resume() { # resume SESSION OPTION...: it comes to its end, with the first run's status
  "$diogenes" run --resume "$@" >resumed-out 2>err </dev/null
  status=$?
  [ "$status" -eq 7 ] || bad "exit status $status, not the program's: --resume $*"
}
echo 'from a file' >input

# What is no session, or not to be resumed.
refused 'no such session' nowhere.diogenes
mkdir empty
refused 'not a Diogenes session' empty
"$diogenes" run --resume x.diogenes --repeat 2 >out 2>err </dev/null
[ $? -eq 2 ] || bad '--resume with --repeat is no usage error'
grep -q 'leave out --repeat' err || bad '--resume with --repeat does not say so'

# The launcher is killed in the second run. The program of that run ends with it, and the first is not run again.
begin second.diogenes tracing
refused 'another diogenes is at work' second.diogenes
# No other run gets into its folder, and nothing of it is removed; nor by commands that work on sessions.
for force in --force ''; do
  # shellcheck disable=SC2086
  "$diogenes" run --driver simulated --output second.diogenes $force -- "$faulty" >out 2>err </dev/null
  [ $? -eq 125 ] || bad "a second run got into the folder of one that runs: '$force'"
  [ "$(wc -l <err)" -eq 1 ] || bad "a second run, not one line: '$force'"
  grep -q 'another diogenes is at work on second.diogenes; wait until it has ended' err || bad "a second run, not named: '$force'"
done
[ -s second.diogenes/session.json ] || bad 'a second run removed the session of one that runs'
"$diogenes" prove second.diogenes >out 2>err </dev/null
grep -q 'another diogenes is at work' err || bad 'prove works on a session whose runs are being made'
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
ended "$(cat pid)"
"$diogenes" report second.diogenes >out 2>err || bad 'no report of the session as it was left'
grep -q 'tracing: the run did not end while Diogenes was there' out || bad 'the report does not say what is missing'
refused 'of another command: ./steps' second.diogenes -- ./other
(cd empty && "$diogenes" run --resume ../second.diogenes >../out 2>../err </dev/null)
grep -q "was begun in $work: resume it from there" err || bad 'it was resumed in another folder'
cp second.diogenes/session.json kept.json
sed -i 's/"tool_version": "[^"]*"/"tool_version": "0.0.9"/' second.diogenes/session.json
refused 'begun by diogenes 0.0.9, and this is' second.diogenes
sed 's/"driver_build_id": "[^"]*"/"driver_build_id": "abcd"/' kept.json >second.diogenes/session.json
refused 'was replaced since' second.diogenes
mv input moved
cp kept.json second.diogenes/session.json
refused 'input .* cannot be read any more' second.diogenes
mv moved input
cp kept.json second.diogenes/session.json
resume second.diogenes --report report.txt
[ -s report.txt ] || bad '--resume with --report wrote nothing'
[ ! -s resumed-out ] || bad 'the output of a later run reached our stdout'
whole second.diogenes 'baseline tracing tracing memory-tracing'
grep -q 'from a file' second.diogenes/memory-tracing/stdout || bad 'a resumed run did not get the first run'\''s input'
grep -q 'differs' second.diogenes/report.json && bad 'a resumed run is said to differ'
refused 'is complete, there is nothing to resume' second.diogenes

# The launcher is killed in the first run: the program, which is the user's own, goes on, and is waited for.
begin first.diogenes baseline
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
pid=$(cat pid)
refused "a process of an earlier run still runs \\(process $pid\\)" first.diogenes
echo >gate
ended "$pid"
rm -f ran
"$diogenes" run --resume first.diogenes >out 2>err <input
[ $? -eq 7 ] || bad 'a first run that is made again does not give its status'
grep -q 'from a file' out || bad 'a first run that is made again does not have our streams'
whole first.diogenes 'baseline tracing memory-tracing'

# An interrupt in the third run: the report says how to go on.
begin third.diogenes memory-tracing
kill -TERM "$launcher"
wait "$launcher"
[ $? -eq 143 ] || bad 'an interrupted launcher does not say so'
grep -q 'diogenes run --resume third.diogenes' err || bad 'an interrupted launcher does not say how to go on'
ended "$(cat pid)"
rm -f ran
resume third.diogenes
whole third.diogenes 'memory-tracing'
grep -q 'interrupted' third.diogenes/report.json && bad 'the report still speaks of the interrupt'

# A launcher that was killed holds no session: it can be overwritten.
begin killed.diogenes tracing
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
ended "$(cat pid)"
"$diogenes" run --driver simulated --output killed.diogenes --force -- "$faulty" >out 2>err </dev/null ||
  bad 'the session of a launcher that was killed cannot be overwritten'
grep -q '"finished": true' killed.diogenes/session.json || bad 'a session that was overwritten is not finished'

finish
