// Image against what the dynamic linker and readelf-like facts say, and against garbage.
#include "driver/hooking/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "driver/hooking/eh_frame.h"

namespace diogenes {
namespace {

// By handle: a sanitizer has functions of the same names.
void* libc_handle() { return dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY); }

std::string libc_path() {
  link_map* map = nullptr;
  return dlinfo(libc_handle(), RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

std::vector<uint8_t> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Image libc() {
  auto image = Image::open(libc_path());
  EXPECT_TRUE(image.ok()) << image.error().c_str();
  return std::move(image).value();
}

TEST(Image, ExportsAreWhereTheDynamicLinkerFindsThem) {
  const Image image = libc();
  for (const char* name : {"qsort", "getenv", "strtol", "fopen"}) {
    const Image::Export* exported = image.find_export(name);
    ASSERT_NE(exported, nullptr) << name;
    Dl_info info{};
    link_map* map = nullptr;
    void* address = dlsym(libc_handle(), name);
    ASSERT_NE(dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP), 0);
    EXPECT_EQ(map->l_addr + image.image_base() + exported->offset, reinterpret_cast<uintptr_t>(address))
        << name;
    EXPECT_GT(exported->size, 0u);
    const auto bytes = image.bytes_at(exported->offset, 16);
    ASSERT_EQ(bytes.size(), 16u);
    EXPECT_EQ(memcmp(bytes.data(), address, 16), 0) << name << ": file and memory differ";
  }
  EXPECT_EQ(image.find_export("no_such_function"), nullptr);
}

TEST(Image, FunctionBoundsAgreeWithTheSymbols) {
  const Image image = libc();
  int compared = 0, equal = 0;
  for (const Image::Export& exported : image.exports()) {
    const Image::Function* function = image.containing_function(exported.offset);
    if (function == nullptr || exported.size == 0) continue;
    ++compared;
    equal += function->offset == exported.offset && function->size == exported.size;
    const Image::Function* inside = image.containing_function(function->end() - 1);
    EXPECT_EQ(inside, function);
  }
  EXPECT_GT(compared, 1500);
  EXPECT_GT(equal, compared * 9 / 10);  // the rest: hand-written code with several FDEs a symbol
}

TEST(Image, BuildIdIsTheOneInMemory) {
  const Image image = libc();
  BuildId expected;
  const auto visit = [](dl_phdr_info* info, size_t, void* data) {
    if (strstr(info->dlpi_name, "libc.so") == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_NOTE) continue;
      const auto* note = reinterpret_cast<const Elf64_Nhdr*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      if (note->n_type != NT_GNU_BUILD_ID) continue;
      auto* id = static_cast<BuildId*>(data);
      id->length = static_cast<uint8_t>(note->n_descsz);
      memcpy(id->bytes.data(), reinterpret_cast<const char*>(note + 1) + 4, note->n_descsz);
    }
    return 0;
  };
  dl_iterate_phdr(visit, &expected);
  ASSERT_GT(expected.length, 0);
  EXPECT_EQ(image.build_id(), expected);
}

TEST(Image, OffsetsOutsideGiveNothing) {
  const Image image = libc();
  EXPECT_TRUE(image.bytes_at(UINT64_MAX, 10).empty());
  EXPECT_TRUE(image.bytes_at(uint64_t{1} << 40, 10).empty());
  EXPECT_EQ(image.containing_function(0), nullptr);
  EXPECT_EQ(image.containing_function(UINT64_MAX), nullptr);
  EXPECT_EQ(image.function_after(UINT64_MAX), nullptr);
}

TEST(Image, SaysWhatIsWrongWithAFile) {
  EXPECT_STREQ(Image::from_bytes({}, "empty").error().c_str(), "empty is no ELF file");
  EXPECT_STREQ(Image::from_bytes({'#', '!', '/'}, "script").error().c_str(), "script is no ELF file");
  auto missing = Image::open("/no/such/libcuda.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(strstr(missing.error().c_str(), "No such file"), nullptr);
  auto bytes = contents(libc_path());
  auto cut = bytes;
  cut.resize(cut.size() / 2);  // the table of sections is at the end
  EXPECT_NE(strstr(Image::from_bytes(cut, "cut").error().c_str(), "is it cut off?"), nullptr);
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_NE(strstr(Image::from_bytes(bytes, "old").error().c_str(), "not for x86-64"), nullptr);
}

// Whatever is wrong with the file: an error or a part of it, never a crash. Headers are hit far more often
// than code.
TEST(Image, GarbageNeverCrashes) {
  const std::vector<uint8_t> original = contents(libc_path());
  const std::vector<uint8_t> small = contents(DIOGENES_DRIVER_SUBJECT);
  ASSERT_GT(small.size(), 1000u);
  int opened = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> bytes = seed % 10 == 0 ? original : small;
    const int changes = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < changes; ++i) {
      const size_t limit = random() % 3 == 0 ? 0x400 : bytes.size();
      const size_t position = random() % limit;
      bytes[position] = random() % 4 == 0 ? 0xff : static_cast<uint8_t>(random());
    }
    if (seed % 3 == 0) bytes.resize(random() % bytes.size());
    auto image = Image::from_bytes(bytes, "garbage");
    if (!image) {
      EXPECT_GT(strlen(image.error().c_str()), 5u);
      continue;
    }
    ++opened;
    size_t total = 0;
    for (const Image::Export& exported : image->exports())
      total += exported.name.size() + image->bytes_at(exported.offset, 16).size();
    for (const Image::Function& function : image->functions()) {
      total += image->bytes_at(function.offset, function.size).size();
      ASSERT_NE(image->containing_function(function.offset), nullptr);
    }
    EXPECT_LT(total, size_t{1} << 40);
  }
  EXPECT_GT(opened, 100);  // or the test would only have tried the first check
}

TEST(EhFrame, ReadsARecordMadeByHand) {
  // CIE "zR" with pcrel|sdata4 (0x1b); one FDE for 0x1000 + 0x20 bytes; terminator. The section is at 0x3000.
  std::vector<uint8_t> section = {16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0};
  const auto put = [&](uint32_t value) {
    for (int i = 0; i < 4; ++i) section.push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  put(16);                                             // length
  put(24);                                             // to the CIE: from 24 back to 0
  put(static_cast<uint32_t>(0x1000 - (0x3000 + 28)));  // begin, relative to its own place
  put(0x20);                                           // size
  put(0);                                              // no augmentation data, padding
  put(0);                                              // terminator
  put(16);                                             // nothing behind the terminator is read
  const auto functions = parse_eh_frame(section, 0x3000);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].begin, 0x1000u);
  EXPECT_EQ(functions[0].size, 0x20u);
}

}  // namespace
}  // namespace diogenes
