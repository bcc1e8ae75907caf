// The file of `diogenes gate --allow FILE`: findings that a project has decided to live with. A line is a finding's
// `source_key`, and why it may stay; what follows a # is a comment.
#pragma once
#include <map>
#include <string>

#include "base/result.h"

namespace diogenes::launcher {

// Reasons by source key. Errors name the file and the line; a key without a reason is one.
Result<std::map<std::string, std::string>> read_allow_list(const std::string& file);

}  // namespace diogenes::launcher
