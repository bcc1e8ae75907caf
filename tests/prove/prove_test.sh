#!/bin/sh
# `diogenes prove`: prove_test.sh DIOGENES GAUSSIAN ALS CFD FICKLE SCHEDULE COVERED FAILS TURNS. What is gained, and which findings
# there are beside those that were planted, is not looked at: it is a matter of the machine.
diogenes=$1 gaussian=$2 als=$3 cfd=$4 fickle=$5 schedule=$6 covered=$7 fails=$8 turns=$9
# shellcheck source=../in_folder.sh
. "$(dirname "$0")/../in_folder.sh"
says() { # says FILE PATTERN WHAT
  tr '\n' ' ' <"$1" | tr -s ' ' | grep -Eq -- "$2" || bad "$3: no '$2'"
}
refused() { # refused STATUS PATTERN ARGUMENT...: in one line
  status=$1 pattern=$2
  shift 2
  "$diogenes" prove "$@" >out 2>err </dev/null
  got=$?
  [ "$got" -eq "$status" ] || bad "exit status $got, not $status: prove $*"
  grep -Eq -- "$pattern" err || bad "no line like '$pattern': prove $*"
}
measure() { # measure SESSION COMMAND...
  session=$1
  shift
  "$diogenes" run --driver simulated --output "$session" --report report.txt --force -- "$@" >out 2>err </dev/null ||
    bad "run: $*"
}

refused 125 'no session'
measure gaussian.diogenes "$gaussian"
refused 2 'has no P99' gaussian.diogenes --only P99
refused 2 'is not a number above 0' gaussian.diogenes --pairs 0

# Explicit waits: two places, 800 calls each, alone and together.
"$diogenes" prove gaussian.diogenes --pairs 2 >out 2>err </dev/null || bad 'gaussian: exit status'
says err 'runs, about' 'gaussian'
says out 'all .* [1-9][0-9,]* of [1-9][0-9,]* equal all of these' 'gaussian'
says out 'cuCtxSynchronize: needless wait, gaussian.cpp:' 'gaussian'
grep -q '"results_equal": true' gaussian.diogenes/proved.json || bad 'gaussian: proved.json'
grep -q '"results_equal": false' gaussian.diogenes/proved.json && bad 'gaussian: proved.json'
says out 'Medians of 2 pairs.* From the first of these calls to the end' 'gaussian'

# The report has it, until the session is measured again; results that differ withdraw what was corrected.
cp gaussian.diogenes/proved.json proved.json
"$diogenes" report gaussian.diogenes >out 2>err || bad 'the report of a session that was proved'
says out 'Proved: expected .*, proved .* \+- .*; [1-9][0-9,]* of [1-9][0-9,]* calls; results equal' 'report, all'
says out 'calls 1\..* expected [0-9.]+%, proved -?[0-9.]+% \+- [0-9.]+; ' 'report, P1'
"$diogenes" diff gaussian.diogenes gaussian.diogenes >out 2>err || bad 'diff'
says out 'before proved now' 'diff'
sed 's/"results_equal": true/"results_equal": false/; s/"difference": ""/"difference": "stdout differs"/' proved.json \
  >gaussian.diogenes/proved.json
"$diogenes" report gaussian.diogenes >out 2>err || bad 'report, withdrawn'
says out '^Withdrawn: P1, .* correcting it changed the results \(stdout differs\)' 'report, withdrawn'
place=$(sed -n 's/^Withdrawn: P1, .* \(gaussian\.cpp:[0-9]*\) in .*/\1/p' out)
[ -n "$place" ] || bad 'report, withdrawn: it says no place'
grep -q "^ *[0-9]*\. .* ${place:-none} in " out && bad 'report, withdrawn: it is still in the table'
"$diogenes" gate gaussian.diogenes >out 2>err || bad 'gate, withdrawn'
head -c 300 proved.json >gaussian.diogenes/proved.json
"$diogenes" report gaussian.diogenes >out 2>err || bad 'report, damaged'
says out 'what was proved is left out: proved.json is not complete' 'report, damaged'
says out ' [0-9]+ places' 'report, damaged'
sed 's/"session_started_ns": /&1/' proved.json >gaussian.diogenes/proved.json
"$diogenes" report gaussian.diogenes >out 2>err || bad 'report, another measurement'
says out 'is of another measurement than the session' 'report, another measurement'
cp proved.json gaussian.diogenes/proved.json

# Releases, whose memory is used again, and transfers of what was there. Which has which number is a matter of the machine.
measure als.diogenes "$als"
"$diogenes" prove als.diogenes --pairs 1 >out 2>err </dev/null || bad 'als: exit status'
says out 'all .* [1-9][0-9,]* of [1-9][0-9,]* equal' 'als'
for id in P1 P2 P3 P4; do
  "$diogenes" prove als.diogenes --pairs 1 --only "$id" >out 2>err </dev/null || bad "als $id: exit status"
  says out "$id .* [1-9][0-9,]* of [1-9][0-9,]* equal" "als $id"
