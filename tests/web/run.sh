#!/bin/sh
# run.sh SOURCES FOLDER TEST: a test of node's, with the packages that FOLDER/node_modules has.
set -eu
cp "$1"/*.mjs "$2"
cd "$2"
exec node --test --test-reporter=spec "$3"
