#include "launcher/command_line/command_description.h"

#include <CLI/Formatter.hpp>
#include <algorithm>
#include <sstream>

namespace diogenes::launcher {
namespace {

OptionDescription description_of(const CLI::Option& option) {
  OptionDescription described;
  described.positional = !option.nonpositional();
  if (described.positional) {
    described.names = {option.get_name(true)};
    described.kind = ValueKind::session;  // all positionals are
    described.description = option.get_description();
    return described;
  }
  for (const auto& name : option.get_snames()) described.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) described.names.push_back("--" + name);
  described.description = option.get_description();
  if (option.get_items_expected_max() == 0) return described;
  described.value = option.get_type_name();
  std::istringstream parts(described.value);
  for (std::string word; std::getline(parts, word, '|');) described.words.push_back(word);
  const bool lower = std::none_of(described.value.begin(), described.value.end(),
                                  [](char c) { return c >= 'A' && c <= 'Z'; });
  described.kind = lower && described.words.size() > 1 ? ValueKind::word
                   : described.value == "DIR"          ? ValueKind::folder
                   : described.value == "FILE"         ? ValueKind::file
                   : described.value == "SESSION"      ? ValueKind::session
                                                       : ValueKind::other;
  return described;
}

CommandDescription description_of(const CLI::App& app) {
  CommandDescription described{
      .name = app.get_name(), .description = app.get_description(), .footer = app.get_footer()};
  if (auto* formatter = dynamic_cast<CLI::Formatter*>(app.get_formatter().get()))
    described.usage = formatter->make_usage(&app, "");
  if (described.usage.starts_with("Usage: ")) described.usage.erase(0, 7);
  while (described.usage.ends_with('\n')) described.usage.pop_back();
  described.takes_command = described.usage.find("-- COMMAND") != std::string::npos;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty())
      described.options.push_back(description_of(*option));  // without: hidden
  return described;
}

}  // namespace

std::vector<CommandDescription> command_descriptions(const CLI::App& app) {
  std::vector<CommandDescription> all = {description_of(app)};
  for (const CLI::App* command : app.get_subcommands(nullptr)) all.push_back(description_of(*command));
  return all;
}

}  // namespace diogenes::launcher
