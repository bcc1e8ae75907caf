#!/bin/sh
# What ends recording must not end the program: full_disk_test.sh DIOGENES COUNTED
# A limit on the size of files, --max-trace-size, and, where this may mount one, a file system that is full.
diogenes=$1
counted=$2
# shellcheck source=../in_folder.sh
. "$(dirname "$0")/../in_folder.sh"
unharmed() { # unharmed STATUS WHAT: the program printed what it prints, and came to its end in every run
  [ "$1" -eq 0 ] || bad "$2: exit status $1"
  [ "$(cat out)" = counted ] || bad "$2: the output is not the program's"
  for run in baseline tracing memory-tracing; do
    # `finished`, the second number in the file, is 1.
    [ "$(od -An -j4 -N1 -tu1 "counts.$run" | tr -d ' ')" = 1 ] || bad "$2: the program did not come to its end in $run"
  done
  rm -f counts.*
}
lost() { # lost PATTERN WHAT: the report says so, of both runs that record every call
  for run in tracing memory-tracing; do
    tr '\n' ' ' <err | tr -s ' ' | grep -Eq -- "$run: [0-9,]+ times?: $1" || bad "$2: the report does not say what $run lost"
  done
}

"$diogenes" run --driver simulated --output limit.diogenes -- "$counted" counts limit >out 2>err </dev/null
unharmed $? 'a limit on the size of files'
lost 'a trace file could not be made or grown' 'a limit on the size of files'

"$diogenes" run --driver simulated --max-trace-size 1M --output small.diogenes -- "$counted" counts long >out 2>err </dev/null
unharmed $? '--max-trace-size'
lost 'the limit of recorded bytes was reached' '--max-trace-size'
for run in tracing memory-tracing; do
  bytes=$(cat "small.diogenes/$run"/*/thread-* | wc -c)
  [ "$bytes" -le 1048576 ] || bad "--max-trace-size 1M, and $run recorded $bytes bytes"
  [ "$bytes" -ge 524288 ] || bad "--max-trace-size 1M, and $run recorded no more than $bytes bytes"
done
"$diogenes" run --max-trace-size 10k -- "$counted" counts >out 2>err </dev/null
[ $? -eq 2 ] || bad '--max-trace-size 10k is no usage error'
"$diogenes" run --max-trace-size much -- "$counted" counts >out 2>err </dev/null
[ $? -eq 2 ] || bad '--max-trace-size much is no usage error'

if mkdir small && mount -t tmpfs -o size=4m none small 2>/dev/null; then
  # Each run fills the disk; what is written of it afterwards has its place all the same.
  "$diogenes" run --driver simulated --output small/session --prepare 'rm -f small/filled' \
    -- "$counted" counts fill small/filled >out 2>err </dev/null
  unharmed $? 'a full disk'
  lost 'a trace file could not be made or grown' 'a full disk'
  tr '\n' ' ' <err | tr -s ' ' | grep -q "tracing: the disk at $work/small is full, and records are missing" ||
    bad 'a full disk: it is not named'
  "$diogenes" gate small/session --fail-above 100% >out 2>err </dev/null
  [ $? -eq 3 ] || bad 'a full disk: gate has an opinion'
  grep -q '^diogenes: gate cannot say: ' err || bad 'a full disk: gate does not say that it cannot say'
  grep -q '"finished": true' small/session/session.json || bad 'a full disk: session.json is not the last one'
  [ -s small/session/report.json ] || bad 'a full disk: there is no report.json'
  # It is full from the beginning.
  rm -rf small/session
  mkdir small/session && head -c 200k /dev/zero >small/spare && head -c 8m /dev/zero >small/filled 2>/dev/null
  rm -f small/spare
  "$diogenes" run --driver simulated --output small/session --force -- "$counted" counts >out 2>err </dev/null
  [ "$(cat out)" = counted ] || bad 'a disk that is full from the beginning: the output is not the program'\''s'
  grep -Eq 'disk (is|was) full|No space left' err || bad 'a disk that is full from the beginning: nothing says so'
  umount small
else
  echo 'not tried: a full file system (this user cannot mount one)'
fi

finish
