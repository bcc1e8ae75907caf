#!/bin/sh
# samples.sh WEB_SAMPLES SYNTHETIC_SESSION FOLDER: what the tests of the page look at, one page of a million operations.
set -eu
rm -rf "$3"
mkdir -p "$3"
session=$(mktemp -d)
trap 'rm -rf "$session"' EXIT
"$2" --operations 1000000 --output "$session/million.diogenes"
"$1" "$3" "$session/million.diogenes"
