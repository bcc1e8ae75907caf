#!/bin/sh
# The command line on bad input and faulty programs: cli_test.sh DIOGENES FAULTY
# Each case: what is typed, the exit status, and a pattern that the one line on stderr must match.
diogenes=$1
faulty=$2
# shellcheck source=../../../tests/in_folder.sh
. "$(dirname "$0")/../../../tests/in_folder.sh"
expect() { # expect STATUS PATTERN COMMAND...: PATTERN (extended) somewhere on stderr, each line of ours begins 'diogenes: '
  wanted=$1 pattern=$2
  shift 2
  "$@" >out 2>err </dev/null
  status=$?
  [ "$status" -eq "$wanted" ] || bad "exit status $status, not $wanted: $*"
  if [ -n "$pattern" ]; then grep -Eq -- "$pattern" err || bad "no line like '$pattern': $*"; fi
}
one_line() { [ "$(wc -l <err)" -eq 1 ] || bad "not one line: $1"; }
run() { # run STATUS PATTERN [OPTION...] -- COMMAND...
  wanted=$1 pattern=$2
  shift 2
  expect "$wanted" "$pattern" "$diogenes" run --driver simulated "$@"
}

# Usage
expect 2 '^diogenes: no command is given' "$diogenes"
expect 2 "^diogenes: --kind: there is no kind 'bogus'; the kinds are 'needless wait'" "$diogenes" report --kind bogus
expect 2 "there is no command 'explode'" "$diogenes" explode
expect 2 'there is no option --versoin' "$diogenes" --versoin
expect 2 'no command to run' "$diogenes" run
expect 2 'unknown option --frobnicate' "$diogenes" run --frobnicate -- true
one_line 'unknown option'
expect 2 '^diogenes: ' "$diogenes" run --timeout soon -- true
expect 2 '^diogenes: ' "$diogenes" run --driver imaginary -- true
expect 2 '^diogenes: ' "$diogenes" run --repeat 0 -- true
for factor in 1 1.09 none; do
  expect 2 "diogenes: .*$factor is not a number of 1.1 or more" "$diogenes" run --max-overhead $factor -- true
done
expect 2 'name of an NVTX range has 1 to 255 bytes' "$diogenes" run --region '' -- true
expect 2 'leave out --region' "$diogenes" run --resume nowhere --region step
expect 2 'leave out --max-overhead' "$diogenes" run --resume nowhere --max-overhead 2
expect 2 '^diogenes: ' "$diogenes" export --format pdf
expect 0 '' "$diogenes" --version
expect 0 '' "$diogenes" run --help
grep -q 'Examples' out || bad 'run --help has no examples'

# The program cannot be run: nothing is left behind.
run 127 'no-such-program: not found' -- no-such-program
one_line 'not found'
run 127 'not found; check the path' -- ./missing
echo x >plain
run 126 'chmod \+x' -- ./plain
run 126 'folder' -- ./
printf '#!/no/such/interpreter\n' >script
chmod +x script
run 126 'interpreter' -- ./script
[ -z "$(find . -name '*.diogenes')" ] || bad 'a session was left by programs that cannot be run'

# Once for each rank: the job is measured as one, unless each has a folder. One rank is a program like any other.
run_as_rank() { # run_as_rank SIZE STATUS PATTERN [OPTION...] -- COMMAND...
  size=$1 wanted=$2 pattern=$3
  shift 3
  expect "$wanted" "$pattern" env OMPI_COMM_WORLD_SIZE="$size" OMPI_COMM_WORLD_RANK=0 "$diogenes" run --driver simulated "$@"
}
run_as_rank 2 2 '^diogenes: mpirun started this diogenes 2 times .*: diogenes run -- mpirun -n 2 .*faulty none;' -- "$faulty" none
one_line 'a rank'
[ -z "$(find . -name '*.diogenes')" ] || bad 'a session was left by a rank'
run_as_rank 2 0 'complete' --output rank0 -- "$faulty"
run_as_rank 1 0 'complete' --output rank1 -- "$faulty"
rm -r rank0 rank1

# The output cannot be written.
mkdir full other
echo keep >other/file
run 125 'exists already' --output other -- "$faulty"
run 125 'not a Diogenes session' --output other --force -- "$faulty"
[ -e other/file ] || bad '--force removed what is no session'
run 125 'cannot make the session folder' --output no/such/parent -- "$faulty"
run 125 'cannot make the session folder' --output /proc/session -- "$faulty"
run 125 'exists already' --report plain -- "$faulty"
run 125 'cannot write the report' --report no/such/file -- "$faulty"
if mkdir small && mount -t tmpfs -o size=4k none small 2>/dev/null; then
  head -c 4096 /dev/zero >small/filled 2>/dev/null
  run 125 'No space left.*|cannot' --output small/session -- "$faulty"
  one_line 'full folder'
  umount small
