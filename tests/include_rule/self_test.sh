#!/bin/sh
# include_rule.py must pass what the rule allows and name what it does not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failures=0

# try NAME EXPECTED FILE LINE: a tree with one file that holds LINE; EXPECTED: "" to pass, else a part of the output.
try() {
  rm -rf "$root/src" "$root/sim"
  mkdir -p "$root/$(dirname "$3")"
  printf '#pragma once\n%s\n' "$4" >"$root/$3"
  status=0
  output=$(python3 "$here/include_rule.py" "$root" 2>&1) || status=$?
  if [ -z "$2" ]; then
    [ "$status" -eq 0 ] && return
  else
    case $output in *"$2"*) [ "$status" -eq 1 ] && return ;; esac
  fi
  echo "$1: exit status $status, output: $output"
  failures=$((failures + 1))
}

try "down the flow" "" src/analysis/a.cc '#include "trace/format.h"'
try "skipping a step" "" src/analysis/a.cc '#include "base/units.h"'
try "the folder itself" "" src/agent/watching/guard/a.cc '#include "agent/watching/guard/guards.h"'
try "the report" "" src/views/a.cc '#include "analysis/report/report.h"'
try "system headers" "" src/base/a.h '#include <vector>'
try "the driver for the simulator" "" sim/a.cc '#include "driver/catalogue.h"'
try "words in a comment" "" src/base/a.h '// #include "agent/core/calls/call.h" would be wrong'
try "a stream outside the agent" "" src/launcher/a.cc '#include <iostream>'
try "a stream in a test of the agent" "" src/agent/core/a_test.cc '#include <fstream>'

try "up the flow" "trace may not include" src/trace/a.h '#include "analysis/report/report.h"'
try "into the agent" "launcher may not include" src/launcher/a.cc '#include "agent/core/calls/call.h"'
try "more than the report" "views may not include" src/views/a.cc '#include "analysis/symbols/symbols.h"'
try "the trace from a view" "views may not include" src/views/a.cc '#include "trace/format.h"'
try "base includes nothing" "base may not include" src/base/a.h '  #  include "driver/hooking/image.h"'
try "the simulator and the trace" "sim may not include" sim/b/a.cc '#include "trace/format.h"'
try "the tool and the simulator" "analysis may not include" src/analysis/a.cc '#include "sim/calls/state.h"'
try "backwards" "written from src/" src/trace/a.h '#include "../analysis/report.h"'
try "a stream in the agent" "agent may not include <iostream>" src/agent/core/a.cc '#include <iostream>'
try "from watching to core" "" src/agent/watching/guard/a.cc '#include "agent/core/recording/recorder.h"'
try "from hooks to watching" "" src/agent/hooks/interpose/a.cc '#include "agent/watching/order/order.h"'
try "a test of the core" "" src/agent/core/a_test.cc '#include "agent/watching/guard/guards.h"'
try "from core to watching" "core may not include watching" src/agent/core/recording/recorder.cc '#include "agent/watching/guard/guards.h"'
try "from watching to hooks" "watching may not include hooks" src/agent/watching/facts/a.cc '#include "agent/hooks/collector.h"'
try "from watching to what is in a folder of hooks" "may not include hooks" src/agent/watching/guard/a.h '#include "agent/hooks/x86_64/thunk.h"'
try "from proving to hooks" "" src/agent/proving/a.cc '#include "agent/hooks/collector.h"'
try "from hooks to proving" "hooks may not include proving" src/agent/hooks/a.cc '#include "agent/proving/deferring.h"'
try "from guards to order" "guard may not include order" src/agent/watching/guard/a.cc '#include "agent/watching/order/order.h"'
try "from guards to facts" "guard may not include facts" src/agent/watching/guard/faults/a.cc '#include "agent/watching/facts/fact_collector.h"'
try "from watching itself to order" "" src/agent/watching/a.cc '#include "agent/watching/order/order.h"'
try "outside the rooms" "files of agent lie in core, watching, hooks or proving" src/agent/a.cc '#include <errno.h>'
try "an unknown folder" "no line in the rule" src/new/a.cc '#include <vector>'
try "a line number" "src/trace/a.h:2:" src/trace/a.h '#include "views/text/text.h"'

try "down the rooms of the analysis" "" src/analysis/necessity/judge/a.cc '#include "analysis/runs/run.h"'
try "a file of the folder itself" "" src/analysis/a.cc '#include "analysis/report/notices.h"'
try "the report from any room" "" src/analysis/symbols/a.h '#include "analysis/report/report.h"'
try "up the rooms of the analysis" "runs may not include necessity" src/analysis/runs/a.cc '#include "analysis/necessity/judge/judge.h"'
try "a room and the folder itself" "report may not include ." src/analysis/report/a.cc '#include "analysis/analyse.h"'
try "a new room" "files of analysis lie in" src/analysis/new/a.cc '#include <vector>'

# circle NAME EXPECTED FILE TARGET...: as try, with files that each include one.
circle() {
  rm -rf "$root/src" "$root/sim"
  name=$1 expected=$2
  shift 2
  while [ $# -gt 0 ]; do
    mkdir -p "$root/$(dirname "$1")"
    printf '#include "%s"\n' "$2" >"$root/$1"
    shift 2
  done
  status=0
  output=$(python3 "$here/include_rule.py" "$root" 2>&1) || status=$?
  case $status$output in
    1*"a circle of files: $expected"*) [ -n "$expected" ] && return ;;
    0*) [ -z "$expected" ] && return ;;
  esac
  echo "$name: exit status $status, output: $output"
  failures=$((failures + 1))
}

circle "a source and its header" "" src/base/a.cc base/a.h src/base/a.h base/b.h src/base/b.h c.h
circle "two headers" "src/base/a -> src/base/b -> src/base/a" src/base/a.h base/b.h src/base/b.h base/a.h
circle "by way of a source" "src/trace/a -> src/trace/b -> src/trace/a" \
  src/trace/a.h base/c.h src/base/c.h base/d.h src/trace/a.cc trace/b.h src/trace/b.h trace/a.h
circle "three, in the simulator, beside each other" "sim/x/a -> sim/x/b -> sim/y/c -> sim/x/a" \
  sim/x/a.h b.h sim/x/b.cc y/c.h sim/x/b.h d.h sim/y/c.h x/a.h

rm -rf "$root/src" "$root/sim"
if python3 "$here/include_rule.py" "$root" >/dev/null 2>&1; then
  echo "an empty tree passes"
  failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] || exit 1
echo "all cases as expected"
