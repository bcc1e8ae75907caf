// The planner on functions made hard by hand (run before and after hooking), and on whole system libraries.
#include "driver/hooking/hook_planner.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "driver/catalogue.h"
#include "driver/discovery/probe.h"

namespace diogenes {
namespace {

struct Loaded {
  void* handle = nullptr;
  uintptr_t base = 0;  // address of image offset 0
  Image image;
};

Loaded load(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  link_map* map = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, &map);
  auto image = Image::open(map->l_name);
  EXPECT_TRUE(image.ok()) << image.error().c_str();
  return {handle, map->l_addr + image->image_base(), std::move(image).value()};
}

PlannedHook plan_one(const Image& image, const char* name) {
  const Image::Export* exported = image.find_export(name);
  EXPECT_NE(exported, nullptr) << name;
  if (exported == nullptr) return {.refusal = Refusal::no_code};
  const HookRequest request{exported->offset, 7};
  return plan_hooks(image, {&request, 1}).front();
}

struct Subject {
  const char* name;
  int displaced;
  int fixups;
  bool returns;
};

class HookedSubject : public testing::TestWithParam<Subject> {};

TEST_P(HookedSubject, ReturnsWhatItReturnedBefore) {
  const Loaded library = load(DIOGENES_DRIVER_SUBJECT);
  auto* function = reinterpret_cast<long (*)(long)>(dlsym(library.handle, GetParam().name));
  ASSERT_NE(function, nullptr);
  const long inputs[] = {-3, 0, 1, 4, 5, 6, 1000};
  std::vector<long> before;
  for (const long input : inputs) before.push_back(function(input));

  const PlannedHook hook = plan_one(library.image, GetParam().name);
  ASSERT_EQ(hook.refusal, Refusal::none) << sentence(hook.refusal);
  EXPECT_EQ(hook.site.displaced, GetParam().displaced);
  EXPECT_EQ(hook.site.fixup_count, GetParam().fixups);
  EXPECT_EQ(hook.site.returns != 0, GetParam().returns);
  EXPECT_EQ(hook.site.function, 7);
  auto probe = Probe::install(hook.site, library.base);
  ASSERT_TRUE(probe.ok()) << probe.error().c_str();
  std::vector<long> after;
  for (const long input : inputs) after.push_back(function(input));
  EXPECT_EQ(after, before);
  EXPECT_EQ((*probe)->calls(), std::size(inputs));
  EXPECT_GT((*probe)->longest().count, -1);
  // A second hook finds other bytes than the file's, and says so.
  EXPECT_FALSE(Probe::install(hook.site, library.base).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Subjects, HookedSubject,
    testing::Values(Subject{"subject_endbr", 5, 0, false}, Subject{"subject_debug_check", 11, 1, false},
                    Subject{"subject_compare_first", 10, 1, false}, Subject{"subject_lea", 7, 1, false},
                    Subject{"subject_short_jcc", 5, 1, false}, Subject{"subject_jcc_first", 6, 1, false},
                    Subject{"subject_long_jcc", 9, 1, false}, Subject{"subject_call", 6, 1, false},
                    Subject{"subject_tail_jump", 5, 1, true}, Subject{"subject_prepared_tail", 6, 1, true},
                    Subject{"subject_tail_memory", 6, 1, true}, Subject{"subject_exact", 5, 0, true},
                    Subject{"subject_tiny", 15, 0, true}, Subject{"subject_vector", 8, 1, false}),
    [](const auto& subject) { return std::string(subject.param.name); });

TEST(HookPlanner, RefusesWhatIsNotProvablySafe) {
  const Loaded library = load(DIOGENES_DRIVER_SUBJECT);
  const std::pair<const char*, Refusal> expected[] = {
      {"subject_loop_into", Refusal::branched_into},
      {"subject_jrcxz", Refusal::unmovable},
      {"subject_undecodable", Refusal::undecodable},
      {"subject_breakpoint", Refusal::breakpoint},
      {"subject_entered_from_elsewhere", Refusal::branched_into},
      {"subject_entered_shortly", Refusal::branched_into},
      {"subject_no_bounds", Refusal::no_bounds},
      {"subject_crowded", Refusal::too_short},
  };
  for (const auto& [name, refusal] : expected)
    EXPECT_EQ(plan_one(library.image, name).refusal, refusal)
        << name << ": " << sentence(refusal) << " was expected";
  const HookRequest outside{uint64_t{1} << 40, 0};
  EXPECT_EQ(plan_hooks(library.image, {&outside, 1}).front().refusal, Refusal::no_code);
}

TEST(HookPlanner, TwoNamesOfOneFunctionShareAHook) {
  const Loaded library = load(DIOGENES_DRIVER_SUBJECT);
  const uint64_t entry = library.image.find_export("subject_endbr")->offset;
  const HookRequest requests[] = {{entry, 3}, {entry, 4}};
  const auto hooks = plan_hooks(library.image, requests);
  EXPECT_TRUE(hooks[0].ok());
  EXPECT_EQ(hooks[1].refusal, Refusal::same_entry);
  EXPECT_EQ(hooks[1].same_as, 3);
}

// Real code, run: what the C library's mathematics returned before is what it returns through probes. Each is
// called with many registers in use by the compiler's own vector code around it.
TEST(HookPlanner, MathematicsStaysTheSame) {
  const Loaded library = load("libm.so.6");
  const char* names[] = {"cbrt", "asinh", "acosh", "erf",  "erfc", "tgamma", "j0",    "j1",   "y0",
                         "logb", "expm1", "log1p", "tanh", "cosh", "sinh",   "atanh", "exp10"};
  int hooked = 0;
  for (const char* name : names) {
    const Image::Export* exported = library.image.find_export(name);
    if (exported == nullptr || exported->indirect || exported->size < 16) continue;
    auto* function = reinterpret_cast<double (*)(double)>(library.base + exported->offset);
    const PlannedHook hook = plan_one(library.image, name);
    if (!hook.ok()) continue;
    double before[20], after[20];
    for (int i = 0; i < 20; ++i) before[i] = function(0.3 * i - 2);
    auto probe = Probe::install(hook.site, library.base);
    ASSERT_TRUE(probe.ok()) << name << ": " << probe.error().c_str();
    for (int i = 0; i < 20; ++i) after[i] = function(0.3 * i - 2);
    EXPECT_EQ(memcmp(before, after, sizeof before), 0) << name;
    EXPECT_GE((*probe)->calls(), 20u) << name;
    ++hooked;
  }
  EXPECT_GE(hooked, 8);
}

// The moved code, placed somewhere, is decoded again: the same instructions with the same absolute targets.
void expect_equivalent(const Image& image, const HookSite& site) {
  const uint64_t base = 0x7f0000000000, elsewhere = base + image.segments().back().offset + 0x100000;
  uint8_t moved[sizeof site.moved];
  memcpy(moved, site.moved, sizeof moved);
  for (int i = 0; i < site.fixup_count; ++i) {
    const HookFixup& fixup = site.fixups[i];
    const auto value =
        static_cast<int32_t>(base + fixup.target - (elsewhere + fixup.at + 4) - fixup.trailing);
    memcpy(moved + fixup.at, &value, 4);
  }
  uint64_t at = 0, original_at = 0;
  while (at < site.moved_length) {
    ZydisDisassembledInstruction was, is;
    const auto bytes = image.bytes_at(site.entry + original_at, 16);
    ASSERT_TRUE(ZYAN_SUCCESS(ZydisDisassembleIntel(
        ZYDIS_MACHINE_MODE_LONG_64, base + site.entry + original_at, bytes.data(), bytes.size(), &was)));
    ASSERT_TRUE(ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, elsewhere + at, moved + at,
                                                   site.moved_length - at, &is)));
    std::string text = was.text;
    for (const char* prefix : {"bnd ", "notrack "})  // dropped where a branch is written anew
      if (text.rfind(prefix, 0) == 0 && text.substr(strlen(prefix)) == is.text) text = is.text;
    ASSERT_EQ(text, is.text) << image.path() << " at " << std::hex << site.entry + original_at;
    at += is.info.length;
    original_at += was.info.length;
  }
  EXPECT_EQ(at, site.moved_length);
  EXPECT_LE(original_at, site.displaced);
  if (!site.returns) {
    EXPECT_EQ(original_at, site.displaced);
  }
}