fi

# No CUDA: the program's own status, one notice, one run.
run 5 'nothing to measure' -- sh -c 'echo once >>count; exit 5'
[ "$(wc -l <count)" -eq 1 ] || bad 'a program without CUDA ran more than once'
one_line 'nothing to measure'
run 143 'nothing to measure' -- sh -c 'kill -TERM $$'
[ -z "$(find . -name 'sh.*.diogenes')" ] || bad 'an empty session was left'

# Sessions that are none, or cut.
expect 125 'no session|none|session' "$diogenes" report
one_line 'no session here'
expect 125 'no such session' "$diogenes" report nowhere.diogenes
expect 125 'not a Diogenes session' "$diogenes" report other
expect 125 'not a Diogenes session' "$diogenes" export other --format json
mkdir cut.diogenes
printf '{"schema": "diogenes-se' >cut.diogenes/session.json
expect 125 'cut.diogenes' "$diogenes" report cut.diogenes
one_line 'cut session.json'
expect 125 'cut.diogenes' "$diogenes" export cut.diogenes --format json
rm -r cut.diogenes
# One that may not be read is called that. Root may read everything, unless it gives that right up.
mkdir closed.diogenes
echo '{"schema": "diogenes-session/1"}' >closed.diogenes/session.json
if [ "$(id -u)" -eq 0 ]; then
  as_others='setpriv --bounding-set=-dac_override,-dac_read_search --'
else
  as_others=
fi
for closed in closed.diogenes/session.json closed.diogenes; do
  chmod 000 "$closed"
  for command in 'report closed.diogenes' 'export closed.diogenes' 'gate closed.diogenes' 'diff closed.diogenes closed.diogenes' \
    'run --resume closed.diogenes' 'report'; do
    # shellcheck disable=SC2086
    expect 125 'closed.diogenes may not be read: permission denied; .*chmod -R a\+rX' $as_others "$diogenes" $command
    one_line "a session that may not be read: $command"
  done
  chmod 700 "$closed"
done
rm -r closed.diogenes

# A program that works: the same output and status, a report, files.
run 0 '' --output good.diogenes -- "$faulty"
[ "$(cat out)" = worked ] || bad 'the output is not that of one run'
[ -s good.diogenes/report.json ] || bad 'no report.json'
[ ! -e good.diogenes/good.diogenes ] || bad 'sessions nest'
run 125 'exists already' --output good.diogenes -- "$faulty"
run 0 '' --output good.diogenes --force --report report.txt --plain-run -- "$faulty"
[ -s report.txt ] || bad '--report wrote nothing'
one_line 'with --report and no terminal, only how long the runs will take is said'
grep -Eq '^diogenes: 4 runs, about [0-9]+ s in all; one more, about [0-9]+ s, if needed waits cost 2% of the time in which the GPU is used$' err || bad 'it is not said how long the runs will take'
grep -q '"plain"' good.diogenes/session.json || bad '--plain-run left no trace'
run 0 '' --output repeated.diogenes --repeat 3 -- "$faulty"
for run in tracing tracing-2 tracing-3; do
  [ -d "repeated.diogenes/$run" ] || bad "--repeat 3 left no $run"
