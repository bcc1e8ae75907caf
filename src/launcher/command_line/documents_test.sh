#!/bin/sh
# The manual page and the completions, as they were made from the options: documents_test.sh DIOGENES
# Shells that are not there are not asked.
# shellcheck disable=SC2016 # what is run in other shells is expanded there
diogenes=$1
# shellcheck source=../../../tests/in_folder.sh
. "$(dirname "$0")/../../../tests/in_folder.sh"
"$diogenes" --write-documents share || bad 'nothing is written'
"$diogenes" --write-documents /proc/nowhere 2>err
[ $? -eq 125 ] || bad 'what cannot be written is no failure'
grep -q '^diogenes: cannot write' err || bad 'it is not said what cannot be written'
"$diogenes" --help | grep -q write-documents && bad '--help has what is for the build alone'

# Every command and every option of --help is in each of them.
page=share/man/man1/diogenes.1
bash_file=share/bash-completion/completions/diogenes
zsh_file=share/zsh/site-functions/_diogenes
fish_file=share/fish/vendor_completions.d/diogenes.fish
commands=$("$diogenes" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 7 ] || bad "these are not all commands: $commands"
for command in $commands; do
  grep -q "^\.SS $command\$" $page || bad "the manual page has no $command"
  options=$("$diogenes" "$command" --help | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n')
  [ -n "$options" ] || bad "$command has no options"
  for option in $options; do
    escaped=$(echo "$option" | sed 's/-/\\\\-/g')
    sed -n "/^\.SS $command\$/,/^\.SS /p" $page | grep -q -- "$escaped" || bad "the manual page: $command $option"
    grep -q -- "^ *$command) .*'.*$option" $bash_file || bad "bash: $command $option"
    sed -n "/^    $command)\$/,/;;/p" $zsh_file | grep -q -- "'\*$option\[" || bad "zsh: $command $option"
    case $option in --*) name="-l ${option#--}" ;; *) name="-s ${option#-}" ;; esac
    grep -q -- "_from $command'.* $name " $fish_file || bad "fish: $command $option"
  done
done
if command -v groff >/dev/null; then
  [ -z "$(groff -man -ww -z $page 2>&1)" ] || bad "the manual page: $(groff -man -ww -z $page 2>&1 | head -n 3)"
fi

# What is offered.
mkdir one.diogenes two.diogenes other
offers() { # offers SHELL WANTED WORDS...: in that shell, after these words
  shell=$1 wanted=$2
  shift 2
  case $shell in
    bash)
      got=$(bash --norc -c '. ./'$bash_file'
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        compopt() { :; }
        _diogenes
        echo "${COMPREPLY[*]}"' bash "$@")
      ;;
    fish) got=$(fish -N -c "source ./$fish_file; complete -C '$*'" | cut -f 1 | tr -d / | tr '\n' ' ') ;;
  esac
  got=$(echo "$got" | tr ' ' '\n' | sed '/^$/d' | sort -u | tr '\n' ' ')
  [ "$got" = "$wanted " ] || bad "$shell: after '$*' it offers '$got'"
}
for shell in bash fish; do
  command -v "$shell" >/dev/null || continue
  offers "$shell" 'report run' diogenes r
  offers "$shell" '--driver' diogenes run --dr
  offers "$shell" 'simulated system' diogenes run --driver ''
  offers "$shell" 'markdown' diogenes export --format ma
  offers "$shell" 'one.diogenes two.diogenes' diogenes report ''
  offers "$shell" 'one.diogenes two.diogenes' diogenes run --resume ''
done
# After -- the program's own words come.
if command -v bash >/dev/null; then offers bash 'one.diogenes other' diogenes run -- cat o; fi
if command -v fish >/dev/null; then offers fish 'other' diogenes run -- cat ot; fi
if command -v zsh >/dev/null; then zsh -n $zsh_file || bad 'zsh: syntax'; fi

case $("$diogenes" --version) in
  "diogenes "[0-9]*"
commit: "*"
compiler: "*"
trace format: "[0-9]*) ;;
  *) bad "--version says: $("$diogenes" --version)" ;;
esac
finish
