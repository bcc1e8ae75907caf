#include "launcher/command_line/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "launcher/command_line/command_description.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// --- the manual page

std::string roff(const std::string& text) {
  std::string result = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string roff_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += roff(line) + "\n";
  return result;
}

std::string roff_options(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names)
      names.push_back(fmt::format("{}{}\\fR", option.positional ? "\\fI" : "\\fB", roff(name)));
    text += fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "),
                        option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR",
                        roff(option.description));
  }
  return text;
}

// --- completions

constexpr const char* kSessions = "*.diogenes";

std::string all_names(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options)
    if (!option.positional)
      for (const std::string& name : option.names) text += (text.empty() ? "" : " ") + name;
  return text;
}

bool takes_sessions(const CommandDescription& command) {
  for (const OptionDescription& option : command.options)
    if (option.positional) return true;
  return false;
}

std::string bash_values(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    std::string action;
    switch (option.kind) {
      case ValueKind::word:
        action = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", fmt::join(option.words, " "));
        break;
      case ValueKind::folder:
        action = "_diogenes_files -d";
        break;
      case ValueKind::file:
        action = "_diogenes_files -f";
        break;
      case ValueKind::session:
        action = "_diogenes_sessions";
        break;
      case ValueKind::other:
        action = "COMPREPLY=()";
        break;
      case ValueKind::none:
        break;
    }
    if (option.positional || action.empty()) continue;
    for (const std::string& name : option.names)
      text += fmt::format("    {}:{}) {}; return ;;\n", command.name, name, action);
  }
  return text;
}

std::string zsh_text(const std::string& text) {
  std::string result = text;
  for (const char* special : {"\\", "[", "]", ":"})
    result = replaced(result, special, std::string("\\") + special);
  return replaced(result, "'", "'\\''");
}

std::string zsh_value(const OptionDescription& option) {
  switch (option.kind) {
    case ValueKind::none:
      return "";
    case ValueKind::word:
      return fmt::format(":value:({})", fmt::join(option.words, " "));
    case ValueKind::folder:
      return ":folder:_files -/";
    case ValueKind::file:
      return ":file:_files";
    case ValueKind::session:
      return fmt::format(":session:_files -/ -g \"{}\"", kSessions);
    case ValueKind::other:
      return fmt::format(":{}: ", zsh_text(option.value));
  }
  return "";
}

std::string fish_text(const std::string& text) { return replaced(replaced(text, "\\", "\\\\"), "'", "\\'"); }

std::string fish_line(const OptionDescription& option, const std::string& condition) {
  std::string text = fmt::format("complete -c diogenes -n '{}'", condition);
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  switch (option.kind) {
    case ValueKind::none:
      break;
    case ValueKind::word:
      text += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
      break;
    case ValueKind::folder:
      text += " -x -a '(__fish_complete_directories)'";
      break;
    case ValueKind::file:
      text += " -r -F";
      break;
    case ValueKind::session:
      text += " -x -a '(__diogenes_sessions)'";
      break;
    case ValueKind::other:
      text += " -x";
      break;
  }
  if (option.positional)
    text = fmt::format("complete -c diogenes -n '{}' -x -a '(__diogenes_sessions)'", condition);
  return text + fmt::format(" -d '{}'\n", fish_text(option.description));
}

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  const std::vector<CommandDescription> commands = command_descriptions(app);
  std::string text = fmt::format(
      ".TH DIOGENES 1 \"\" \"diogenes {}\" \"User Commands\"\n.SH NAME\ndiogenes \\- finds needless synchronizations and "
      "transfers of CUDA programs\n.SH SYNOPSIS\n",
      roff(version));
  for (size_t i = 1; i < commands.size(); ++i) text += fmt::format(".B {}\n.br\n", roff(commands[i].usage));
  text +=
      fmt::format(".SH DESCRIPTION\n{}\n.PP\n.nf\n{}.fi\n.SH OPTIONS\n{}.SH COMMANDS\n",
                  roff(commands[0].description), roff_lines(commands[0].footer), roff_options(commands[0]));
  for (size_t i = 1; i < commands.size(); ++i) {
    const CommandDescription& command = commands[i];
    text += fmt::format(".SS {}\n{}\n.PP\n.B {}\n{}.PP\n.nf\n{}.fi\n", roff(command.name),
                        roff(command.description), roff(command.usage), roff_options(command),
                        roff_lines(command.footer));
  }
  return text;
}

