// Line tables by hand, operation by operation. Those that a compiler made: cubin_test.cc.
#include "analysis/cubins/gpu_lines.h"

#include <gtest/gtest.h>

#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::CubinBuilder;

// A unit as nvcc writes it: lines from -5 on, 14 of them, the first special operation is 10.
class Unit {
 public:
  explicit Unit(uint16_t version = 2) : version_(version) {}

  Unit& file(const std::string& name, uint8_t folder = 0) {
    files_.push_back({name, folder});
    return *this;
  }
  Unit& folder(const std::string& name) {
    folders_.push_back(name);
    return *this;
  }
  // Its relocation is that of the function with the same number.
  Unit& address(uint32_t function) {
    bytes({0, 9, 2});
    addresses_.push_back({static_cast<uint32_t>(program_.size()), function});
    return bytes(Bytes(8));
  }
  Unit& advance(uint8_t distance) { return bytes({2, distance}); }
  Unit& line(int8_t more) { return bytes({3, static_cast<uint8_t>(more & 0x7f)}); }
  Unit& set_file(uint8_t number) { return bytes({4, number}); }
  Unit& copy() { return bytes({1}); }
  Unit& inlined(uint8_t row, uint8_t name) { return bytes({0, 3, 0x90, row, name}); }
  Unit& end() { return bytes({0, 1, 1}); }
  Unit& bytes(const Bytes& more) {
    program_.insert(program_.end(), more.begin(), more.end());
    return *this;
  }
  Unit& line_range(uint8_t range) {
    line_range_ = range;
    return *this;
  }

  void append(Bytes& table, std::vector<CubinBuilder::Relocation>& relocations) const {
    Bytes header{1, 1, 0xfb, line_range_, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1};
    for (const std::string& one : folders_) text(header, one);
    header.push_back(0);
    for (const auto& [name, folder] : files_) {
      text(header, name);
      header.insert(header.end(), {folder, 0, 0});
    }
    header.push_back(0);
    CubinBuilder::append(table, static_cast<uint32_t>(2 + 4 + header.size() + program_.size()));
    CubinBuilder::append(table, version_);
    CubinBuilder::append(table, static_cast<uint32_t>(header.size()));
    table.insert(table.end(), header.begin(), header.end());
    for (const auto& [at, function] : addresses_) relocations.push_back({table.size() + at, 2, function});
    table.insert(table.end(), program_.begin(), program_.end());
  }

 private:
  static void text(Bytes& to, const std::string& one) {
    to.insert(to.end(), one.c_str(), one.c_str() + one.size() + 1);
  }

  uint16_t version_;
  uint8_t line_range_ = 14;
  std::vector<std::string> folders_;
  std::vector<std::pair<std::string, uint8_t>> files_;
  std::vector<std::pair<uint32_t, uint32_t>> addresses_;
  Bytes program_;
};

// Two sections with a kernel of 256 bytes each, symbols 1 and 2; symbol 3 is 64 bytes within the second section.
struct Table {
  explicit Table(const std::vector<Unit>& units, const std::string& names = "", bool relocated = true) {
    CubinBuilder builder(90);
    one = builder.code("one", Bytes(256));
    other = builder.code("other", Bytes(256));
    builder.kernel("one", one, 256);
    builder.kernel("other", other, 256);
    builder.symbol("within", STT_FUNC, other, 64, 64);
    Bytes table;
    std::vector<CubinBuilder::Relocation> relocations;
    for (const Unit& unit : units) unit.append(table, relocations);
    const uint32_t section = builder.section(".debug_line", SHT_PROGBITS, table);
    if (relocated) builder.relocations(".debug_line", section, relocations);
    builder.section(".debug_str", SHT_PROGBITS, {names.begin(), names.end()});
    bytes = builder.build();
    const auto file = CubinFile::read(bytes);
    EXPECT_TRUE(file.ok());
    symbols = read_cubin_symbols(*file);
    lines = GpuLines(*file, symbols);
  }
  // "k a.cc:3 > g a.cc:7"
  std::string at(uint32_t section, uint64_t offset) const {
    std::string text;
    for (const GpuFrame& frame : lines.frames_at(section, offset, "k"))
      text += (text.empty() ? "" : " > ") + std::string(frame.function.empty() ? "?" : frame.function) + " " +
              std::string(frame.file) + ":" + std::to_string(frame.line);
    return text;
  }

  Bytes bytes;
  uint32_t one = 0, other = 0;
  CubinSymbols symbols;
  GpuLines lines;
};

TEST(GpuLines, ARowHoldsUpToTheNext) {
  const Table table(
      {Unit().file("f.cu").address(1).line(4).copy().advance(32).line(2).copy().advance(16).end()});
  EXPECT_EQ(table.at(table.one, 0), "k f.cu:5");
  EXPECT_EQ(table.at(table.one, 31), "k f.cu:5");
  EXPECT_EQ(table.at(table.one, 32), "k f.cu:7");
  EXPECT_EQ(table.at(table.one, 47), "k f.cu:7");
  EXPECT_EQ(table.at(table.one, 48), "");
  EXPECT_EQ(table.at(table.other, 0), "");
  EXPECT_TRUE(table.lines.complete());
}

