#!/bin/sh
# Debug information of an ELF file, where debuggers look for it: debug-file.sh FILE FOLDER READELF OBJCOPY
set -eu
file=$1 folder=$2 readelf=$3 objcopy=$4
id=$("$readelf" -n "$file" | sed -n 's/.*Build ID: //p')
if [ -z "$id" ]; then
  echo "$file has no build-id: link it with -Wl,--build-id" >&2
  exit 1
fi
rest=${id#??}
mkdir -p "$folder/.build-id/${id%"$rest"}"
"$objcopy" --only-keep-debug "$file" "$folder/.build-id/${id%"$rest"}/$rest.debug"
chmod 644 "$folder/.build-id/${id%"$rest"}/$rest.debug"
