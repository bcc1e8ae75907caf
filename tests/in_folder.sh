# For tests in shell, by `.`: from here on the test is in a folder of its own. `bad WHAT` says what is wrong, with what the last
# command printed into `out` and `err`; `finish` ends the test.
# shellcheck shell=sh
set -u
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME="$work/cache" NO_COLOR=1
failures=0

bad() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  for stream in out err; do
    [ ! -s "$stream" ] || sed "s/^/  $stream: /" "$stream" | head -n 40
  done
}
finish() {
  [ "$failures" -eq 0 ] && echo 'all as it should be'
  exit "$((failures > 0))"
}
