#include "analysis/program/gpu_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

constexpr ComputeCapability kH200{9, 0}, kA100{8, 0}, kA10{8, 6}, kB200{10, 0}, kB300{10, 3};
constexpr uint64_t kExact = 1 << 20, kFamily = 1 << 21;

using FileBytes = std::vector<uint8_t>;

void put(FileBytes& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
}

// As nvcc 13 writes them: 64 bytes of header, code behind it.
FileBytes entry(uint16_t kind, uint32_t architecture, uint64_t flags = 0, uint64_t code = 24) {
  FileBytes bytes;
  put(bytes, kind, 2);
  put(bytes, 0x101, 2);
  put(bytes, 64, 4);
  put(bytes, code, 8);
  put(bytes, 0, 8);
  put(bytes, 0x80001, 4);
  put(bytes, architecture, 4);
  put(bytes, 0, 8);
  put(bytes, 0x11 | flags, 8);
  bytes.resize(64 + code);
  return bytes;
}
FileBytes ptx(uint32_t architecture) { return entry(1, architecture); }
FileBytes cubin(uint32_t architecture, uint64_t flags = 0) { return entry(2, architecture, flags); }

FileBytes container(const std::vector<FileBytes>& entries) {
  FileBytes content;
  for (const FileBytes& one : entries) content.insert(content.end(), one.begin(), one.end());
  FileBytes bytes;
  put(bytes, 0xba55ed50, 4);
  put(bytes, 1, 2);
  put(bytes, 16, 2);
  put(bytes, content.size(), 8);
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

FileBytes both(FileBytes one, const FileBytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

TEST(GpuCode, CodeForTheGpuRunsAsItIs) {
  const auto binaries = fat_binaries_of(container({cubin(80), cubin(90), ptx(90)}));
  ASSERT_EQ(binaries.size(), 1u);
  EXPECT_EQ(binaries[0].size(), 3u);
  const GpuCodeFit fit = fit_of(binaries, kH200);
  EXPECT_EQ(fit.native, 1u);
  EXPECT_EQ(fit.compiled, 0u);
  EXPECT_TRUE(fit.built_for.empty());
}

TEST(GpuCode, CodeRunsOnLaterOnesOfItsGenerationOnly) {
  const auto binaries = fat_binaries_of(container({cubin(80)}));
  EXPECT_EQ(fit_of(binaries, kA100).native, 1u);
  EXPECT_EQ(fit_of(binaries, kA10).native, 1u);
  EXPECT_EQ(fit_of(binaries, kH200).neither, 1u);
  EXPECT_EQ(fit_of(fat_binaries_of(container({cubin(86)})), kA100).neither, 1u);
}

TEST(GpuCode, PtxOfAnOlderOneHasToBeCompiled) {
  const auto binaries = fat_binaries_of(both(container({cubin(70), ptx(75)}), container({cubin(90)})));
  const GpuCodeFit fit = fit_of(binaries, kH200);
  EXPECT_EQ(fit.native, 1u);
  EXPECT_EQ(fit.compiled, 1u);
  EXPECT_EQ(fit.built_for, (std::vector<std::string>{"sm_70", "compute_75"}));
  EXPECT_EQ(fit_of(binaries, {7, 0}).native, 1u);
  EXPECT_EQ(fit_of(fat_binaries_of(container({ptx(90)})), kA100).neither, 1u) << "PTX of a newer one";
}

TEST(GpuCode, SpecificCodeRunsOnItsOwnOnly) {
  const auto exact = fat_binaries_of(container({cubin(90, kExact)}));
  EXPECT_EQ(exact[0][0].name(), "sm_90a");
  EXPECT_EQ(fit_of(exact, kH200).native, 1u);
  const auto family = fat_binaries_of(container({cubin(100, kFamily)}));
  EXPECT_EQ(family[0][0].name(), "sm_100f");
  EXPECT_EQ(fit_of(family, kB200).native, 1u);
  EXPECT_EQ(fit_of(family, kB300).native, 1u);
  EXPECT_EQ(fit_of(fat_binaries_of(container({cubin(100, kExact)})), kB300).neither, 1u);
}

TEST(GpuCode, WhatIsDamagedIsLeftOut) {
  const FileBytes good = container({cubin(80), ptx(80)});
  for (size_t length = 0; length <= good.size(); ++length) {
    const auto binaries = fat_binaries_of({good.data(), length});
    // The first entry's header is whole from byte 64 + 16 on, as far as its fields are read: 48 bytes.
    EXPECT_EQ(binaries.size(), length >= 16 + 64 ? 1u : 0u) << length;
  }
  FileBytes endless = good;
  for (size_t i = 8; i < 16; ++i) endless[i] = 0xff;  // the container's length
  EXPECT_EQ(fat_binaries_of(endless).size(), 1u);
  FileBytes backwards = good;
  backwards[16 + 4] = 8;  // an entry's header, shorter than what is read of it
  EXPECT_TRUE(fat_binaries_of(backwards).empty());
  EXPECT_EQ(fat_binaries_of(both(FileBytes(24, 7), good)).size(), 1u) << "what lies between containers";
}

TEST(GpuCode, FilesWithoutGpuCodeHaveNone) {
  const auto own = read_fat_binaries("/proc/self/exe");
  ASSERT_TRUE(own) << own.error().c_str();
  EXPECT_TRUE(own->empty());
  EXPECT_FALSE(read_fat_binaries("/nonexistent"));
  EXPECT_FALSE(read_fat_binaries("/proc/self/cmdline")) << "no ELF file";
}

// An ELF file whose section .nv_fatbin has these bytes.
void write_file_with(const FileBytes& code, const std::filesystem::path& path) {
  const std::string names("\0.nv_fatbin\0.shstrtab\0", 22);
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  Elf64_Shdr sections[3]{};
  sections[1] = {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof header, .sh_size = code.size()};
  sections[2] = {.sh_name = 12,
                 .sh_type = SHT_STRTAB,
                 .sh_offset = sizeof header + code.size(),
                 .sh_size = names.size()};
  header.e_shoff = sections[2].sh_offset + names.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size()));
  file << names;
  file.write(reinterpret_cast<const char*>(sections), sizeof sections);
}

