#!/bin/sh
# The packages, made and used in a clean folder: packages_test.sh CMAKE CPACK BUILD FAULTY VERSION
here=$(cd "$(dirname "$0")" && pwd)
cmake=$1
cpack=$2
build=$3
faulty=$4
version=$5
# shellcheck source=../in_folder.sh
. "$(dirname "$0")/../in_folder.sh"

# What every installation has to do, wherever it lies.
works() { # works NAME TOP
  name=$1 top=$2
  for file in bin/diogenes lib/diogenes/libdiogenes-agent.so lib/diogenes/diogenes-discover lib/diogenes/simulated/libcuda.so.1 \
    share/man/man1/diogenes.1 share/bash-completion/completions/diogenes share/zsh/site-functions/_diogenes \
    share/fish/vendor_completions.d/diogenes.fish share/doc/diogenes/README.md share/doc/diogenes/copyright; do
    [ -s "$top/$file" ] || bad "$name: $file is missing"
  done
  clean() { env -i PATH=/usr/bin:/bin HOME="$work/home" "$@"; }
  clean "$top/bin/diogenes" --version | grep -qx "diogenes $version" || bad "$name: --version does not say $version"
  rm -rf home "$name.diogenes"
  clean "$top/bin/diogenes" run --driver simulated --output "$name.diogenes" -- "$faulty" >out 2>err || bad "$name: run: $(cat err)"
  [ "$(cat out)" = worked ] || bad "$name: the program's output is not there"
  grep -q 'cuCtxSynchronize' err || bad "$name: the report finds nothing: $(cat err)"
  # Found anew, by the helper process that lies beside the agent.
  grep -q '"agreed"' "$name.diogenes/session.json" || bad "$name: the wait function was not discovered"
  # None of it names a folder of the machine it was built on.
  find "$top" -type f | while IFS= read -r file; do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -vE '\[.ORIGIN[^:]*\]' && echo "$file"
  done >paths
  [ ! -s paths ] || bad "$name: paths of another machine: $(cat paths)"
}
stripped() { # stripped NAME TOP
  for file in bin/diogenes lib/diogenes/libdiogenes-agent.so lib/diogenes/diogenes-discover; do
    readelf -SW "$2/$file" | grep -q '\.debug_info' && bad "$1: $file is not stripped"
  done
}
has_debug_of() { # has_debug_of NAME FOLDER FILE: FOLDER holds FILE's debug information
  id=$(readelf -n "$3" | sed -n 's/.*Build ID: //p')
  rest=${id#??}
  readelf -SW "$2/.build-id/${id%"$rest"}/$rest.debug" 2>/dev/null | grep -q '\.debug_info' || bad "$1: no debug information of $3"
}

# cmake --install, and moved afterwards.
for component in runtime libraries; do
  "$cmake" --install "$build" --prefix "$work/first" --component $component >log 2>&1 || bad "cmake --install: $(tail -n 5 log)"
done
mv first moved
works installed "$work/moved"

"$cpack" --config "$build/CPackConfig.cmake" -B "$work/packages" >log 2>&1 || bad "cpack: $(tail -n 20 log)"
for name in diogenes_${version}_amd64.deb diogenes-dbgsym_${version}_amd64.deb diogenes-$version-x86_64.tar.gz \
  diogenes-$version-x86_64-debug.tar.gz; do
  if [ ! -s "packages/$name" ]; then
    bad "$name was not made"
    continue
  fi
  (cd packages && sha256sum -c "$name.sha256" >/dev/null) || bad "$name: its checksum is another"
done

# The .deb: its content, and what it says it needs.
dpkg-deb -x "packages/diogenes_${version}_amd64.deb" deb || bad 'the .deb cannot be unpacked'
works deb "$work/deb/usr"
stripped deb deb/usr
find deb/usr/lib -name 'libdw*' | grep -q . && bad 'the .deb holds libraries of other packages'
depends=$(dpkg-deb -f "packages/diogenes_${version}_amd64.deb" Depends)
for package in libc6 libdw1 libxxhash0; do
  echo "$depends" | grep -q "$package" || bad "the .deb does not depend on $package: $depends"
done
dpkg-deb -x "packages/diogenes-dbgsym_${version}_amd64.deb" dbgsym
has_debug_of deb dbgsym/usr/lib/debug deb/usr/bin/diogenes
has_debug_of deb dbgsym/usr/lib/debug deb/usr/lib/diogenes/libdiogenes-agent.so

# The .tar.gz: all but glibc comes with it.
mkdir tar
tar -C tar -xzf "packages/diogenes-$version-x86_64.tar.gz"
top=$work/tar/diogenes-$version-x86_64
works tar "$top"
stripped tar "$top"
for file in bin/diogenes lib/diogenes/diogenes-discover; do
  env -i ldd "$top/$file" | grep '=>' | grep -v "=> $top/" |
    grep -vE '^[[:space:]]*(libc|libm|libpthread|libdl|librt|ld-linux-x86-64)\.so' >outside
  [ ! -s outside ] || bad "tar: $file takes from the system: $(cat outside)"
done
"$here/glibc_test.sh" 2.35 "$top/bin/diogenes" "$top"/lib/diogenes/lib*.so* >glibc || bad "tar: $(grep FAILED glibc)"
tar -C tar -xzf "packages/diogenes-$version-x86_64-debug.tar.gz"
has_debug_of tar "$top/lib/debug" "$top/bin/diogenes"

# The wheel is made of the .tar.gz.
"$here/wheel_test.sh" "$work/packages/diogenes-$version-x86_64.tar.gz" "$version" >wheel || bad "the wheel: $(cat wheel)"

finish
