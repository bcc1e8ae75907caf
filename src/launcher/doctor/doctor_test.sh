#!/bin/sh
# What the doctor finds, on the simulated driver, and what a run says of GPU code that has to be compiled:
# doctor_test.sh DIOGENES PROGRAM. PROGRAM was compiled for an older GPU than the simulated one.
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