TEST(GpuCode, AFileHasWhatItsSectionHas) {
  const FileBytes first = container({cubin(80), entry(2, 90, kExact, 5000), ptx(90)});
  const FileBytes second = container({entry(1, 70, 0, 100'000)});
  const FileBytes code = both(both(both(FileBytes(40, 0), first), FileBytes(4096, 0)), second);
  const testing::TemporaryFolder folder;
  for (const size_t length : {code.size(), code.size() - 100'000, first.size(), size_t{60}, size_t{0}}) {
    const FileBytes cut(code.begin(), code.begin() + static_cast<ptrdiff_t>(length));
    write_file_with(cut, folder.path() / "library");
    const auto read = read_fat_binaries(folder.path() / "library");
    ASSERT_TRUE(read) << read.error().c_str();
    const auto expected = fat_binaries_of(cut);
    ASSERT_EQ(read->size(), expected.size()) << length;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ((*read)[i].size(), expected[i].size()) << length;
      for (size_t k = 0; k < expected[i].size(); ++k)
        EXPECT_EQ((*read)[i][k].name(), expected[i][k].name()) << length;
    }
  }
  EXPECT_EQ(fat_binaries_of(code).size(), 2u);
}

TEST(GpuCode, SaysWhatTheCompilerNeeds) {
  EXPECT_EQ(compiler_options_for(kB300),
            "-gencode arch=compute_103,code=sm_103 (CMake: CMAKE_CUDA_ARCHITECTURES=103)");
}

}  // namespace
}  // namespace diogenes
