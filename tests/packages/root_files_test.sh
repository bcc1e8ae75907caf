#!/bin/sh
# Nothing lies in the root of the tree that does not belong there: root_files_test.sh ROOT
set -u
cd "$1" || exit 1
belongs='.ci .clang-format .clang-tidy .git .github .gitignore ARCHITECTURE.md CHANGELOG.md CMakeLists.txt CMakePresets.json
  CONTRIBUTING.md LICENSE README.md bench check ci cmake demo docs examples sim src tests'
ignored='build .ccache compile_commands.json' # made here, and in .gitignore
strays=
known=" $(echo "$belongs $ignored" | tr -s '\n ' '  ') "
for name in * .[!.]*; do
  case $known in *" $name "*) continue ;; esac
  case $name in *.diogenes) continue ;; esac
  strays="$strays $name"
done
if [ -n "$strays" ]; then
  echo "FAILED: in the root there is:$strays"
  echo "Put it into a folder, or name it in tests/packages/root_files_test.sh."
  exit 1
fi
for name in $belongs; do
  # A tree from a tarball has no .git.
  [ -e "$name" ] || [ "$name" = .git ] || { echo "FAILED: $name is named in the list, and is not there" && exit 1; }
done