TEST(GpuLines, OperationsThatMoveAddressAndLine) {
  // 240 is 230 behind the first special one: 230 / 14 is 16 bytes, 230 % 14 - 5 is 1 line. 5, 6 and 7 are columns and blocks,
  // 0x80 is not known. 8 moves the address as 255 does, by 17 bytes. 9 moves it by 0x1001.
  const Table table({Unit()
                         .file("f.cu")
                         .address(1)
                         .copy()
                         .bytes({240})
                         .bytes({5, 3, 6, 7, 0, 3, 0x80, 1, 2})
                         .bytes({8, 3, 2, 1})
                         .bytes({9, 0x01, 0x10, 3, 0x7f, 1})
                         .advance(16)
                         .end()});
  EXPECT_EQ(table.at(table.one, 15), "k f.cu:1");
  EXPECT_EQ(table.at(table.one, 16), "k f.cu:2");
  EXPECT_EQ(table.at(table.one, 32), "k f.cu:2");
  EXPECT_EQ(table.at(table.one, 33), "k f.cu:4");
  EXPECT_EQ(table.at(table.one, 0x1021), "k f.cu:4");
  EXPECT_EQ(table.at(table.one, 0x1022), "k f.cu:3");
  EXPECT_EQ(table.at(table.one, 0x1032), "");
}

TEST(GpuLines, OfSeveralRowsAtOneAddressTheLastCounts) {
  const Table table({Unit().file("f.cu").address(1).copy().line(8).copy().line(-3).copy().advance(16).end()});
  EXPECT_EQ(table.at(table.one, 0), "k f.cu:6");
}

TEST(GpuLines, FilesHaveFolders) {
  const Table table({Unit()
                         .folder("src/a")
                         .file("f.cu", 1)
                         .file("g.cu")
                         .file("/h.cu", 1)
                         .file("i.cu", 9)
                         .address(1)
                         .copy()
                         .advance(16)
                         .set_file(2)
                         .copy()
                         .advance(16)
                         .set_file(3)
                         .copy()
                         .advance(16)
                         .set_file(4)
                         .copy()
                         .advance(16)
                         .set_file(77)
                         .copy()
                         .advance(16)
                         .end()});
  EXPECT_EQ(table.at(table.one, 0), "k src/a/f.cu:1");
  EXPECT_EQ(table.at(table.one, 16), "k g.cu:1");
  EXPECT_EQ(table.at(table.one, 32), "k /h.cu:1");
  EXPECT_EQ(table.at(table.one, 48), "k i.cu:1");
  EXPECT_EQ(table.at(table.one, 64), "k :1");
}

TEST(GpuLines, InlinedCallsAreAChain) {
  // Row 1: the kernel's own, line 1. Row 2: f, called in row 1. Row 3: g, called in row 2. Row 4: own again.
  const std::string names("f\0g\0", 4);
  const Table table({Unit()
                         .file("f.cu")
                         .file("g.cu")
                         .address(1)
                         .copy()
                         .inlined(1, 0)
                         .line(9)
                         .copy()
                         .advance(16)
                         .inlined(2, 2)
                         .set_file(2)
                         .line(10)
                         .copy()
                         .advance(16)
                         .inlined(0, 0)
                         .set_file(1)
                         .line(-17)
                         .copy()
                         .advance(16)
                         .end()},
                    names);
  EXPECT_EQ(table.at(table.one, 0), "k f.cu:1 > f f.cu:10");
  EXPECT_EQ(table.at(table.one, 16), "k f.cu:1 > f f.cu:10 > g g.cu:20");
  EXPECT_EQ(table.at(table.one, 32), "k f.cu:3");
}

TEST(GpuLines, RowsAreCountedInEachSequence) {
  const std::string names("f\0", 2);
  const Table table({Unit()
                         .file("f.cu")
                         .address(1)
                         .line(1)
                         .copy()
                         .line(1)
                         .copy()
                         .line(1)
                         .copy()
                         .end()
                         .address(2)
                         .line(6)
                         .copy()
                         .inlined(1, 0)
                         .line(1)
                         .copy()
                         .advance(16)
                         .end()},
                    names);
  EXPECT_EQ(table.at(table.other, 0), "k f.cu:7 > f f.cu:8");
}

// As ptxas writes them where a function starts.
TEST(GpuLines, ARowThatStandsThereTwiceIsCountedOnce) {
  const Table table({Unit()
                         .file("f.cu")
                         .address(1)
                         .copy()
                         .line(0)
                         .copy()
                         .advance(16)
                         .line(4)
                         .copy()
                         .inlined(2, 0)
                         .line(1)
                         .copy()
                         .advance(16)
                         .end()},
                    std::string("f\0", 2));
  EXPECT_EQ(table.at(table.one, 16), "k f.cu:5 > f f.cu:6");
}