std::string bash_completion(const CLI::App& app) {
  const std::vector<CommandDescription> commands = command_descriptions(app);
  std::string names, options, values, sessions, programs;
  for (const CommandDescription& command : commands) {
    if (&command != &commands.front()) names += (names.empty() ? "" : " ") + command.name;
    options += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$current\")) ;;\n", command.name,
                           all_names(command));
    values += bash_values(command);
    if (takes_sessions(command)) sessions += (sessions.empty() ? "" : "|") + command.name;
    if (command.takes_command) programs += (programs.empty() ? "" : "|") + command.name;
  }
  return fmt::format(
      R"(# Completion of diogenes in bash. Made from its options when it was built.
_diogenes_files() {{
  local name
  compopt -o filenames
  COMPREPLY=()
  while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$1" -- "$current")
}}
_diogenes_sessions() {{
  local name
  _diogenes_files -d
  local folders=("${{COMPREPLY[@]}}")
  COMPREPLY=()
  for name in "${{folders[@]}}"; do [[ $name == {sessions_glob} ]] && COMPREPLY+=("$name"); done
  ((${{#COMPREPLY[@]}})) || COMPREPLY=("${{folders[@]}}")
}}
_diogenes() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command=diogenes i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      --)
        if ((i + 1 == COMP_CWORD)); then
          compopt -o filenames
          COMPREPLY=($(compgen -c -f -- "$current"))
        else
          _diogenes_files -f
        fi
        return
        ;;
      -*) ;;
      *) [[ $command == diogenes ]] && command=${{COMP_WORDS[i]}} ;;
    esac
  done
  case $command:$previous in
{values}  esac
  if [[ $current == -* ]]; then
    case $command in
{options}    esac
    return
  fi
  case $command in
    diogenes) COMPREPLY=($(compgen -W '{names}' -- "$current")) ;;
    {sessions}) _diogenes_sessions ;;
    {programs}) COMPREPLY=($(compgen -W '--' -- "$current")) ;;
  esac
}}
complete -F _diogenes diogenes
)",
      fmt::arg("sessions_glob", kSessions), fmt::arg("values", values), fmt::arg("options", options),
      fmt::arg("names", names), fmt::arg("sessions", sessions), fmt::arg("programs", programs));
}

std::string zsh_completion(const CLI::App& app) {
  const std::vector<CommandDescription> commands = command_descriptions(app);
  std::string names, cases;
  for (const CommandDescription& command : commands) {
    if (&command == &commands.front()) continue;
    names += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.description));
    cases += fmt::format("    {})\n      _arguments -s \\\n", command.name);
    for (const OptionDescription& option : command.options) {
      if (option.positional) {
        cases += fmt::format("        ':{}' \\\n", zsh_value(option));
        continue;
      }
      for (const std::string& name : option.names)
        cases +=
            fmt::format("        '*{}[{}]{}' \\\n", name, zsh_text(option.description), zsh_value(option));
    }
    cases +=
        command.takes_command ? "        '*:::program:_normal'\n      ;;\n" : "        && return\n      ;;\n";
  }
  std::string top;
  for (const OptionDescription& option : commands.front().options)
    for (const std::string& name : option.names)
      top += fmt::format("  '{}[{}]' \\\n", name, zsh_text(option.description));
  return fmt::format(
      R"(#compdef diogenes
# Completion of diogenes in zsh. Made from its options when it was built.
local context state line
typeset -A opt_args
_arguments -C \
{top}  '1:command:->commands' \
  '*::argument:->arguments' && return
case $state in
  commands)
    local -a commands=(
{names}    )
    _describe command commands
    ;;
  arguments)
    case $words[1] in
{cases}    esac
    ;;
esac
)",
      fmt::arg("top", top), fmt::arg("names", names), fmt::arg("cases", cases));
}

std::string fish_completion(const CLI::App& app) {
  const std::vector<CommandDescription> commands = command_descriptions(app);
  std::string text =
      "# Completion of diogenes in fish. Made from its options when it was built.\n"
      "function __diogenes_sessions\n"
      "    __fish_complete_directories (commandline -ct) Session | string match -e .diogenes/\n"
      "end\n"
      "function __diogenes_program\n"
      "    set -l words (commandline -opc) (commandline -ct)\n"
      "    set -l at (contains -i -- -- $words)\n"
      "    set -l program $words[(math $at + 1)..-1]\n"
      "    complete -C \"$program\"\n"
      "end\n"
      "complete -c diogenes -f\n";
  for (const CommandDescription& command : commands) {
    const bool top = &command == &commands.front();
    const std::string condition =
        top ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command.name;
    if (!top)
      text += fmt::format("complete -c diogenes -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          fish_text(command.description));
    for (const OptionDescription& option : command.options) text += fish_line(option, condition);
    if (command.takes_command)
      text += fmt::format(
          "complete -c diogenes -n '{}; and contains -- -- (commandline -opc)' -x -a '(__diogenes_program)'\n",
          condition);
  }
  return text;
}

Status write_documents(const CLI::App& app, const std::string& version, const fs::path& folder) {
  const std::vector<std::pair<const char*, std::string>> documents = {
      {"man/man1/diogenes.1", manual_page(app, version)},
      {"bash-completion/completions/diogenes", bash_completion(app)},
      {"zsh/site-functions/_diogenes", zsh_completion(app)},
      {"fish/vendor_completions.d/diogenes.fish", fish_completion(app)}};
  for (const auto& [name, text] : documents) {
    const fs::path path = folder / name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush()) return error("cannot write %s: %s", path.c_str(), strerror(errno));
  }
  return Done{};
}

}  // namespace diogenes::launcher