done
grep -q '^diogenes: 5 runs, ' err || bad '--repeat 3 is not counted'
[ ! -e repeated.diogenes/tracing-4 ] || bad '--repeat 3 ran four times'
run 0 '' --output without.diogenes --gpu-times off -- "$faulty"
[ ! -e without.diogenes/gpu-times ] || bad '--gpu-times off ran it all the same'
[ "$(grep '"folder"' without.diogenes/session.json | grep -vc sync-use)" = 3 ] || bad 'repeated runs without a reason'
run 0 '' -- "$faulty"
run 0 '' -- "$faulty"
if [ ! -d faulty.1.diogenes ] || [ ! -d faulty.2.diogenes ]; then bad 'sessions are not numbered'; fi
expect 0 '' "$diogenes" report
expect 0 '' "$diogenes" report good.diogenes --kernels --top 3
grep -qE 'Kernels|was not measured' out || bad 'report --kernels shows none and does not say why'
expect 0 '' "$diogenes" report good.diogenes --tree --sort time --columns time,gpu,importance --depth 3
expect 0 '' "$diogenes" report --tree good.diogenes
grep -qE 'Where time goes, top-down|was not measured|No calling context' out || bad 'report --tree shows none'
expect 0 '' "$diogenes" report good.diogenes --tree bottom-up
expect 2 "there is no column 'bogus'; the columns are time, cpu" "$diogenes" report good.diogenes --tree flat --columns gpu,bogus
expect 2 "there is no column 'bytes'" "$diogenes" report good.diogenes --tree --sort bytes
expect 2 "there is no view 'sideways'" "$diogenes" report good.diogenes --tree sideways
expect 2 'columns are for --tree' "$diogenes" report good.diogenes --sort cpu
expect 2 'are for --tree' "$diogenes" report good.diogenes --depth 2
expect 0 '' "$diogenes" report good.diogenes --format json
grep -q '"diogenes-report/2"' out || bad 'report --format json is not the schema'
expect 0 '' "$diogenes" export good.diogenes --format json -o report.json
expect 125 'exists already' "$diogenes" export good.diogenes --format json -o report.json
expect 0 '' "$diogenes" export good.diogenes --format json -o report.json --force
expect 0 '' sh -c "'$diogenes' export good.diogenes | head -n 1"
expect 125 'cannot write' "$diogenes" export good.diogenes -o no/such/file
for format in 'html <!DOCTYPE html>' 'csv id,kind,' 'kernels-csv id,name,' 'markdown ### Diogenes: faulty' 'sarif "version": "2.1.0"' 'perfetto "traceEvents":'; do
  expect 0 '' "$diogenes" export good.diogenes --format "${format%% *}"
  grep -q "${format#* }" out || bad "export --format ${format%% *} has no '${format#* }'"
done
expect 0 '' "$diogenes" export good.diogenes --format collapsed

# Two sessions beside each other, and an exit status for continuous integration.
expect 0 '' "$diogenes" diff good.diogenes repeated.diogenes
grep -q '^faulty: run time ' out || bad 'diff does not begin with the run times'
expect 2 'NEW is required' "$diogenes" diff good.diogenes
expect 125 'not a session' "$diogenes" diff good.diogenes .
expect 0 '' "$diogenes" gate good.diogenes --fail-above 100%
tail -n 1 out | grep -q '^pass: ' || bad 'gate does not say that it passed'
expect 2 'not a percentage' "$diogenes" gate good.diogenes --fail-above 2.5x
expect 2 'No such file' "$diogenes" gate good.diogenes --allow nowhere.allow
echo abcd >allow
expect 2 'allow:1: abcd has no reason' "$diogenes" gate good.diogenes --allow allow
echo 'abcd it is the vendor' >allow
expect 0 'abcd is not found any more' "$diogenes" gate good.diogenes --allow allow --fail-above 100
cp -R good.diogenes part.diogenes
rm -rf part.diogenes/memory-tracing
expect 3 'gate cannot say: the memory-tracing run is not there' "$diogenes" gate part.diogenes --fail-above 100%
for run in tracing memory-tracing; do
  rm -rf part.diogenes && cp -R good.diogenes part.diogenes
  for file in "part.diogenes/$run"/*/thread-0; do : >"$file"; done
  rm part.diogenes/report.kept
  expect 3 'gate cannot say: ' "$diogenes" gate part.diogenes --fail-above 100%
  expect 0 '' "$diogenes" report part.diogenes
  grep -q "$run: the records of 1 thread cannot be read" out || bad "the report does not say what of $run is missing"
done

# A session reads the same after the program was rebuilt.
cp "$faulty" ./rebuilt
run 0 '' --output rebuilt.diogenes -- ./rebuilt
expect 0 '' "$diogenes" report rebuilt.diogenes --details all
grep -q 'faulty.cc:[0-9]* in ' out || bad 'the report names no line of the program'
mv out before
echo 'another program' >rebuilt
expect 0 '' "$diogenes" report rebuilt.diogenes --details all
cmp -s before out || bad 'the report changed when the program was rebuilt'

# Input reaches every run; --prepare runs before each.
"$diogenes" run --driver simulated --output piped.diogenes --prepare 'echo x >>prepared' -- "$faulty" cat \
  >out 2>err <<INPUT
from a pipe
INPUT
[ "$(cat out)" = "$(printf 'worked\nfrom a pipe')" ] || bad 'the first run did not get the input'
grep -q 'from a pipe' piped.diogenes/tracing/stdout || bad 'a later run did not get the input'
[ "$(wc -l <prepared)" -ge 3 ] || bad '--prepare did not run before each run'
run 125 'prepare command' --prepare 'exit 1' -- "$faulty"

# Faults of the program: its own status, and the report says what happened.
run 41 'exited with 41 in its first run; further runs' --output failed.diogenes -- "$faulty" status
[ -d failed.diogenes/memory-tracing ] || bad 'a program that ends with 41 was not measured'
run 139 'killed by signal 11.* first run; there are no further runs' --output crashed.diogenes -- "$faulty" crash
[ ! -d crashed.diogenes/tracing ] || bad 'a crash was measured again'
run 139 '' --output kept.diogenes --keep-going -- "$faulty" crash
[ -d kept.diogenes/memory-tracing ] || bad '--keep-going measured no crash'
run 139 'no further runs' --output crashed2.diogenes --plain-run -- "$faulty" crash
[ ! -d crashed2.diogenes/baseline ] || bad 'a crash of the plain run was measured'
for stage in tracing memory-tracing; do
  run 0 "$stage: the program was killed by signal 11" --output "crash-$stage.diogenes" -- "$faulty" crash "$stage"
  run 0 "$stage: ended after" --timeout 8 --output "hang-$stage.diogenes" -- "$faulty" hang "$stage"
  run 0 "$stage: stdout differs" --output "differ-$stage.diogenes" -- "$faulty" differ "$stage"
  run 0 "$stage: the program exited with 41" --output "status-$stage.diogenes" -- "$faulty" status "$stage"
done
run 124 'ended after' --timeout 2 -- "$faulty" hang

# Gigabytes of output: passed on in the first run, not kept.
"$diogenes" run --driver simulated --output big.diogenes -- "$faulty" gigabytes 2>err </dev/null | wc -c >count
[ "$(cat count)" -eq 2147483655 ] || bad "of 2 GiB and 7 bytes of output, $(cat count) came through"
[ "$(du -sm big.diogenes | cut -f 1)" -lt 600 ] || bad 'gigabytes were kept'

# Sessions that lost a part are reported as far as they go.
cp -R good.diogenes lost.diogenes
rm -rf lost.diogenes/memory-tracing
expect 0 '' "$diogenes" report lost.diogenes
for file in lost.diogenes/tracing/*/thread-0; do : >"$file"; done
expect 0 '' "$diogenes" report lost.diogenes
rm -rf lost.diogenes/tracing
expect 0 '' "$diogenes" report lost.diogenes

