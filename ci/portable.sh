#!/bin/sh
# portable.sh BUILT VERSION [tests]: packs BUILT/bin, lib and libexec with the shared libraries that they need into
# BUILT/portable/diogenes-VERSION-x86_64, and says the oldest glibc that runs it. Only glibc is left to the other machine.
# 'tests': into diogenes-VERSION-x86_64-tests, with what tests/gpu and tests/random/run_many.sh need there.
set -eu
built=$1
version=$2
source=$(cd "$(dirname "$0")/.." && pwd)
"$source/ci/install-packages.sh" portable
name=diogenes-$version-x86_64${3:+-$3}
top=$built/portable/$name
rm -rf "$top"
mkdir -p "$top/bin" "$top/lib" "$top/libexec" "$top/share/diogenes"

cp "$built/bin/diogenes" "$built/bin/bench-benefit" "$built/bin/bench-accuracy" "$top/bin/"
for part in lib/libdiogenes-agent.so lib/libdiogenes-gpu-times.so lib/libdiogenes-gpu-samples.so lib/libdiogenes-python.so lib/libdiogenes-values.so lib/libdiogenes-prove.so lib/simulated libexec bin/examples share; do
  if [ -e "$built/$part" ]; then cp -R "$built/$part" "$top/$(dirname "$part")/"; fi
done
cp "$source/LICENSE" "$source/README.md" "$source/docs/report-schema.json" "$source/sim/kernels.ptx" \
  "$top/share/diogenes/" 2>/dev/null || true

# For `diogenes explore` on a machine without descriptions of terminals.
for terminal in xterm-256color xterm vt100 tmux-256color screen linux; do
  letter=$(printf %.1s "$terminal")
  for folder in /lib/terminfo /usr/share/terminfo; do
    if [ -e "$folder/$letter/$terminal" ]; then
      mkdir -p "$top/share/terminfo/$letter"
      cp -L "$folder/$letter/$terminal" "$top/share/terminfo/$letter/"
    fi
  done
done

if [ "${3:-}" = tests ]; then
  mkdir -p "$top/bin/tests" "$top/tests" "$top/examples"
  cp -R "$built/bin/tests/verdicts" "$built/bin/tests/late-list" "$built/bin/tests/every-wait" "$built/bin/tests/programs" \
    "$top/bin/tests/"
  cp "$built/bin/bench-overhead" "$top/bin/"
  # Not built where Google Benchmark is missing.
  if [ -e "$built/bin/bench-overhead-parts" ]; then cp "$built/bin/bench-overhead-parts" "$top/bin/"; fi
  cp "$built/lib/libdiogenes-bench-cupti.so" "$top/lib/"
  cp -R "$source/tests/gpu" "$source/tests/random" "$top/tests/"
  cp -R "$source/examples/pytorch" "$top/examples/"
  strip --strip-debug "$top/bin/tests/verdicts" "$top/bin/tests/late-list" "$top/bin/tests/every-wait"
  find "$top/tests" "$top/examples" -type f ! -name '*.sh' ! -name '*.py' -delete
fi

# Debug information of the tool itself is most of its size; that of the examples is what the reports show.
find "$top/bin" "$top/libexec" "$top/lib" -maxdepth 1 -type f -exec strip --strip-debug {} +

is_elf() { [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }
elf_files() {
  find "$top" -type f | while IFS= read -r file; do
    if is_elf "$file"; then printf '%s\n' "$file"; fi
  done
}
needed_by() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'; }
from_glibc() {
  case $1 in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | libresolv.so.* | ld-linux* | libcuda.so.*) true ;;
    *) false ;;
  esac
}

# What the agent and the plug-ins need comes into every measured program: nothing but glibc and libgcc's unwinder may.
for preloaded in libdiogenes-agent.so libdiogenes-gpu-times.so libdiogenes-gpu-samples.so libdiogenes-python.so libdiogenes-values.so libdiogenes-prove.so; do
  for library in $(needed_by "$top/lib/$preloaded"); do
    if ! from_glibc "$library" && [ "$library" != libgcc_s.so.1 ]; then
      echo "$preloaded needs $library, which it must not" >&2
      exit 1
    fi
  done
done

# Copy needed libraries until nothing new is needed.
before=-1
count=0
while [ "$count" -ne "$before" ]; do
  before=$count
  elf_files | while IFS= read -r file; do
    ldd "$file" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p' | while read -r library path; do
      if from_glibc "$library"; then continue; fi
      if [ ! -e "$top/lib/$library" ]; then cp -L "$path" "$top/lib/$library"; fi
    done
  done
  count=$(find "$top/lib" -type f | wc -l)
done

elf_files | while IFS= read -r file; do
  folder=$(dirname "$file")
  up=$(echo "${folder#"$top"/}" | sed 's|[^/][^/]*|..|g')
  chmod u+w "$file"
  # The agent finds nothing by path: it is loaded into other people's programs.
  # The test programs are left as they were built: they stand for other people's, and need nothing from here.
  case $file in */bin/tests/programs/*) continue ;; esac
  case $file in */libdiogenes-agent.so | */libdiogenes-prove.so) patchelf --remove-rpath "$file" ;; *) patchelf --set-rpath "\$ORIGIN/$up/lib" "$file" ;; esac
done

missing=$(elf_files | while IFS= read -r file; do
  for library in $(needed_by "$file"); do
    if from_glibc "$library" || [ -e "$top/lib/$library" ]; then continue; fi
    echo "$file needs $library"
  done
done)
if [ -n "$missing" ]; then
  echo "$missing" >&2
  exit 1
fi

glibc=$(elf_files | while IFS= read -r file; do
  readelf -V "$file" 2>/dev/null | grep -o 'GLIBC_[0-9][0-9.]*'
done | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
tar -C "$built/portable" -czf "$built/portable/$name.tar.gz" "$name"
echo "$top"
echo "$built/portable/$name.tar.gz: $(du -h "$built/portable/$name.tar.gz" | cut -f 1)"
echo "needs glibc $glibc or newer (Debian 12: 2.36, Ubuntu 24.04: 2.39)"
