#!/bin/sh
# What the doctor finds, on the simulated driver, and what a run says of GPU code that has to be compiled:
# doctor_test.sh DIOGENES PROGRAM. PROGRAM was compiled for an older GPU than the simulated one.
# shellcheck disable=SC2016
diogenes=$1
program=$2
# shellcheck source=../../../tests/in_folder.sh
. "$(dirname "$0")/../../../tests/in_folder.sh"
doctor() { # doctor STATUS [-- COMMAND...]
  wanted=$1
  shift
  "$diogenes" doctor --driver simulated "$@" >out 2>&1 </dev/null
  status=$?
  [ "$status" -eq "$wanted" ] || bad "exit status $status, not $wanted: doctor $*"
}
says() { grep -Eq -- "$1" out || bad "no line like '$1'"; }

doctor 0
says '^ok +wait function +\+0x[0-9a-f]+, agreed on by'
says '^ok +GPU +.*compute capability 9\.0'
says '^ok +container +'
says '^Ready: diogenes run --driver simulated -- '

# The program.
doctor 1 -- no-such-program
says '^PROBLEM +program +no-such-program: not found'
says "^1 problem in the way"
doctor 0 -- "$program"
says '^note +GPU code +.*has only PTX for this GPU in 1 of 1 source files \(built for sm_70, compute_70\)'
says 'code=sm_90 \(CMake: CMAKE_CUDA_ARCHITECTURES=90\)'
says '^ok +lines +'
cp "$program" stripped && strip -g stripped && doctor 0 -- ./stripped
says '^note +lines +the program has no line information'
strip -s stripped && doctor 0 -- ./stripped
says '^note +lines +the program has no symbols'
doctor 0 -- env A=B "$program" none
says '^ok +program +.*/older_gpu$'
doctor 0 -- /bin/ls
says '^ok +GPU code +none in the program'

# Scripts are run by their interpreters.
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
  printf '#!%s -u\nprint(1)\n' "$python" >script && chmod +x script
  for command in "$python" ./script; do
    doctor 0 -- "$command"
    says '^ok +Python +3\.[0-9.]+: stacks show'
  done
fi

# Scripts that become another program: that one is looked at. Where it cannot be told which one, nothing else is.
script() { # script LINE...: of the shell
  { printf '#!/bin/sh\n' && printf '%s\n' "$@"; } >wrapper && chmod +x wrapper
}
unclear() { # unclear PATTERN -- COMMAND...
  pattern=$1
  shift
  doctor 0 "$@"
  says "^note +program +$pattern; name the program itself: diogenes doctor -- PROGRAM\$"
  grep -Eq '^(ok|note) +(lines|Python|GPU code)' out && bad "something is said of a program that is not known: $*"
}
script 'exec 2>log' "exec '$program' \"\$@\""
for command in ./wrapper 'sh -e ./wrapper' 'env A=B ./wrapper'; do
  # shellcheck disable=SC2086
  doctor 0 -- $command
  says '^ok +program +.*/older_gpu, which \./wrapper starts$'
  says '^note +GPU code '
done
script 'exec "$PROGRAM"' && unclear '\./wrapper is a shell script, and it cannot be told what it starts' -- ./wrapper
script 'ls' && unclear '.*cannot be told what it starts' -- ./wrapper
script 'if true; then' 'exec ls' 'fi' 'exec cat' && unclear '.*cannot be told what it starts' -- ./wrapper
script '. venv/bin/activate' 'exec ls' && unclear '.*cannot be told what it starts' -- ./wrapper
script 'exec ./wrapper' && unclear 'too many scripts start each other' -- ./wrapper
unclear 'sh runs commands, which doctor does not follow' -- sh -c ls
printf '#!/usr/bin/perl\n' >wrapper && unclear '\./wrapper is a script of perl' -- ./wrapper
mkdir tools && cp wrapper tools/conda
usual_path=$PATH
PATH="$PWD/tools:$usual_path"
unclear 'conda starts a program in an environment of its own: activate that first' -- conda run ls
if [ -n "$python" ]; then
  mkdir shims && printf '#!/bin/sh\nexec "$REAL" "$@"\n' >shims/python3 && chmod +x shims/python3
  export REAL="$python"
  PATH="$PWD/shims:$usual_path"
  doctor 0 -- python3 train.py
  says '^ok +program +/.*, which .*/shims/python3 starts$'
  says '^ok +Python +3\.[0-9.]+: stacks show'
  REAL=/bin/true
  unclear 'shims/python3 is a script, and it did not say which interpreter it starts' -- shims/python3
fi
PATH=$usual_path

# The simulated driver serves programs of the driver API; nvcc leaves this section in others.
echo code >segment && objcopy --add-section .nvFatBinSegment=segment "$program" runtime && doctor 1 -- ./runtime
says '^PROBLEM +program +\./runtime uses the CUDA runtime, and the simulated driver serves the CUDA driver API, not'
"$diogenes" run --driver simulated -- ./runtime status >/dev/null 2>out </dev/null
[ $? -eq 41 ] || bad 'a program of the runtime: not its own exit status'
says '^diogenes: nothing to measure in \./runtime: it uses the CUDA runtime, .*; measure it on a machine with a GPU'
[ "$(wc -l <out)" -eq 1 ] || bad 'a program of the runtime: not one line'
[ -z "$(find . -name 'runtime*.diogenes')" ] || bad 'a session of nothing was left'

cp "$program" python3 && doctor 0 -- ./python3
says '^note +Python +its version cannot be told'

# Other tools are named.
LD_PRELOAD=/nonexistent/libToolsInjection64.so doctor 0
says '^note +other tools +LD_PRELOAD=.*\(Nsight Systems\) is kept; it holds CUPTI'
CUDA_INJECTION64_PATH=/nonexistent/mine.so doctor 0
says '^note +other tools +CUDA_INJECTION64_PATH=/nonexistent/mine.so is kept; if a stage fails'
container=oci doctor 0
says '^ok +container +oci; '

# A run says it, too: the file that was built for others, and the PTX that is loaded.
"$diogenes" run --driver simulated --output older.diogenes -- "$program" >/dev/null 2>out </dev/null || bad 'the run failed'
"$diogenes" report older.diogenes --details all >out 2>&1 </dev/null
tr -s ' \n' ' ' <out >flat && mv flat out
says 'older_gpu has only PTX for this GPU in 1 source file of 1 \(built for sm_70, compute_70\)'
says 'CMAKE_CUDA_ARCHITECTURES=90'
# The session keeps it, whatever becomes of the file.
"$diogenes" export older.diogenes --format json >out 2>/dev/null </dev/null
says '"code": "jit"'

finish
