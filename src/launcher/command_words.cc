#include "launcher/command_words.h"

#include <CLI/Formatter.hpp>
#include <algorithm>
#include <sstream>

namespace diogenes::launcher {
namespace {

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  words.positional = !option.nonpositional();
  if (words.positional) {
    words.names = {option.get_name(true)};
    words.kind = ValueKind::session;  // all positionals are
    words.description = option.get_description();
    return words;
  }
  for (const auto& name : option.get_snames()) words.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) words.names.push_back("--" + name);
  words.description = option.get_description();
  if (option.get_items_expected_max() == 0) return words;
  words.value = option.get_type_name();
  std::istringstream parts(words.value);
  for (std::string word; std::getline(parts, word, '|');) words.words.push_back(word);
  const bool lower =
      std::none_of(words.value.begin(), words.value.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  words.kind = lower && words.words.size() > 1 ? ValueKind::word
               : words.value == "DIR"          ? ValueKind::folder
               : words.value == "FILE"         ? ValueKind::file
               : words.value == "SESSION"      ? ValueKind::session
                                               : ValueKind::other;
  return words;
}

CommandWords words_of(const CLI::App& app) {
  CommandWords words{
      .name = app.get_name(), .description = app.get_description(), .footer = app.get_footer()};
  if (auto* formatter = dynamic_cast<CLI::Formatter*>(app.get_formatter().get()))
    words.usage = formatter->make_usage(&app, "");
  if (words.usage.starts_with("Usage: ")) words.usage.erase(0, 7);
  while (words.usage.ends_with('\n')) words.usage.pop_back();
  words.takes_command = words.usage.find("-- COMMAND") != std::string::npos;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) words.options.push_back(words_of(*option));  // without: hidden
  return words;
}

}  // namespace

std::vector<CommandWords> command_words(const CLI::App& app) {
  std::vector<CommandWords> all = {words_of(app)};
  for (const CLI::App* command : app.get_subcommands(nullptr)) all.push_back(words_of(*command));
  return all;
}

}  // namespace diogenes::launcher
