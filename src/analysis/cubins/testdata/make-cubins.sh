#!/bin/sh
# Compiles the .cu files of this folder to cubins: make-cubins.sh FOLDER. Only where the sources change: cubins are committed,
# and no test needs a compiler of CUDA's. They were made by nvcc 13.0, V13.0.88.
#
# Each is a copy of the part that the analysis reads, except linked_sm_100.cubin: that is as nvlink wrote it, with PTX text. PTX is
# compiled in a second step, so that the names of sources in it can be made relative: no folder of a machine gets into a cubin.
set -eu
to=$(cd "$1" && pwd)
cd "$(dirname "$0")"
cuda=${CUDA_HOME:-/usr/local/cuda}/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
c++ -std=c++20 -I ../../.. keep_part.cc -o "$work/keep_part"

compile() { # SOURCE ARCHITECTURE OUTPUT [OPTION OF nvcc, OPTION OF ptxas]
  # shellcheck disable=SC2086 # options that are left out
  "$cuda/nvcc" -ptx -lineinfo -arch="sm_$2" ${4-} "$1" -o "$work/with_folders.ptx"
  sed -E 's#^(\s*\.file\s+[0-9]+\s+")[^"]*/([^"/]*")#\1\2#' "$work/with_folders.ptx" >"$work/plain.ptx"
  # shellcheck disable=SC2086
  "$cuda/ptxas" -lineinfo -arch="sm_$2" ${5-} "$work/plain.ptx" -o "$3"
}
for architecture in 80 90 100; do
  compile subject.cu "$architecture" "$work/subject.cubin"
  "$work/keep_part" "$work/subject.cubin" "$to/subject_sm_$architecture.cubin"
  for source in linked linked_functions; do
    compile "$source.cu" "$architecture" "$work/$source.cubin" -rdc=true -c
  done
  "$cuda/nvlink" -arch="sm_$architecture" "$work/linked.cubin" "$work/linked_functions.cubin" -o "$work/all.cubin"
  if [ "$architecture" = 100 ]; then
    cp "$work/all.cubin" "$to/linked_sm_100.cubin"
  else
    "$work/keep_part" "$work/all.cubin" "$to/linked_sm_$architecture.cubin"
  fi
done
