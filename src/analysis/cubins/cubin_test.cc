// Cubins that nvcc made of testdata/subject.cu and testdata/linked.cu: functions, calls and chains are those of the source. Then
// cubins by hand, and damaged ones.
#include "analysis/cubins/cubin.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "analysis/cubins/testing/committed_cubin.h"
#include "driver/testing/cubin_builder.h"

namespace diogenes {
namespace {

using namespace testing;
using Names = std::vector<std::string>;

// "scaled subject.cu:19 > first subject.cu:11"
std::string text_of(const std::vector<GpuFrame>& frames) {
  std::string text;
  for (const GpuFrame& frame : frames)
    text += (text.empty() ? "" : " > ") + std::string(frame.function) + " " + std::string(frame.file) + ":" +
            std::to_string(frame.line);
  return text;
}

std::set<std::string> chains_of(const Cubin& cubin, GpuFunctionIndex index) {
  std::set<std::string> chains;
  const GpuFunction& function = cubin.function(index);
  for (uint32_t offset = function.begin; offset < function.end; offset += kGpuInstructionBytes)
    chains.insert(text_of(cubin.frames_at({index, offset})));
  return chains;
}

// "line: callee" of each direct call, by line.
Names direct_calls(const Cubin& cubin, const std::string& function) {
  const GpuFunctionIndex index = function_named(cubin, function);
  std::vector<std::pair<uint32_t, std::string>> calls;
  for (const GpuControl& one : cubin.control_of(index)) {
    if (one.instruction.kind != ControlKind::call && one.instruction.kind != ControlKind::call_by_name)
      continue;
    const auto frames = cubin.frames_at({index, one.offset});
    const std::string_view callee = one.callee.valid() ? cubin.function(one.callee).name : one.callee_symbol;
    calls.push_back({frames.empty() ? 0 : frames[0].line, std::string(callee)});
  }
  std::sort(calls.begin(), calls.end());
  Names found;
  for (const auto& [line, callee] : calls) found.push_back(std::to_string(line) + ": " + callee);
  return found;
}

size_t calls_through_registers(const Cubin& cubin, const std::string& function) {
  const auto control = cubin.control_of(function_named(cubin, function));
  return static_cast<size_t>(std::count_if(control.begin(), control.end(), [](const GpuControl& one) {
    return one.instruction.kind == ControlKind::call_through_register;
  }));
}

Names names_of(const Cubin& cubin, const std::vector<GpuFunctionIndex>& functions) {
  Names names;
  for (const GpuFunctionIndex one : functions) names.emplace_back(cubin.function(one).name);
  std::sort(names.begin(), names.end());
  return names;
}

class SubjectOf : public ::testing::TestWithParam<int> {
 protected:
  Cubin subject_ = committed_cubin("subject_sm_" + std::to_string(GetParam()));
  Cubin linked_ = committed_cubin("linked_sm_" + std::to_string(GetParam()));
};

TEST_P(SubjectOf, ItsCodeIsUnderstood) {
  for (const Cubin* cubin : {&subject_, &linked_}) {
    EXPECT_EQ(cubin->architecture(), GetParam());
    EXPECT_TRUE(cubin->has_control_flow()) << cubin->doubt().c_str();
    EXPECT_TRUE(cubin->lines().complete());
    EXPECT_TRUE(cubin->lines().names_known());
  }
}

TEST_P(SubjectOf, HasTheKernelsAndFunctionsOfTheSource) {
  std::multimap<std::string, bool> found;
  for (const GpuFunction& one : subject_.functions()) found.insert({std::string(one.name), one.is_kernel});
  const std::multimap<std::string, bool> expected{{"_Z6scaledILi2EEvPfi", true},
                                                  {"_Z6scaledILi7EEvPfi", true},
                                                  {"_Z6directPfi", true},
                                                  {"_Z6middlefi", false},
                                                  {"_Z4leaffi", false},
                                                  {"_Z9recursivePi", true},
                                                  {"_Z5depthi", false},
                                                  {"_Z15through_pointerPfi", true},
                                                  {"_Z7doubledf", false},
                                                  {"_Z7squaredf", false},
                                                  {"_Z6nestedPfi", true},
                                                  {"_Z8unrolledPfPKfi", true},
                                                  {"_Z5casesPfii", true},
                                                  {"_Z5twicePfi", true},
                                                  {"__cuda_sm20_sqrt_rn_f32_slowpath", false}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(linked_.functions().size(), 6u);
}

TEST_P(SubjectOf, FunctionsShareNoByte) {
  for (const Cubin* cubin : {&subject_, &linked_})
    for (size_t i = 1; i < cubin->functions().size(); ++i) {
      const GpuFunction &before = cubin->functions()[i - 1], &one = cubin->functions()[i];
      EXPECT_LT(one.begin, one.end);
      if (before.section == one.section) {
        EXPECT_LE(before.end, one.begin);
      }
    }
}

TEST_P(SubjectOf, APlaceIsFoundByItsKernelAndByItsFunction) {
  const GpuFunctionIndex leaf = function_named(subject_, "_Z4leaffi");
  const GpuFunction& function = subject_.function(leaf);
  const auto by_kernel = subject_.find("_Z6directPfi", function.begin + 16);
  const auto by_function = subject_.find("$_Z6directPfi$_Z4leaffi", 16);
  ASSERT_TRUE(by_kernel && by_function);
  EXPECT_EQ(by_kernel->function, leaf);
  EXPECT_EQ(by_kernel->offset, function.begin + 16);
  EXPECT_EQ(by_function->function, leaf);
  EXPECT_EQ(by_function->offset, function.begin + 16);
  EXPECT_FALSE(subject_.find("_Z4leaffi", 0));
  EXPECT_FALSE(subject_.find("_Z6directPfi", 1 << 20));
  EXPECT_FALSE(subject_.find("_Z6directPfi", UINT64_MAX));
}

TEST_P(SubjectOf, CallsWhatTheSourceCalls) {
  EXPECT_EQ(direct_calls(subject_, "_Z6directPfi"),
            (Names{"39: _Z6middlefi", "40: _Z4leaffi", "41: _Z4leaffi"}));
  EXPECT_EQ(direct_calls(subject_, "_Z6middlefi"), (Names{"34: _Z4leaffi"}));
  EXPECT_EQ(direct_calls(subject_, "_Z9recursivePi"), (Names{"48: _Z5depthi"}));
  EXPECT_EQ(direct_calls(subject_, "_Z5depthi"), (Names{"46: _Z5depthi", "46: _Z5depthi"}));
  EXPECT_EQ(direct_calls(subject_, "_Z5casesPfii"), (Names{"88: __cuda_sm20_sqrt_rn_f32_slowpath"}));
  for (const char* none : {"_Z4leaffi", "_Z6nestedPfi", "_Z8unrolledPfPKfi", "_Z6scaledILi2EEvPfi",
                           "_Z5twicePfi", "_Z15through_pointerPfi", "_Z7doubledf"})
    EXPECT_EQ(direct_calls(subject_, none), Names{});
}

TEST_P(SubjectOf, CallsAcrossFilesAreNamedByRelocations) {
  EXPECT_EQ(direct_calls(linked_, "_Z6linkedPfi"), (Names{"13: _Z7near_byfi", "14: _Z8far_awayfi"}));
  EXPECT_EQ(direct_calls(linked_, "_Z7near_byfi"), (Names{"10: _Z8far_awayfi", "10: _Z8far_awayfi"}));
  EXPECT_EQ(direct_calls(linked_, "_Z7pointedPfi"), Names{});
}

TEST_P(SubjectOf, CallsThroughRegistersHaveCandidates) {
  EXPECT_EQ(calls_through_registers(subject_, "_Z15through_pointerPfi"), 1u);
  EXPECT_EQ(names_of(subject_, subject_.candidates(function_named(subject_, "_Z15through_pointerPfi"))),
            (Names{"_Z7doubledf", "_Z7squaredf"}));
  EXPECT_EQ(calls_through_registers(linked_, "_Z7pointedPfi"), 1u);
  EXPECT_EQ(names_of(linked_, linked_.candidates(function_named(linked_, "_Z7pointedPfi"))),
            (Names{"_Z13by_other_namef", "_Z7by_namef"}));
  for (const char* none : {"_Z6directPfi", "_Z9recursivePi", "_Z6nestedPfi"}) {
    EXPECT_EQ(calls_through_registers(subject_, none), 0u);
    EXPECT_TRUE(subject_.candidates(function_named(subject_, none)).empty()) << none;
  }
  EXPECT_TRUE(linked_.candidates(function_named(linked_, "_Z6linkedPfi")).empty());
}

TEST_P(SubjectOf, InlinedChainsAreThoseOfTheSource) {
  for (const std::string number : {"2", "7"}) {
    const std::string kernel = "_Z6scaledILi" + number + "EEvPfi";
    const std::string own = kernel + " subject.cu:", first = own + "19 > _Z5firstf subject.cu:11",
                      second = first + " > _Z6secondf subject.cu:8",
                      third = second + " > _Z5thirdf subject.cu:5";
    const auto chains = chains_of(subject_, function_named(subject_, kernel));
    EXPECT_EQ(chains.count(third), 1u) << kernel;
    for (const std::string& one : chains)
      if (one.find(" > ") != std::string::npos)
        EXPECT_TRUE(one == first || one == second || one == third) << one;
      else
        EXPECT_TRUE(one >= own + "16" && one <= own + "20") << one;
  }
  const auto twice = chains_of(subject_, function_named(subject_, "_Z5twicePfi"));
  for (const std::string& call : {std::string("107"), std::string("108")})
    for (const std::string& line : {std::string("102"), std::string("103")})
      EXPECT_EQ(twice.count("_Z5twicePfi subject.cu:" + call + " > _Z6sum_ofPKfi subject.cu:" + line), 1u);
}

TEST_P(SubjectOf, InlinedChainsOfLinkedFilesHaveTheirOwnNames) {
  EXPECT_EQ(chains_of(linked_, function_named(linked_, "_Z7near_byfi"))
                .count("_Z7near_byfi linked.cu:10 > _Z6turnedf linked.cu:7"),
            1u);
  EXPECT_EQ(chains_of(linked_, function_named(linked_, "_Z8far_awayfi"))
                .count("_Z8far_awayfi linked_functions.cu:8 > _Z5wavedf linked_functions.cu:3"),
            1u);
}

TEST_P(SubjectOf, EveryInstructionHasALine) {
  for (const Cubin* cubin : {&subject_, &linked_})
    for (uint32_t i = 0; i < cubin->functions().size(); ++i) EXPECT_EQ(chains_of(*cubin, {i}).count(""), 0u);
}

TEST_P(SubjectOf, TheSwitchLeadsToPlacesInItsLoop) {
  const GpuFunctionIndex cases = function_named(subject_, "_Z5casesPfii");
  std::set<uint32_t> lines;
  size_t tables = 0;
  for (const GpuControl& one : subject_.control_of(cases)) {
    if (one.instruction.kind != ControlKind::branch_by_table) continue;
    ++tables;
    const auto targets = subject_.branch_targets(cases, one.offset);
    EXPECT_FALSE(targets.empty());
    for (const uint32_t target : targets) lines.insert(subject_.frames_at({cases, target})[0].line);
  }
  EXPECT_GT(tables, 0u);
  EXPECT_GE(*lines.begin(), 83u);
  EXPECT_LE(*lines.rbegin(), 92u);
}

TEST_P(SubjectOf, TheKeptPartTellsTheSame) {
  for (const char* name : {"subject", "linked"}) {
    const Bytes bytes = committed_cubin_bytes(name + ("_sm_" + std::to_string(GetParam())));
    Bytes kept;
    ASSERT_TRUE(CubinFile::read(bytes)
                    ->write_kept_part([&](std::span<const uint8_t> part) {
                      kept.insert(kept.end(), part.begin(), part.end());
                      return true;
                    })
                    .ok());
    const std::string text(kept.begin(), kept.end());
    EXPECT_EQ(text.find(".visible"), std::string::npos);
    auto before = Cubin::read(bytes), after = Cubin::read(kept);
    ASSERT_TRUE(before.ok() && after.ok());
    ASSERT_EQ(before->functions().size(), after->functions().size());
    for (uint32_t i = 0; i < before->functions().size(); ++i) {
      EXPECT_EQ(chains_of(*before, {i}), chains_of(*after, {i}));
      EXPECT_EQ(before->control_of({i}).size(), after->control_of({i}).size());
      EXPECT_EQ(before->candidates({i}), after->candidates({i}));
    }
  }
}

TEST_P(SubjectOf, ACodeThatIsNotKnownHasFunctionsAndLinesOnly) {
  Bytes bytes = committed_cubin_bytes("subject_sm_" + std::to_string(GetParam()));
  bytes[49] = 70;  // of the flags: sm_70
  const auto cubin = Cubin::read(bytes);
  ASSERT_TRUE(cubin.ok());
  EXPECT_FALSE(cubin->has_control_flow());
  EXPECT_STREQ(
      cubin->doubt().c_str(),
      "this version knows no code for sm_70; functions and lines are shown, calls and loops are not");
  const GpuFunctionIndex direct = function_named(*cubin, "_Z6directPfi");
  EXPECT_TRUE(cubin->control_of(direct).empty());
  EXPECT_TRUE(cubin->candidates(direct).empty());
  EXPECT_EQ(chains_of(*cubin, direct), chains_of(subject_, function_named(subject_, "_Z6directPfi")));
}

TEST_P(SubjectOf, CutOrDamagedItDoesNoHarm) {
  for (const char* name : {"subject", "linked"}) {
    const Bytes good = committed_cubin_bytes(name + ("_sm_" + std::to_string(GetParam())));
    for (size_t size = 0; size < good.size(); size += 97) {
      Bytes bytes(good.begin(), good.begin() + static_cast<int64_t>(size));
      const auto cut = Cubin::read(std::move(bytes));
      for (uint32_t i = 0; cut.ok() && i < cut->functions().size(); ++i) chains_of(*cut, {i});
    }
    std::mt19937 random(7);
    for (int round = 0; round < 100; ++round) {
      Bytes bad = good;
      for (int i = 0; i < 100; ++i) bad[64 + random() % (bad.size() - 64)] = static_cast<uint8_t>(random());
      const auto cubin = Cubin::read(std::move(bad));
      for (uint32_t i = 0; cubin.ok() && i < cubin->functions().size(); ++i) chains_of(*cubin, {i});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, SubjectOf, ::testing::Values(80, 90, 100));

// A kernel "k" of these instructions; a function "f" takes its last 32 bytes.
Result<Cubin> by_hand(int architecture, const std::vector<Instruction>& instructions) {
  CubinBuilder builder(architecture);
  const Bytes code = code_of(architecture, instructions);
  const uint32_t section = builder.code("k", code);
  builder.symbol("$k$f", STT_FUNC, section, code.size() - 32, 32);
  builder.kernel("k", section, code.size());
  return Cubin::read(builder.build());
}

TEST(Cubin, WhatIsNotAsExpectedIsSaid) {
  const auto doubt = [](int architecture, const Instruction& first) {
    auto cubin = by_hand(architecture, {first, {kExit}, {kNop}, {kExit}});
    EXPECT_TRUE(cubin.ok());
    EXPECT_EQ(cubin->functions().size(), 2u);
    return std::string(cubin->doubt().c_str());
  };
  for (const int architecture : {80, 90, 100}) {
    EXPECT_EQ(doubt(architecture, {kCall, 16}), "");
    EXPECT_NE(doubt(architecture, {kCall, 32}).find("k calls a place where no function starts, at byte 0"),
              std::string::npos);
    EXPECT_NE(doubt(architecture, {kCall, 4096}).find("no function starts"), std::string::npos);
    EXPECT_NE(doubt(architecture, {kCall, -4096}).find("no function starts"), std::string::npos);
    EXPECT_NE(doubt(architecture, {kBranch, 16}).find("branches to a place outside"), std::string::npos);
    EXPECT_NE(doubt(architecture, {kBranch, -32}).find("branches to a place outside"), std::string::npos);
    EXPECT_NE(doubt(architecture, {kBranch, -12}).find("between two instructions"), std::string::npos);
    EXPECT_NE(doubt(architecture, {kCallByName}).find("without a name"), std::string::npos);
    EXPECT_EQ(doubt(architecture, {kBranch, -16}), "");
    EXPECT_EQ(doubt(architecture, {kCallRegister}), "");
  }
}

// nvcc for sm_80 leaves some loops so.
TEST(Cubin, ACallIntoTheSameFunctionIsABranch) {
  auto cubin = by_hand(80, {{kNop},
                            {.operation = kCall, .distance = 16, .predicate = 1},
                            {kBranch, -48},
                            {kExit},
                            {kNop},
                            {kExit}});
  ASSERT_TRUE(cubin.ok());
  EXPECT_TRUE(cubin->has_control_flow()) << cubin->doubt().c_str();
  const auto control = cubin->control_of(cubin->find("k", 0)->function);
  ASSERT_EQ(control.size(), 3u);
  EXPECT_EQ(control[0].instruction.kind, ControlKind::branch);
  EXPECT_TRUE(control[0].instruction.conditional);
  EXPECT_EQ(control[0].instruction.target, 48);
}

TEST(Cubin, ACallOfWhatIsInNoSectionHasAName) {
  CubinBuilder builder(90);
  const uint32_t section = builder.code("k", code_of(90, {{kCallByName}, {kExit}}));
  builder.kernel("k", section, 32);
  const uint32_t outside = builder.symbol("vprintf", STT_FUNC, SHN_UNDEF, 0, 0);
  builder.relocations(".text.k", section, {{0, kCallRelocation, outside}});
  auto cubin = Cubin::read(builder.build());
  ASSERT_TRUE(cubin.ok());
  EXPECT_TRUE(cubin->has_control_flow()) << cubin->doubt().c_str();
  const auto control = cubin->control_of({0});
  ASSERT_EQ(control.size(), 2u);
  EXPECT_FALSE(control[0].callee.valid());
  EXPECT_EQ(control[0].callee_symbol, "vprintf");
}

TEST(Cubin, SymbolsOutsideOfCodeAreNoFunctions) {
  CubinBuilder builder(90);
  const uint32_t section = builder.code("k", Bytes(64)),
                 data = builder.section(".nv.constant0.k", SHT_PROGBITS, Bytes(64));
  builder.symbol("in data", STT_FUNC, data, 0, 16);
  builder.symbol("an object", STT_OBJECT, section, 0, 16);
  builder.symbol("behind", STT_FUNC, section, 64, 16);
  builder.symbol("in no section", STT_FUNC, 5000, 0, 16);
  builder.symbol("too large", STT_FUNC, section, 16, UINT64_MAX);
  builder.symbol("the same place", STT_FUNC, section, 0, 16);
  builder.kernel("k", section, 64);
  auto cubin = Cubin::read(builder.build());
  ASSERT_TRUE(cubin.ok());
  ASSERT_EQ(cubin->functions().size(), 2u);
  EXPECT_EQ(cubin->functions()[0].symbol, "k");
  EXPECT_EQ(cubin->functions()[0].end, 16u);
  EXPECT_EQ(cubin->functions()[1].symbol, "too large");
  EXPECT_EQ(cubin->functions()[1].end, 64u);
}

TEST(Cubin, NamesThatLieInOneAnotherAreRefused) {
  CubinBuilder builder(90);
  const uint32_t section = builder.code("k", Bytes(64 * 16));
  builder.symbol(std::string(2000, 'x'), STT_FUNC, section, 0, 16);
  for (uint32_t i = 1; i < 64; ++i) builder.symbol("f", STT_FUNC, section, 16 * i, 16);
  Bytes bytes = builder.build();
  const auto file = CubinFile::read(bytes);
  const auto symbols = file->section(std::string_view(".symtab")).contents;
  const auto begin = static_cast<size_t>(symbols.data() - bytes.data());
  EXPECT_TRUE(Cubin::read(bytes).ok());
  for (size_t i = 2; i < symbols.size() / sizeof(Elf64_Sym);
       ++i)  // the name of the first function, from its second letter on
    bytes[begin + i * sizeof(Elf64_Sym)] = 2;
  for (size_t i = 2; i < symbols.size() / sizeof(Elf64_Sym); ++i)
    bytes[begin + i * sizeof(Elf64_Sym) + 1] = 0;
  const auto cubin = Cubin::read(bytes);
  ASSERT_FALSE(cubin.ok());
  EXPECT_NE(std::string(cubin.error().c_str()).find("names that lie in one another"), std::string::npos);
}

TEST(Cubin, SectionsThatLieInOneAnotherAreRefused) {
  CubinBuilder builder(90);
  for (int i = 0; i < 20; ++i) builder.code("k", {});
  Bytes bytes = builder.build();
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  for (int i = 1; i <= 20; ++i) {
    Elf64_Shdr section;
    memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    section.sh_offset = 0;
    section.sh_size = bytes.size();
    memcpy(bytes.data() + header.e_shoff + i * sizeof section, &section, sizeof section);
  }
  const auto cubin = Cubin::read(bytes);
  ASSERT_FALSE(cubin.ok());
  EXPECT_NE(std::string(cubin.error().c_str()).find("lie in one another"), std::string::npos);
}

}  // namespace
}  // namespace diogenes