TEST(HookPlanner, PlansWholeLibraries) {
  for (const char* name : {"libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libm.so.6", "libZydis.so.4.0"}) {
    void* handle = dlopen(name, RTLD_LAZY);
    if (handle == nullptr) continue;
    const Loaded library = load(name);
    std::vector<HookRequest> requests;
    for (const Image::Function& function : library.image.functions())
      requests.push_back({function.offset, 0});
    for (const Image::Export& exported : library.image.exports()) requests.push_back({exported.offset, 1});
    const auto hooks = plan_hooks(library.image, requests);
    std::map<Refusal, int> counts;
    for (const PlannedHook& hook : hooks) {
      ++counts[hook.refusal];
      if (hook.ok()) expect_equivalent(library.image, hook.site);
    }
    std::string summary;
    for (const auto& [refusal, count] : counts)
      summary += std::string(sentence(refusal)) + ": " + std::to_string(count) + "; ";
    RecordProperty(name, summary);
    printf("%s: %zu requests; %s\n", name, requests.size(), summary.c_str());
    const int distinct = static_cast<int>(requests.size()) - counts[Refusal::same_entry];
    EXPECT_GT(counts[Refusal::none], distinct * 8 / 10) << name << ": " << summary;
  }
}

// Any bytes at all: a plan that is as long as it says, or a refusal.
TEST(HookPlanner, GarbageCodeNeverCrashes) {
  const Loaded library = load("libc.so.6");
  const auto code = library.image.find_export("qsort");
  ASSERT_NE(code, nullptr);
  std::vector<HookRequest> requests;
  for (uint64_t i = 0; i < 20000; ++i)
    requests.push_back({code->offset + i, 0});  // middles of instructions too
  for (const PlannedHook& hook : plan_hooks(library.image, requests)) {
    if (!hook.ok()) continue;
    EXPECT_GE(hook.site.displaced, 5);
    EXPECT_LE(hook.site.displaced, 31);
    EXPECT_LE(hook.site.moved_length, sizeof hook.site.moved);
  }
}

