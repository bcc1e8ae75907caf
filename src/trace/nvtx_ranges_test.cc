#include "trace/nvtx_ranges.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using testing::TemporaryFolder;

struct File {
  File(int32_t pid, int64_t created_ns) : header(std::make_unique<NvtxHeader>()) {
    memcpy(header->magic, kNvtxMagic, sizeof kNvtxMagic);
    strcpy(header->host, "here");
    header->pid = pid;
    header->created_ns = created_ns;
  }
  void write(const std::filesystem::path& path, size_t cut = 0) const {
    std::string bytes(reinterpret_cast<const char*>(header.get()), sizeof *header);
    bytes.resize(kNvtxMarksAt);
    bytes.append(reinterpret_cast<const char*>(marks.data()), marks.size() * sizeof(NvtxMark));
    bytes.resize(bytes.size() - cut);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::unique_ptr<NvtxHeader> header;
  std::vector<NvtxMark> marks;
};

TEST(NvtxRanges, AreReadByTimeAndHolesAreNoEnd) {
  const TemporaryFolder folder;
  File file(7, 100);
  file.marks = {{300, -1, 0}, {0, 0, 0}, {200, 1, 0}, {300, 1, 0}, {400, 5, 0}, {-1, 1, 0}, {350, -1, 0}};
  file.header->lost = 2;
  file.header->names[3] = {9, 1, "load"};
  file.header->names[5] = {8, 0, "registered"};
  file.header->names[6] = {7, 1, ""};
  memset(file.header->names[9].text, 'x', sizeof file.header->names[9].text);
  file.header->names[9].hash = file.header->names[9].entered = 1;
  file.header->names[10] = {11, 1, "\x1b[2Jb\n"};
  const std::string in_a_letter = std::string(49, 'y') + "\u20ac";
  in_a_letter.copy(file.header->names[11].text, in_a_letter.size());
  file.header->names[11].hash = file.header->names[11].entered = 1;
  file.write(folder.path() / "nvtx-here-7.0", 3);
  const auto read = read_nvtx_ranges(folder.path());
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].host, "here");
  EXPECT_EQ(read[0].pid, 7);
  EXPECT_EQ(read[0].lost, 2u);
  EXPECT_EQ(read[0].names,
            (std::vector<std::string>{"?[2Jb?", "load", std::string(52, 'x'), std::string(49, 'y')}));
  ASSERT_EQ(read[0].marks.size(), 3u) << "the last one is cut";
  EXPECT_EQ(read[0].marks[0].at.count, 200);
  EXPECT_EQ(read[0].marks[1].change, 1) << "of two at one time, the begin is first";
  EXPECT_EQ(read[0].marks[2].change, -1);
}

TEST(NvtxRanges, OtherFilesAreLeftOut) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_nvtx_ranges(folder.path() / "none").empty());
  File other(7, 100), cut(7, 100), later(7, 300), earlier(7, 200);
  other.header->magic[0] = 'x';
  other.write(folder.path() / "nvtx-here-7.0");
  cut.write(folder.path() / "nvtx-here-7.1", kNvtxMarksAt - 100);
  later.write(folder.path() / "nvtx-here-7.2");
  earlier.write(folder.path() / "nvtx-here-7.3");
  earlier.write(folder.path() / "plan");
  std::filesystem::create_directory(folder.path() / "nvtx-here-8.0");
  std::ofstream(folder.path() / "nvtx-here-9.0");
  const auto read = read_nvtx_ranges(folder.path());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].created.count, 200);
  EXPECT_EQ(read[1].created.count, 300);
}

}  // namespace
}  // namespace diogenes
