#!/bin/sh
# The one-way flow (ARCHITECTURE.md), checked by reading every #include "..." in src/ and sim/.
# Usage: include_rule.sh ROOT. Prints one line a violation; exit status 1 if there is any, 2 if ROOT holds no sources.
set -eu
root=$1
cd "$root"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
for folder in src sim; do
  [ -d "$folder" ] || continue
  find "$folder" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.S' -o -name '*.def' -o -name '*.inc' \)
done | sort >"$list"
[ -s "$list" ] || {
  echo "no sources in $root/src or $root/sim: is this the project's root?" >&2
  exit 2
}
while IFS= read -r file; do
  awk -v file="$file" '
    # Rooms in order: each may include itself and those before it.
    function layer(path) {
      sub(/^src\//, "", path)
      for (l = 4; l >= 1; l--)
        if (index(path, "agent/" layers[l] "/") == 1) return l
      return 0
    }
    function fail(what) { printf "%s:%d: %s\n", file, FNR, what; bad = 1 }
    BEGIN {
      # A folder may include itself and these.
      may["base"] = ""
      may["driver"] = "base"
      may["ffm"] = "driver base"
      may["trace"] = "ffm driver base"
      may["agent"] = "trace ffm driver base"
      may["gpu_times"] = "driver base"
      may["python"] = "trace ffm driver base"
      may["values"] = "trace ffm driver base"
      may["corrector"] = "trace ffm driver base"
      may["nvtx"] = "trace ffm driver base"
      may["analysis"] = "trace ffm driver base"
      may["views"] = "base"              # and of the analysis the report alone
      may["launcher"] = "views analysis trace ffm driver base"
      may["sim"] = "driver base"
      split("core watching hooks proving", layers, " ")
      parts = split(file, part, "/")
      mine = part[1] == "sim" ? "sim" : part[2]
      if (!(mine in may)) { fail("folder " mine " has no line in the rule: add it to tests/include_rule"); exit 1 }
      if (mine == "agent" && layer(file) == 0) {
        fail("the agent\047s files lie in " layers[1] ", " layers[2] ", " layers[3] " or " layers[4])
        exit 1
      }
      count = split(may[mine], names, " ")
      for (i = 1; i <= count; i++) allowed[names[i]] = 1
      allowed[mine] = 1
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      path = $0
      sub(/^[^"]*"/, "", path)
      sub(/".*/, "", path)
      if (path ~ /(^|\/)\.\.\//) { fail("\"" path "\": includes are written from src/"); next }
      if (path !~ /\//) next             # beside this file, or generated
      target = path
      sub(/\/.*/, "", target)
      if (mine == "agent" && target == "agent" && file !~ /_test\.cc$/ && file !~ /\/testing\// &&
          layer(path) > layer(file))
        fail(layers[layer(file)] " may not include " layers[layer(path)] ": \"" path "\"")
      if (target in allowed) next
      if (mine == "views" && path == "analysis/report/report.h") next
      if (!(target in may)) next         # a library, or a folder within this one
      fail(mine " may not include \"" path "\"")
    }
    # What must not get into the program that is measured: allocation and streams behind its back.
    mine == "agent" && file !~ /_test\.cc$/ && /^[ \t]*#[ \t]*include[ \t]*</ {
      path = $0
      sub(/^[^<]*</, "", path)
      sub(/>.*/, "", path)
      if (path ~ /^(iostream|fstream|sstream|regex|nlohmann\/.*|fmt\/.*|elfutils\/.*|CLI\/.*)$/)
        fail("the agent may not include <" path ">")
    }
    END { exit bad }
  ' "$file" || echo "$file" >>"$list.bad"
done <"$list"
if [ -e "$list.bad" ]; then
  count=$(wc -l <"$list.bad")
  rm -f "$list.bad"
  echo "the include rule is broken in $count file(s)" >&2
  exit 1
fi
echo "$(wc -l <"$list") files follow the include rule"
