// The command line as plain data, for what is made of it (documents.h).
#pragma once
#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace diogenes::launcher {

enum class ValueKind : uint8_t { none, word, folder, file, session, other };

struct OptionDescription {
  std::vector<std::string> names;  // "--output", "-o"; of a positional: its name alone
  std::string value, description;  // value: as in the help, "DIR"; empty: a flag
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  // ValueKind::word: the possible ones
  bool positional = false;
};

struct CommandDescription {
  std::string name, description, usage, footer;
  std::vector<OptionDescription> options;
  bool takes_command = false;  // `-- COMMAND [ARGS...]`
};

// The first is `diogenes` itself, with the options that come before a command.
std::vector<CommandDescription> command_descriptions(const CLI::App& app);

}  // namespace diogenes::launcher
