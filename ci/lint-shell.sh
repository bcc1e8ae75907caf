#!/bin/sh
# All shell scripts of the tree through shellcheck.
set -eu
cd "$(dirname "$0")/.."
find . \( -path ./build -o -path ./.git \) -prune -o -type f -size -200k -print | while IFS= read -r file; do
  case $(head -c 32 "$file" | tr -d '\000' | head -n 1) in
    '#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*) printf '%s\n' "$file" ;;
  esac
done | xargs -d '\n' shellcheck -x -P SCRIPTDIR
