// One whole text to stdout or to a file.
#pragma once
#include <string>

#include "base/result.h"

namespace diogenes::launcher {

// `file` "-": stdout, where a reader that has gone is no error (`| head`). An existing file is overwritten
// only with `force`, and then as a whole or not at all.
Status write_output(const std::string& file, const std::string& text, bool force);

}  // namespace diogenes::launcher
