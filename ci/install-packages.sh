#!/bin/sh
# Installs what is missing of the packages that ci/packages.txt names for the given uses: install-packages.sh build check
set -eu
list=$(dirname "$0")/packages.txt
wanted=$(for use in "$@"; do sed -n "s/^$use //p" "$list" | tr ' ' :; done)
missing=
for entry in $wanted; do
  package=${entry%%:*} command=
  case $entry in *:*) command=${entry#*:} ;; esac
  if [ -n "$command" ] && command -v "$command" >/dev/null 2>&1; then continue; fi
  if ! dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q ' installed$'; then
    missing="$missing $package"
  fi
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "These packages (Debian names) are missing, and there is no apt-get to install them:$missing" >&2
  exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "As root, run: apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  as_root=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing:$missing"
# shellcheck disable=SC2086 # one word a package
if ! { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing; } \
  >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "Installing failed; as root, run: apt-get update && apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
