#!/bin/sh
# The wheel of an archive, installed by pip into a new environment, used and removed, without network:
# wheel_test.sh ARCHIVE VERSION. Called by packages_test.sh, which makes the archive.
here=$(cd "$(dirname "$0")" && pwd)
archive=$1
version=$2
# shellcheck source=../in_folder.sh
. "$(dirname "$0")/../in_folder.sh"
clean() { env -i PATH=/usr/bin:/bin HOME="$work/home" NO_COLOR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 "$@"; }
stop() {
  bad "$1"
  finish
}

mkdir one two
wheel=$("$here/../../ci/wheel.py" "$archive" one 2>err) || stop 'no wheel is made'
"$here/../../ci/wheel.py" "$archive" two >out 2>err
cmp "$wheel" two/*.whl >out 2>err || bad 'made again, it is another'
"$here/wheel_content.py" "$wheel" "$version" >out || bad 'its content'

clean python3 -m venv new >out 2>err || stop 'python3 -m venv'
find new ! -type d | sort >before
clean new/bin/pip install --no-index --no-deps "$wheel" >out 2>err || stop 'pip install'
lib=$work/new/lib/diogenes

# Its parts are the wheel's own, but for glibc, and that is not newer than the tag says.
glibc=$(echo "$wheel" | sed 's/.*manylinux_2_\([0-9]*\)_.*/2.\1/')
"$here/glibc_test.sh" "$glibc" new/bin/diogenes "$lib/diogenes-discover" "$lib"/lib*.so* >out || bad "asks for more than glibc $glibc"
for file in new/bin/diogenes "$lib/diogenes-discover"; do
  clean ldd "$file" | grep '=>' | grep -vE '=> [^ ]*/lib/diogenes/|^[[:space:]]*(libc|libm|ld-linux-x86-64)\.so' >out
  [ ! -s out ] || bad "$file takes from the system"
done

for command in new/bin/diogenes 'new/bin/python -m diogenes'; do
  # shellcheck disable=SC2086 # three words
  clean $command --version >out 2>err || bad "$command --version"
  grep -qx "diogenes $version" out || bad "$command --version says something else"
done
# Python ignores SIGPIPE: a program that it starts must not.
clean new/bin/python -m diogenes run --driver simulated -- sed -n 's/SigIgn:\t//p' /proc/self/status >out 2>/dev/null
[ "$(cat out)" = "$(clean sed -n 's/SigIgn:\t//p' /proc/self/status)" ] || bad 'python -m diogenes: a program with other signals'

# A program of Python: its output, and a finding at its line.
cat >loop.py <<END
import sys
sys.path.insert(0, "$here/../e2e/programs/python")
sys.dont_write_bytecode = True
import gpu_work
def step():
    gpu_work.work()
    gpu_work.cuda.cuStreamSynchronize(None)
gpu_work.begin(sys.argv[1])
for _ in range(20):
    step()
print("worked")
END
kernels=new/share/diogenes/kernels.ptx
clean new/bin/diogenes doctor --driver simulated -- new/bin/python >out 2>err || bad 'diogenes doctor'
clean new/bin/diogenes run --driver simulated --output loop.diogenes -- new/bin/python loop.py $kernels >out 2>err || bad 'diogenes run'
[ "$(cat out)" = worked ] || bad "the program's output is not there"
grep -q 'cuStreamSynchronize: needless wait.* loop.py:7 in step' err || bad 'the report lacks the finding'
# Found anew, by the helper process: it can be executed.
grep -q '"agreed"' loop.diogenes/session.json || bad 'the wait function was not discovered'

clean new/bin/pip uninstall -y diogenes >out 2>err || bad 'pip uninstall'
find new ! -type d | sort | diff before - >out || bad 'pip uninstall leaves files'
find new -name '*diogenes*' >out
[ ! -s out ] || bad 'pip uninstall leaves folders'

# In a path with a space it runs, and says that nothing can be preloaded from there.
clean new/bin/pip install --no-index --no-deps --prefix 'a folder' "$wheel" >out 2>err || bad 'pip install --prefix'
clean 'a folder/bin/diogenes' --version >out 2>err || bad 'in a path with a space'
modules=$(find 'a folder' -name site-packages)
clean PYTHONPATH="$modules" new/bin/python -m diogenes run --driver simulated -- new/bin/python loop.py $kernels >out 2>err &&
  bad 'it measures in a path with a space'
grep -q "LD_PRELOAD cannot name .*/a folder/lib/" err || bad 'a path with a space is not named'
finish
