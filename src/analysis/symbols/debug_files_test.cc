#include "analysis/symbols/debug_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

bool has(const std::vector<fs::path>& places, const fs::path& place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

TEST(DebugFilePlacesTest, AreThoseOfLibdwfl) {
  EXPECT_EQ(debug_file_places("/opt/no-such-folder/bin/solver", "solver.debug"),
            (std::vector<fs::path>{"/opt/no-such-folder/bin/solver.debug",
                                   "/opt/no-such-folder/bin/.debug/solver.debug",
                                   "/usr/lib/debug/opt/no-such-folder/bin/solver.debug",
                                   "/usr/lib/debug/no-such-folder/bin/solver.debug",
                                   "/usr/lib/debug/bin/solver.debug", "/usr/lib/debug/solver.debug"}));
}

TEST(DebugFilePlacesTest, ALinkLeadsToMore) {
  const testing::TemporaryFolder folder;
  const fs::path real = fs::canonical(folder.path()) / "real";
  fs::create_directory(real);
  std::ofstream(real / "solver").flush();
  fs::create_symlink(real / "solver", folder.path() / "solver");
  const auto places = debug_file_places(folder.path() / "solver", "abc.debug");
  EXPECT_TRUE(has(places, folder.path() / ".debug/abc.debug"));
  EXPECT_TRUE(has(places, real / "abc.debug"));
}

}  // namespace
}  // namespace diogenes
