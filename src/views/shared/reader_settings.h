// What a view knows of its reader, beside the report.
#pragma once
#include <string>

namespace diogenes {

struct Reader {
  std::string folder;   // paths are shown relative to it; "": as they are
  std::string session;  // as its user would type it; "": the newest
};

}  // namespace diogenes
