#include "nvtx/names.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

namespace diogenes::nvtx {
namespace {

template <typename Char>
std::string read(const Char* from) {
  Name name;
  return read_name(from, name) ? std::string(name.text, name.bytes) : "(not there)";
}

// Two pages, the second of which is not there.
class Edge {
 public:
  Edge()
      : memory_(static_cast<char*>(
            mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    munmap(memory_ + 4096, 4096);
  }
  ~Edge() { munmap(memory_, 4096); }
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  char* end() const { return memory_ + 4096; }

 private:
  char* memory_;
};

TEST(Names, AreReadAsUtf8) {
  EXPECT_EQ(read("train"), "train");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(L"train"), "train");
  EXPECT_EQ(read(L"\u00e9t\u20ac\U0001f600"), "\u00e9t\u20ac\U0001f600");
  EXPECT_EQ(read(L"a\xd800z"), "a?z");
}

TEST(Names, ThatAreTooLongAreCutBehindWhatARegionMayHave) {
  const std::string longest(kMostRegionBytes, 'x'), longer = longest + "y", endless(1000, 'x');
  EXPECT_EQ(read(longest.c_str()), longest);
  EXPECT_EQ(read(longer.c_str()), longer);
  EXPECT_EQ(read(endless.c_str()).size(), sizeof(Name::text));
  EXPECT_EQ(read(std::wstring(1000, L'\u20ac').c_str()).size(), sizeof(Name::text));
}

TEST(Names, MayEndRightBeforeWhatIsNotThere) {
  const Edge edge;
  memcpy(edge.end() - 6, "train", 6);
  EXPECT_EQ(read(edge.end() - 6), "train");
  const wchar_t wide[] = L"ab";
  memcpy(edge.end() - sizeof wide, wide, sizeof wide);
  EXPECT_EQ(read(reinterpret_cast<wchar_t*>(edge.end() - sizeof wide)), "ab");
}

TEST(Names, ThatAreNoStringsAreNotRead) {
  const Edge edge;
  memcpy(edge.end() - 4, "open", 4);
  EXPECT_EQ(read(edge.end() - 4), "(not there)");
  EXPECT_EQ(read(static_cast<const char*>(nullptr)), "(not there)");
  EXPECT_EQ(read(reinterpret_cast<const char*>(uintptr_t{16})), "(not there)");
  EXPECT_EQ(read(static_cast<const wchar_t*>(nullptr)), "(not there)");
  EXPECT_EQ(read(reinterpret_cast<const wchar_t*>(edge.end())), "(not there)");
  Attributes attributes{};
  EXPECT_FALSE(read_attributes(nullptr, attributes));
  EXPECT_FALSE(read_attributes(reinterpret_cast<const Attributes*>(edge.end() - 8), attributes));
  const Attributes older{};  // it says that it has no bytes
  EXPECT_FALSE(read_attributes(&older, attributes));
}

TEST(Names, DifferInTheirHash) {
  Name name;
  ASSERT_TRUE(read_name("train", name));
  const uint64_t hash = hash_of(name);
  ASSERT_TRUE(read_name(L"train", name));
  EXPECT_EQ(hash_of(name), hash);
  ASSERT_TRUE(read_name("trail", name));
  EXPECT_NE(hash_of(name), hash);
}

}  // namespace
}  // namespace diogenes::nvtx
