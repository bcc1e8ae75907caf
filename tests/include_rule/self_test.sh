#!/bin/sh
# include_rule.sh must pass what the rule allows and name what it does not.
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
  output=$(sh "$here/include_rule.sh" "$root" 2>&1) || status=$?
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
try "outside the rooms" "files lie in core, watching, hooks or proving" src/agent/a.cc '#include <errno.h>'
try "an unknown folder" "no line in the rule" src/new/a.cc '#include <vector>'
try "a line number" "src/trace/a.h:2:" src/trace/a.h '#include "views/text/text.h"'

rm -rf "$root/src" "$root/sim"
if sh "$here/include_rule.sh" "$root" >/dev/null 2>&1; then
  echo "an empty tree passes"
  failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] || exit 1
echo "all cases as expected"