TEST(GpuLines, RowsThatAreNotThereAreNoCalls) {
  // Row 9 is not there yet, nor is row 2, which the operation would be part of. The name is not there.
  const Table table({Unit()
                         .file("f.cu")
                         .address(1)
                         .copy()
                         .inlined(9, 0)
                         .copy()
                         .advance(16)
                         .inlined(3, 0)
                         .copy()
                         .advance(16)
                         .inlined(1, 99)
                         .copy()
                         .advance(16)
                         .end()});
  EXPECT_EQ(table.at(table.one, 0), "k f.cu:1");
  EXPECT_EQ(table.at(table.one, 16), "k f.cu:1");
  EXPECT_EQ(table.at(table.one, 32), "k f.cu:1 > ? f.cu:1");
}

TEST(GpuLines, AddressesComeFromRelocations) {
  const Unit unit = Unit().file("f.cu").address(3).copy().advance(16).end();
  EXPECT_EQ(Table({unit}).at(2, 64), "k f.cu:1");
  EXPECT_EQ(Table({unit}).at(2, 0), "");
  EXPECT_TRUE(Table({unit}, "", false).lines.empty());
  // A symbol that is not there.
  EXPECT_TRUE(Table({Unit().file("f.cu").address(400).copy().end()}).lines.empty());
}

TEST(GpuLines, WhereASequenceEndsAnotherMayStart) {
  // The second one comes first in the table.
  const Table table(
      {Unit().file("f.cu").address(3).line(3).copy().advance(64).end().address(2).copy().advance(64).end()});
  EXPECT_EQ(table.at(table.other, 63), "k f.cu:1");
  EXPECT_EQ(table.at(table.other, 64), "k f.cu:4");
}

// What nvlink makes of two object files: names of each unit count from where its own part of .debug_str starts.
TEST(GpuLines, NamesOfLinkedUnitsStartAtTheirOwnPart) {
  const Unit first =
      Unit().file("f.cu").address(1).copy().inlined(1, 0).copy().inlined(1, 4).copy().advance(16).end();
  const Unit none = Unit().file("n.cu").address(3).copy().end();
  const Unit second = Unit().file("g.cu").address(2).copy().inlined(1, 0).copy().advance(16).end();
  const Table whole({first, none, second}, std::string("one\0two\0three\0", 14));
  EXPECT_TRUE(whole.lines.names_known());
  EXPECT_EQ(whole.at(whole.one, 0), "k f.cu:1 > two f.cu:1");
  EXPECT_EQ(whole.at(whole.other, 0), "k g.cu:1 > three g.cu:1");
  // There is a name that nobody uses: it may be the first unit's, or the second's.
  const Table more({first, none, second}, std::string("one\0two\0three\0four\0", 19));
  EXPECT_FALSE(more.lines.names_known());
  EXPECT_EQ(more.at(more.one, 0), "k f.cu:1 > two f.cu:1");
  EXPECT_EQ(more.at(more.other, 0), "k g.cu:1 > ? g.cu:1");
  // A file that was not linked may have names that are not used.
  const Table alone({first, none}, std::string("one\0two\0three\0four\0", 19));
  EXPECT_TRUE(alone.lines.names_known());
}

TEST(GpuLines, OtherVersionsAndDamagedUnitsAreLeftOut) {
  const Unit good = Unit().file("g.cu").address(2).copy().advance(16).end();
  for (const Unit& bad : {Unit(5).file("f.cu").address(1).copy().end(),
                          Unit().line_range(0).file("f.cu").address(1).copy().end()}) {
    const Table table({bad, good});
    EXPECT_FALSE(table.lines.complete());
    EXPECT_EQ(table.at(table.one, 0), "");
    EXPECT_EQ(table.at(table.other, 0), "k g.cu:1");
  }
  const Table cut({Unit().file("f.cu").address(1).copy().bytes({0, 200, 1}), good});
  EXPECT_FALSE(cut.lines.complete());
  EXPECT_EQ(cut.at(cut.other, 0), "k g.cu:1");
}

TEST(GpuLines, ALongChainIsCut) {
  Unit unit = Unit().file("f.cu").address(1).copy();
  for (int row = 1; row < 2000; ++row)
    unit.bytes({0, 4, 0x90, static_cast<uint8_t>(0x80 | (row & 0x7f)), static_cast<uint8_t>(row >> 7), 0})
        .copy();
  const Table table({unit.advance(16).end()}, std::string("f\0", 2));
  EXPECT_EQ(table.lines.frames_at(table.one, 0, "k").size(), GpuLines::kMostFrames);
}

}  // namespace
}  // namespace diogenes
