// The commands and their options, as CLI11 has them. In: the program's own command line. Out: each command's options, set while
// they are parsed; they outlive the parser.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "launcher/options.h"

namespace diogenes::launcher {

// Commands that run a program (running_commands.cc).
void add_run(CLI::App& app, RunOptions& options);
void add_profile(CLI::App& app, RunOptions& options);
void add_prove(CLI::App& app, ProveOptions& options);
void add_doctor(CLI::App& app, DoctorOptions& options);

// Commands that show a session (session_commands.cc).
void add_report(CLI::App& app, ReportOptions& options);
void add_start(CLI::App& app, StartOptions& options);
void add_stop(CLI::App& app, StartOptions& options);
void add_explore(CLI::App& app, ExploreOptions& options);
void add_export(CLI::App& app, ExportOptions& options);
void add_diff(CLI::App& app, DiffOptions& options);
void add_gate(CLI::App& app, GateOptions& options);

// What several of them have (shared_options.cc).
std::shared_ptr<CLI::Formatter> with_usage(
    std::string usage);  // CLI11's own usage line cannot say `-- COMMAND`
void add_model(CLI::App* command, std::string& model);
// Both are given as full paths to what comes after.
void add_owners(CLI::App* command, std::vector<std::string>& own, std::vector<std::string>& library);

}  // namespace diogenes::launcher
