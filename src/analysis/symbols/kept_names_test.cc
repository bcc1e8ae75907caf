#include "analysis/symbols/kept_names.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

ModuleRecord module_named(const char* path, uint8_t build_id) {
  ModuleRecord module{};
  strncpy(module.path, path, sizeof module.path - 1);
  module.build_id[0] = build_id;
  module.build_id_length = 1;
  return module;
}

const ModuleRecord kProgram = module_named("/app/solver", 7);

std::vector<ReportFrame> frames() {
  ReportFrame inlined{"f<int>(int)", "/app/f.h", 3, "/app/solver", 0x10, true};
  inlined.column = 9;
  inlined.language = "c++";
  return {inlined, {"main", "/app/main.cc", 12, "/app/solver", 0x10}};
}

TEST(KeptNames, AreThereTheNextTime) {
  testing::TemporaryFolder folder;
  const auto file = folder.path() / "names.json";
  KeptNames first(file);
  EXPECT_EQ(first.frames(kProgram, 0x10), nullptr);
  first.keep(kProgram, 0x10, frames());
  first.keep("/app/main.cc", 12, {10, {"a", "b \"quoted\"", "\xff"}});
  ASSERT_TRUE(first.save().ok());

  KeptNames second(file);
  const auto* found = second.frames(kProgram, 0x10);
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].function, "f<int>(int)");
  EXPECT_EQ((*found)[0].column, 9);
  EXPECT_EQ((*found)[0].language, "c++");
  EXPECT_TRUE((*found)[0].inlined);
  EXPECT_EQ((*found)[1].line, 12);
  ASSERT_NE(second.source("/app/main.cc", 12), nullptr);
  EXPECT_EQ(second.source("/app/main.cc", 12)->lines[1], "b \"quoted\"");
  EXPECT_EQ(second.source("/app/main.cc", 13), nullptr);
  // Another build of the same file, and another place, are not known.
  EXPECT_EQ(second.frames(module_named("/app/solver", 8), 0x10), nullptr);
  EXPECT_EQ(second.frames(kProgram, 0x11), nullptr);
}

TEST(KeptNames, WithoutANameNothingIsKept) {
  testing::TemporaryFolder folder;
  const auto file = folder.path() / "names.json";
  KeptNames names(file);
  names.keep(kProgram, 0x10, {{"", "", 0, "/app/solver", 0x10}});
  names.keep("/app/main.cc", 12, {});
  EXPECT_TRUE(names.save().ok());
  EXPECT_FALSE(std::filesystem::exists(file));
  KeptNames nowhere;
  nowhere.keep(kProgram, 0x10, frames());
  EXPECT_TRUE(nowhere.save().ok());
}

TEST(KeptNames, DamageIsAsIfTheyWereNotThere) {
  testing::TemporaryFolder folder;
  const auto file = folder.path() / "names.json";
  KeptNames first(file);
  first.keep(kProgram, 0x10, frames());
  ASSERT_TRUE(first.save().ok());
  std::string text;
  {
    std::ifstream in(file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t at = 0; at < text.size(); at += 7) {
    std::string damaged = text.substr(0, at);
    std::ofstream(file) << damaged;
    EXPECT_EQ(KeptNames(file).frames(kProgram, 0x10), nullptr) << at;
    damaged = text;
    damaged[at] = '7';
    std::ofstream(file) << damaged;
    KeptNames any(file);  // must not crash
  }
  EXPECT_FALSE([&] {
    KeptNames unwritable("/no/such/folder/names.json");
    unwritable.keep(kProgram, 0x10, frames());
    return unwritable.save().ok();
  }());
}

}  // namespace
}  // namespace diogenes