// Planning on files with any bytes changed, bounds included.
TEST(HookPlanner, GarbageFilesNeverCrash) {
  std::ifstream file(DIOGENES_DRIVER_SUBJECT, std::ios::binary);
  const std::vector<uint8_t> original{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_GT(original.size(), 1000u);
  size_t planned = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> bytes = original;
    for (int i = 0; i < 30; ++i)
      bytes[0x200 + random() % (bytes.size() - 0x200)] = static_cast<uint8_t>(random());
    if (seed % 4 == 0) bytes.resize(random() % bytes.size());
    const auto image = Image::from_bytes(bytes, "garbage");
    if (!image) continue;
    std::vector<HookRequest> requests;
    for (const Image::Function& function : image->functions()) requests.push_back({function.offset, 0});
    for (const Image::Export& exported : image->exports()) requests.push_back({exported.offset, 0});
    for (int i = 0; i < 100; ++i) requests.push_back({random() % 0x3000, 0});
    for (const PlannedHook& hook : plan_hooks(*image, requests)) planned += hook.ok();
  }
  EXPECT_GT(planned, 1000u);
}

TEST(HookPlanner, CatalogueRequestsAreTheExportsOfTheDriver) {
  const Loaded library = load("libc.so.6");
  EXPECT_TRUE(catalogue_requests(library.image).empty());  // no CUDA there
}

}  // namespace
}  // namespace diogenes