done
measure cfd.diogenes "$cfd"
"$diogenes" prove cfd.diogenes --pairs 1 >out 2>err </dev/null || bad 'cfd: exit status'
says out ' [1-9][0-9,]* of [1-9][0-9,]* equal' 'cfd'

# Work of other streams goes on behind what a corrected wait was to wait for.
measure streams.diogenes "$schedule" many_streams
"$diogenes" prove streams.diogenes --pairs 1 >out 2>err </dev/null || bad 'many_streams: exit status'
says out ' [1-9][0-9,]* of [1-9][0-9,]* equal' 'many_streams'
says out "in these runs, [1-9][0-9,]* calls gave the GPU work that had to begin after another stream's" 'many_streams'
grep -q '"ordered": [1-9]' streams.diogenes/proved.json || bad 'many_streams: proved.json'

# A wait that nothing needed when the session was measured, and that is needed now: it is left as it is from the first use on,
# the results are right, and the report withdraws it.
measure fickle.diogenes "$fickle" now
"$diogenes" prove fickle.diogenes --pairs 2 >out 2>err </dev/null || bad 'fickle, as it was: exit status'
grep -q '"used": {}' fickle.diogenes/proved.json || bad 'fickle, as it was: proved.json'
grep -q 'the report withdraws it' out && bad 'fickle, as it was'
says out ' 40 of 40 +equal' 'fickle, as it was'
: >now
"$diogenes" prove fickle.diogenes --pairs 2 >out 2>err </dev/null || bad 'fickle: exit status'
says out 'P1: the program used what P1 waits for before any other wait, 2 times in these runs: the report' 'fickle'
says out ' 1 of 40 +equal' 'fickle'
says out 'was used, though the report says that nothing needs it' 'fickle'
"$diogenes" report fickle.diogenes >out 2>err || bad 'report, fickle'
says out '^Withdrawn: P1, cuStreamSynchronize: needless wait, .*used what it waits for before any other wait' 'report, fickle'

# A wait that the next copy's covers, which is made as before: the use behind that one says nothing.
measure covered.diogenes "$covered"
"$diogenes" prove covered.diogenes --pairs 2 >out 2>err </dev/null || bad 'covered: exit status'
grep -q 'the report withdraws it' out && bad 'covered'
says out 'P1 .* 20 of 20 +equal' 'covered'

# Work that failed: who was told so by a wait is told there.
measure fails.diogenes "$fails"
refused 1 '1 wait failed: .*, so nothing is corrected' fails.diogenes

# Parts of the program that wait for each other by way of the GPU: it does not end where such a wait is corrected, and is run
# again with those waits as they are. The limit is of whole runs, which take a twentieth of it.
measure turns.diogenes "$turns" thread
"$diogenes" prove turns.diogenes --only P1 --pairs 1 --timeout 10 >out 2>err </dev/null || bad 'turns: exit status'
says err 'P1: corrected, the program did not end within [0-9.]+ s; from here on' 'turns'
says out 'waited as before: the program had several threads, or handlers' 'turns'
says out 'P1 .* 0 of 1 +equal' 'turns'
measure turns.diogenes "$turns" signal
"$diogenes" prove turns.diogenes --only P1 --pairs 1 --timeout 10 >out 2>err </dev/null || bad 'turns by a signal: exit status'
says out 'P1 .* of 1 +equal' 'turns by a signal'

# What does not end as it is says nothing of a corrected run.
"$diogenes" prove gaussian.diogenes --pairs 1 --timeout 0.01 >out 2>err </dev/null && bad 'a limit that is too short: exit status 0'
says err 'as it is, the program did not end within' 'a limit that is too short'

# A session whose driver or program is not there any more; one that was not finished.
sed 's|"driver_build_id": "[0-9a-f]*"|"driver_build_id": "00"|' gaussian.diogenes/session.json >session.new
cp -R gaussian.diogenes other.diogenes && mv session.new other.diogenes/session.json
refused 125 'is not the one of the session' other.diogenes
sed 's|"finished": true|"finished": false|' gaussian.diogenes/session.json >other.diogenes/session.json
refused 125 'is not complete.*--resume' other.diogenes

# Interrupted in the middle: it ends, and says so.
rm -rf gaussian.diogenes/proving
"$diogenes" prove gaussian.diogenes --pairs 500 >out 2>err </dev/null &
prover=$!
while ! [ -d gaussian.diogenes/proving/2 ]; do sleep 0.05; done
# While a program of its runs: between runs a signal ends the launcher as it ends any program.
until [ -n "$(cat "/proc/$prover/task/$prover/children")" ]; do sleep 0.01; done
kill -TERM "$prover"
if wait "$prover"; then bad 'interrupted: exit status 0'; fi
says err 'interrupted by signal 15' 'interrupted'
finish
