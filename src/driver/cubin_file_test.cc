// Cubins made by hand. Those that a compiler made: analysis/cubins.
#include "driver/cubin_file.h"

#include <gtest/gtest.h>

#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes small_cubin(int architecture = 90, uint8_t abi_version = 8) {
  testing::CubinBuilder builder(architecture, abi_version);
  const uint32_t code = builder.code("k", Bytes(32, 1));
  builder.kernel("k", code, 32);
  const uint32_t lines = builder.section(".debug_line", SHT_PROGBITS, Bytes(21, 2));
  builder.relocations(".debug_line", lines, {{3, 2, 1, 0}});
  builder.section(".nv_debug_ptx_txt", SHT_PROGBITS, Bytes(5000, 'p'));
  builder.section(".nv_debug_ptx_txt.77", SHT_PROGBITS, Bytes(700, 'p'));
  builder.section(".nv.merc.nv_debug_ptx_txt", SHT_PROGBITS, Bytes(700, 'p'));
  builder.section(".nv.constant0.k", SHT_PROGBITS, Bytes(900, 'd'));
  return builder.build();
}

std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

Result<Bytes> kept_part(const Bytes& bytes) {
  const auto file = CubinFile::read(bytes);
  if (!file) return file.error();
  Bytes out;
  const Status written = file->write_kept_part([&](std::span<const uint8_t> part) {
    out.insert(out.end(), part.begin(), part.end());
    return true;
  });
  if (!written) return written.error();
  return out;
}

TEST(CubinFile, HasItsSectionsAndItsArchitecture) {
  const Bytes bytes = small_cubin();
  const auto file = CubinFile::read(bytes);
  ASSERT_TRUE(file.ok()) << file.error().c_str();
  EXPECT_EQ(file->architecture(), 90);
  EXPECT_EQ(file->section_count(), 11u);
  EXPECT_EQ(file->section(1).name, ".text.k");
  EXPECT_EQ(text_of(file->section(1).contents), std::string(32, 1));
  EXPECT_EQ(file->section(std::string_view(".rela.debug_line")).info, 2u);
  EXPECT_TRUE(file->section(std::string_view(".not.there")).contents.empty());
  EXPECT_TRUE(file->section(4000).name.empty());
}

TEST(CubinFile, TheArchitectureStandsElsewhereInTheOlderFormat) {
  const Bytes older = small_cubin(86, 7), newer = small_cubin(120);
  EXPECT_EQ(CubinFile::read(older)->architecture(), 86);
  EXPECT_EQ(CubinFile::read(newer)->architecture(), 120);
}

TEST(CubinFile, HasLinesOrNot) {
  const Bytes with = small_cubin();
  EXPECT_TRUE(CubinFile::read(with)->has_lines());
  testing::CubinBuilder builder(80);
  builder.code("k", Bytes(32));
  builder.section(".nv_debug_line_sass", SHT_PROGBITS, Bytes(9));
  const Bytes without = builder.build();
  EXPECT_FALSE(CubinFile::read(without)->has_lines());
}

TEST(CubinFile, WhatIsNoCubinIsRefused) {
  const Bytes good = small_cubin();
  const auto refused = [](Bytes bytes) { return !CubinFile::read(bytes).ok(); };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(Bytes(5000)));
  for (const size_t at :
       {0, 4, 5, 18, 58}) {  // magic, class, order of bytes, machine, size of a section's header
    Bytes bad = good;
    ++bad[at];
    EXPECT_TRUE(refused(bad)) << at;
  }
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused(Bytes(good.begin(), good.begin() + size)));
}

TEST(CubinFile, SectionsOutsideOfTheFileAreEmpty) {
  Bytes bytes = small_cubin();
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  Elf64_Shdr code;
  memcpy(&code, bytes.data() + header.e_shoff + sizeof code, sizeof code);
  for (const auto& [offset, size] : {std::pair<uint64_t, uint64_t>{bytes.size() - 1, 2},
                                     {UINT64_MAX, 1},
                                     {0, UINT64_MAX},
                                     {UINT64_MAX, UINT64_MAX},
                                     {bytes.size() + 1, 0}}) {
    code.sh_offset = offset, code.sh_size = size;
    memcpy(bytes.data() + header.e_shoff + sizeof code, &code, sizeof code);
    EXPECT_TRUE(CubinFile::read(bytes)->section(1).contents.empty());
  }
}

TEST(CubinFile, TheKeptPartHasNeitherPtxNorData) {
  const Bytes bytes = small_cubin();
  const auto kept = kept_part(bytes);
  ASSERT_TRUE(kept.ok());
  EXPECT_LT(kept->size(), bytes.size() - 7000);
  EXPECT_EQ(text_of(*kept).find("ppp"), std::string::npos);
  EXPECT_EQ(text_of(*kept).find("ddd"), std::string::npos);
  const auto before = CubinFile::read(bytes), after = CubinFile::read(*kept);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->architecture(), 90);
  EXPECT_TRUE(after->has_lines());
  ASSERT_EQ(after->section_count(), before->section_count());
  for (uint32_t i = 0; i < before->section_count(); ++i) {
    const auto one = before->section(i), other = after->section(i);
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.info, other.info);
    EXPECT_EQ(one.link, other.link);
    if (one.name.find("ptx") == std::string_view::npos &&
        one.name.find("constant") == std::string_view::npos) {
      EXPECT_EQ(text_of(one.contents), text_of(other.contents)) << one.name;
    }
  }
  const auto again = kept_part(*kept);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *kept);
}

TEST(CubinFile, NothingIsKeptOfSectionsThatLieInOneAnother) {
  Bytes bytes = small_cubin();
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  for (uint16_t i = 1; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    const uint64_t at = header.e_shoff + i * sizeof section;
    memcpy(&section, bytes.data() + at, sizeof section);
    if (i == header.e_shstrndx) continue;
    section.sh_name = 1;  // ".text.k"
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = 0;
    section.sh_size = bytes.size();
    memcpy(bytes.data() + at, &section, sizeof section);
  }
  EXPECT_FALSE(kept_part(bytes).ok());
}

TEST(CubinFile, WhatCannotBeWrittenIsTold) {
  const Bytes bytes = small_cubin();
  const auto file = CubinFile::read(bytes);
  for (int most = 0; most < 8; ++most) {
    int left = most;
    EXPECT_FALSE(file->write_kept_part([&](std::span<const uint8_t>) { return left-- > 0; }).ok());
  }
}

}  // namespace
}  // namespace diogenes