# Without a home and a cache folder, nothing is left in the current one.
mkdir bare
(cd bare && env -u XDG_CACHE_HOME -u HOME "$diogenes" doctor --driver simulated >../out 2>../err) ||
  bad 'doctor without a cache folder'
[ -z "$(ls -A bare)" ] || bad "without a cache folder, this was left: $(ls -A bare)"

# torchrun inside one task of Slurm: each worker has a rank of its own.
cat >workers.sh <<'END'
for rank in 0 1; do
  TORCHELASTIC_RUN_ID=job LOCAL_RANK=$rank RANK=$rank SLURM_PROCID=0 "$1" &
done
wait
END
run 0 '' --output workers -- sh workers.sh "$faulty"
for rank in 0 1; do
  set -- workers/tracing/rank"$rank"-*
  [ -d "$1" ] || bad "no process of the tracing run has the rank $rank"
done

# An interrupt, in each of the runs: the session is kept and says so. What was not judged is called that, and not needed.
for stage in baseline tracing memory-tracing; do
  : >out  # what the run before printed would be taken for this one's
  "$diogenes" run --driver simulated --output "interrupted-$stage" -- "$faulty" hang $stage >out 2>err </dev/null &
  pid=$!
  [ $stage = baseline ] && worked=out || worked=interrupted-$stage/$stage/stdout
  until grep -q worked "$worked" 2>/dev/null; do sleep 0.05; done
  kill -TERM "$pid"
  wait "$pid"
  status=$?
  [ "$status" -eq 143 ] || bad "interrupted in $stage: exit status $status, not 143"
  grep -q '"interrupted"' interrupted-$stage/session.json || bad "interrupted in $stage: the session does not say so"
  grep -q "diogenes run --resume interrupted-$stage" err || bad "interrupted in $stage: it is not said how to go on"
  # Below the limit however long the hung run took: above it, what was found is enough to fail.
  expect 3 "gate cannot say: $stage: the run was interrupted" "$diogenes" gate interrupted-$stage --fail-above 100%
  for format in json html markdown; do
    expect 0 '' "$diogenes" export interrupted-$stage --format $format
  done
  expect 0 '' "$diogenes" report interrupted-$stage --details all
  grep -q 'what is missing was not judged:' out || bad "interrupted in $stage: the report does not say what was not judged"
  grep -q '^Diogenes Simulated GPU' out || bad "interrupted in $stage: it is not said which GPU it was"
  [ $stage = memory-tracing ] || ! grep -qi 'needed' out || bad "interrupted in $stage: something is called needed"
  [ $stage != tracing ] || grep -q '^Waits not judged that cost most' out || bad 'no wait is called not judged'
done

finish
