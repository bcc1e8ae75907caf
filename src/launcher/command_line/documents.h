// What is made of the option definitions: the manual page and the completions of bash, zsh and fish. In: the command line as
// CLI11 knows it (main.cc), so that nothing is written down twice. Out: texts. Called by `diogenes --write-documents`
// when diogenes is built.
//
// An option's type name says what its value is: one of several words (`auto|off`), a folder (DIR), a file (FILE), a session
// (SESSION); anything else is not completed.
#pragma once
#include <CLI/App.hpp>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace diogenes::launcher {

std::string manual_page(const CLI::App& app, const std::string& version);
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

// Under `folder`: man/man1/diogenes.1, bash-completion/completions/diogenes, zsh/site-functions/_diogenes,
// fish/vendor_completions.d/diogenes.fish, as below /usr/share.
Status write_documents(const CLI::App& app, const std::string& version, const std::filesystem::path& folder);

}  // namespace diogenes::launcher
