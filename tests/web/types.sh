#!/bin/sh
# types.sh SOURCES FOLDER: the page's script as the TypeScript compiler sees it, with FOLDER/node_modules.
set -eu
cat >"$2/tsconfig.json" <<END
{
  "extends": "$1/tsconfig.json",
  "compilerOptions": {"baseUrl": "$2/node_modules/@types", "paths": {"d3-*": ["d3-*"]}, "typeRoots": []},
  "include": ["$1/*.ts"]
}
END
exec node "$2/node_modules/typescript/bin/tsc" -p "$2/tsconfig.json"
