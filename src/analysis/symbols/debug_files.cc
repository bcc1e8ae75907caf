#include "analysis/symbols/debug_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/build_id.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDebugFolder = "/usr/lib/debug";

// Where there is a file to look at, libdwfl decides whether it is the right one. If it is not, libdwfl asks servers where this
// variable names some: it is left out then. The environment is the whole process's, so one thread does that at a time.
class NoNetwork {
 public:
  NoNetwork() : alone_(mutex()) {
    if (const char* value = getenv(kName)) {
      saved_ = value;
      had_ = true;
    }
    unsetenv(kName);
  }
  ~NoNetwork() {
    if (had_) setenv(kName, saved_.c_str(), 1);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static constexpr const char* kName = "DEBUGINFOD_URLS";
  std::lock_guard<std::mutex> alone_;
  std::string saved_;
  bool had_ = false;
};

fs::path place_by_build_id(Dwfl_Module* module) {
  const unsigned char* bits = nullptr;
  GElf_Addr address = 0;
  const int length = dwfl_module_build_id(module, &bits, &address);
  BuildId id;
  if (length < 2 || static_cast<size_t>(length) > id.bytes.size()) return {};
  id.length = static_cast<uint8_t>(length);
  std::copy_n(bits, length, id.bytes.begin());
  char text[41];
  to_hex(id, text);
  return fs::path(kDebugFolder) / ".build-id" / std::string(text, 2) / (std::string(text + 2) + ".debug");
}

bool is_there(const fs::path& place) { return !place.empty() && access(place.c_str(), F_OK) == 0; }

}  // namespace

std::vector<fs::path> debug_file_places(const fs::path& file, const std::string& name) {
  std::vector<fs::path> places;
  std::error_code failed;
  for (const fs::path& one : {file, fs::canonical(file, failed)}) {
    if (one.empty()) continue;
    const fs::path folder = one.parent_path();
    places.push_back(folder / name);
    places.push_back(folder / ".debug" / name);
    // Its folder there, and that with ever fewer of the outer ones.
    for (fs::path below = folder.relative_path();;) {
      places.push_back(fs::path(kDebugFolder) / below / name);
      if (below.empty()) break;
      fs::path inner;
      for (auto part = std::next(below.begin()); part != below.end(); ++part) inner /= *part;
      below = inner;
    }
  }
  return places;
}

int find_debug_file(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base, const char* file,
                    const char* debug_link, GElf_Word debug_link_crc, char** found) {
  const fs::path program = file ? file : "";
  const std::string link = debug_link ? debug_link : program.filename().string() + ".debug";
  // A part that several debug files share has no checksum, and may have a place or a build-id of its own.
  const bool shared = (debug_link && debug_link_crc == 0) || link.find('/') != std::string::npos;
  if (!shared && !is_there(place_by_build_id(module))) {
    const auto places = debug_file_places(program, link);
    if (std::none_of(places.begin(), places.end(), is_there)) return -1;
  }
  const NoNetwork no_network;
  return dwfl_standard_find_debuginfo(module, user, name, base, file, debug_link, debug_link_crc, found);
}

}  // namespace diogenes
