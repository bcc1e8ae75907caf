#include "analysis/symbols/symbols.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace diogenes {
namespace {

namespace fs = std::filesystem;

// Prints the offset of its own call to here(), as the trace would hold it: return address - 1 - bias. Line
// numbers are counted below: "// @NAME" marks a line.
constexpr const char* kProgram = R"(#include <link.h>
#include <cstdint>
#include <cstdio>
static uintptr_t base;
static int first(dl_phdr_info* info, size_t, void*) { base = info->dlpi_addr; return 1; }
volatile int sink;
extern "C" __attribute__((noinline)) void here(const char* name) {
  printf("%s %lx\n", name, (unsigned long)((uintptr_t)__builtin_return_address(0) - 1 - base));
}
template <typename T>
inline __attribute__((always_inline)) void inner(T value) {
  here("inlined");  // @inner
  sink = sink + value;
}
template <typename T>
inline __attribute__((always_inline)) void middle(T value) {
  inner(value + 1);  // @middle
  sink = sink * 2;
}
namespace app {
template <typename T>
struct Solver {
  template <int N>
  __attribute__((noinline)) void outer(T value) const {
    sink = N;
    middle(value);  // @outer
    sink = sink + 3;
  }
};
}  // namespace app
namespace {
__attribute__((noinline)) void hidden(int value) {
  sink = value;
  here("hidden");  // @hidden
  sink = value;
}
}  // namespace
extern "C" __attribute__((noinline)) void exported_function() {
  here("exported");  // @exported
  sink = 1;
}
int main() {
  dl_iterate_phdr(first, nullptr);
  app::Solver<int>().outer<3>(sink);
  hidden(4);
  exported_function();
  const auto lambda = [](int value) __attribute__((always_inline)) {
    here("lambda");  // @lambda
    sink = value;
  };
  lambda(5);
}
)";

int line_of(const std::string& mark) {
  std::istringstream lines(kProgram);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number)
    if (line.find("// @" + mark) != std::string::npos) return number;
  return -1;
}

class Symbols : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "symbols-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void shell(const std::string& command) {
    ASSERT_EQ(system(("cd '" + folder_.string() + "' && " + command).c_str()), 0) << command;
  }
  // Builds the program and runs it: offsets_ by name.
  void build(const std::string& flags) {
    std::ofstream(folder_ / "program.cc") << kProgram;
    shell("c++ -g -O2 -Wl,--build-id " + flags + " program.cc -o program && ./program > offsets");
    std::ifstream offsets(folder_ / "offsets");
    std::string name;
    uint64_t offset = 0;
    while (offsets >> name >> std::hex >> offset) offsets_[name] = offset;
    ASSERT_EQ(offsets_.size(), 4u);
  }
  static ModuleRecord module(const fs::path& path) {
    ModuleRecord record{};
    record.present = 1;
    snprintf(record.path, sizeof record.path, "%s", path.c_str());
    return record;
  }
  ModuleRecord program() { return module(folder_ / "program"); }

  void expect_inlined_chain(Symbolizer& symbolizer) {
    auto frames = symbolizer.frames(program(), offsets_["inlined"]);
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].function, "void inner<int>(int)");
    EXPECT_EQ(frames[0].line, line_of("inner"));
    EXPECT_TRUE(frames[0].inlined);
    EXPECT_EQ(frames[1].function, "void middle<int>(int)");
    EXPECT_EQ(frames[1].line, line_of("middle"));
    EXPECT_TRUE(frames[1].inlined);
    EXPECT_EQ(frames[2].function, "void app::Solver<int>::outer<3>(int) const");
    EXPECT_EQ(frames[2].line, line_of("outer"));
    EXPECT_FALSE(frames[2].inlined);
    for (auto& frame : frames) {
      EXPECT_EQ(frame.file, (folder_ / "program.cc").string());
      EXPECT_EQ(frame.module, (folder_ / "program").string());
      EXPECT_EQ(frame.offset, offsets_["inlined"]);
    }
  }
  fs::path folder_;
  std::map<std::string, uint64_t> offsets_;
};

TEST_F(Symbols, InlinedFramesLinesAndTemplates) {
  build("");
  Symbolizer symbolizer;
  expect_inlined_chain(symbolizer);
  expect_inlined_chain(symbolizer);  // the cache gives the same
  auto hidden = symbolizer.frames(program(), offsets_["hidden"]);
  ASSERT_EQ(hidden.size(), 1u);
  EXPECT_EQ(Symbolizer::base_name(hidden[0].function), "(anonymous namespace)::hidden");
  EXPECT_EQ(hidden[0].line, line_of("hidden"));
  // A function that is declared inside of another one.
  auto lambda = symbolizer.frames(program(), offsets_["lambda"]);
  ASSERT_EQ(lambda.size(), 2u);
  EXPECT_TRUE(lambda[0].function.starts_with("main::")) << lambda[0].function;
  EXPECT_TRUE(lambda[0].function.ends_with("::operator()")) << lambda[0].function;
  EXPECT_EQ(lambda[0].line, line_of("lambda"));
  EXPECT_EQ(lambda[1].function, "main");
  EXPECT_TRUE(symbolizer.notices().empty());
}

TEST_F(Symbols, FixedAddressProgram) {
  build("-no-pie");
  EXPECT_GT(offsets_["inlined"], 0x400000u);
  Symbolizer symbolizer;
  expect_inlined_chain(symbolizer);
}

TEST_F(Symbols, WithoutAddressRangesSection) {
  build("");
  shell("objcopy --remove-section .debug_aranges program");
  Symbolizer symbolizer;
  expect_inlined_chain(symbolizer);
}

TEST_F(Symbols, SeparateDebugFile) {
  build("");
  shell(
      "objcopy --only-keep-debug program program.debug && strip program && "
      "objcopy --add-gnu-debuglink=program.debug program");
  Symbolizer symbolizer;
  expect_inlined_chain(symbolizer);
}

TEST_F(Symbols, SymbolTableOnly) {
  build("");
  shell("strip --strip-debug program");
  Symbolizer symbolizer;
  auto frames = symbolizer.frames(program(), offsets_["inlined"]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "void app::Solver<int>::outer<3>(int) const");
  EXPECT_EQ(frames[0].file, "");
  EXPECT_EQ(symbolizer.frames(program(), offsets_["hidden"])[0].function,
            "(anonymous namespace)::hidden(int)");
}

TEST_F(Symbols, StrippedHasItsExportsOnly) {
  build("-rdynamic");
  shell("strip program");
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.frames(program(), offsets_["exported"])[0].function, "exported_function");
  auto hidden = symbolizer.frames(program(), offsets_["hidden"]);
  ASSERT_EQ(hidden.size(), 1u);
  EXPECT_EQ(hidden[0].function, "");
  EXPECT_EQ(hidden[0].offset, offsets_["hidden"]);
  EXPECT_EQ(symbolizer.export_at(folder_ / "program", offsets_["exported"]), "exported_function");
  EXPECT_EQ(symbolizer.export_at(folder_ / "program", offsets_["hidden"]), "");
}

TEST_F(Symbols, AnotherFileInItsPlaceIsNoticed) {
  build("");
  ModuleRecord record = program();
  record.build_id_length = 20;
  memset(record.build_id, 7, 20);
  Symbolizer symbolizer;
  auto frames = symbolizer.frames(record, offsets_["inlined"]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].offset, offsets_["inlined"]);
  symbolizer.frames(record, offsets_["hidden"]);
  ASSERT_EQ(symbolizer.notices().size(), 1u);  // once a file
  EXPECT_NE(symbolizer.notices()[0].find("build-id differs"), std::string::npos);
}

TEST_F(Symbols, TheRightBuildIdIsAccepted) {
  build("");
  shell("readelf -n program | sed -n 's/.*Build ID: //p' > id");
  std::ifstream in(folder_ / "id");
  std::string hex;
  in >> hex;
  ASSERT_EQ(hex.size(), 40u);
  ModuleRecord record = program();
  record.build_id_length = 20;
  for (int i = 0; i < 20; ++i) record.build_id[i] = std::stoi(hex.substr(2 * i, 2), nullptr, 16);
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.frames(record, offsets_["inlined"]).size(), 3u);
}

TEST_F(Symbols, GoneGarbageAndTruncatedFiles) {
  build("");
  Symbolizer symbolizer;
  std::ofstream(folder_ / "garbage") << std::string(5000, '\x7f');
  std::ofstream(folder_ / "empty");
  shell("mkfifo pipe");
  for (const char* name : {"gone", "garbage", "empty", "pipe", ""}) {
    auto frames = symbolizer.frames(module(folder_ / name), 0x1234);
    ASSERT_EQ(frames.size(), 1u) << name;
    EXPECT_EQ(frames[0].function, "") << name;
    EXPECT_EQ(frames[0].offset, 0x1234u) << name;
  }
  EXPECT_EQ(symbolizer.notices().size(), 5u);
  // Every cut of a good file: no crash, and always a frame.
  auto size = fs::file_size(folder_ / "program");
  for (uint64_t cut = 1; cut < size; cut += size / 40) {
    fs::copy_file(folder_ / "program", folder_ / "cut", fs::copy_options::overwrite_existing);
    fs::resize_file(folder_ / "cut", cut);
    Symbolizer fresh;
    EXPECT_FALSE(fresh.frames(module(folder_ / "cut"), offsets_["inlined"]).empty());
    fresh.export_at(folder_ / "cut", offsets_["exported"]);
  }
}

TEST_F(Symbols, DamagedContentsDoNotCrash) {
  build("");
  std::ifstream in(folder_ / "program", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  uint32_t random = 1;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 400; ++i) {
      random = random * 1664525 + 1013904223;
      damaged[64 + (random >> 4) % (damaged.size() - 64)] = static_cast<char>(random >> 24);
    }
    std::ofstream(folder_ / "damaged", std::ios::binary) << damaged;
    pid_t child = fork();
    if (child == 0) {
      Symbolizer fresh;
      bool some = !fresh.frames(module(folder_ / "damaged"), offsets_["inlined"]).empty();
      _exit(some ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "round " << round;
  }
}

TEST_F(Symbols, NoFileAndVdso) {
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.frames(module("linux-vdso.so.1"), 16).size(), 1u);
  EXPECT_EQ(symbolizer.frames(module("[vdso]"), 16).size(), 1u);
  EXPECT_TRUE(symbolizer.notices().empty());
}

TEST_F(Symbols, PerfMapNamesPythonFrames) {
  std::ofstream(folder_ / "perf-77.map")
      << "7f00001000 20 py::train:/home/me/model.py\n7f00001020 10 stub\nnot a line\n";
  Symbolizer symbolizer(folder_);
  auto frames = symbolizer.frames(module(""), 0x7f0000101f);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "train");
  EXPECT_EQ(frames[0].file, "/home/me/model.py");
  EXPECT_EQ(symbolizer.frames(module(""), 0x7f00001020)[0].function, "stub");
  EXPECT_EQ(symbolizer.frames(module(""), 0x7f00001030)[0].function, "");
}

TEST(BaseName, DropsArgumentsParametersAndReturnType) {
  auto base = Symbolizer::base_name;
  EXPECT_EQ(base("main"), "main");
  EXPECT_EQ(base("void app::Solver<int>::outer<3>(int) const"), "app::Solver::outer");
  EXPECT_EQ(base("std::vector<int, std::allocator<int> >::push_back(int const&)"), "std::vector::push_back");
  EXPECT_EQ(base("unsigned long f<(1 > 2)>(void (*)(int), char)"), "f");
  EXPECT_EQ(base("decltype (a + b) ns::add<int, int>(int, int)"), "ns::add");
  EXPECT_EQ(base("f[abi:cxx11](int)"), "f");
  EXPECT_EQ(base("f(int) [clone .isra.0]"), "f");
  EXPECT_EQ(base("(anonymous namespace)::g<int>(int)"), "(anonymous namespace)::g");
  EXPECT_EQ(base("thrust::detail::temporary_array<float, thrust::cuda_cub::tag>::~temporary_array()"),
            "thrust::detail::temporary_array::~temporary_array");
  EXPECT_EQ(base(""), "");
}

TEST(BaseName, OperatorsAndLambdasSurvive) {
  auto base = Symbolizer::base_name;
  EXPECT_EQ(base("std::ostream& operator<< <char>(std::ostream&, char)"), "operator<<");
  EXPECT_EQ(base("bool ns::operator< <int>(int, int)"), "ns::operator<");
  EXPECT_EQ(base("A::operator()(int) const"), "A::operator()");
  EXPECT_EQ(base("A<int>::operator->() const"), "A::operator->");
  EXPECT_EQ(base("A::operator new[](unsigned long)"), "A::operator new[]");
  EXPECT_EQ(base("A::operator std::vector<int>() const"), "A::operator std::vector");
  EXPECT_EQ(base("operator_like(int)"), "operator_like");
  EXPECT_EQ(base("void run<int>(int)::{lambda(int)#1}::operator()(int) const"),
            "run::{lambda#1}::operator()");
  EXPECT_EQ(base("main::<lambda(int)>::operator()"), "main::{lambda}::operator()");
}

ReportFrame frame(std::string function, std::string module, std::string file = "") {
  ReportFrame result;
  result.function = std::move(function);
  result.module = std::move(module);
  result.file = std::move(file);
  return result;
}

TEST(RuntimeApi, SharedRuntimeByItsModule) {
  EXPECT_EQ(
      runtime_api({frame("", "/usr/lib/libcudart.so.12"), frame("cudaFree_ptsz", "/usr/lib/libcudart.so.12"),
                   frame("step()", "/app", "a.cc")}),
      "cudaFree");
  EXPECT_EQ(runtime_api({frame("", "/usr/lib/libcudart.so.12"), frame("cudaFree", "/app")}), "");
}

TEST(RuntimeApi, StaticRuntimeBySymbol) {
  EXPECT_EQ(runtime_api({frame("", "/app"), frame("__cudart512", "/app"), frame("cudaMemcpy", "/app"),
                         frame("step()", "/app", "a.cc")}),
            "cudaMemcpy");
  EXPECT_EQ(runtime_api({frame("cudaGetDeviceProperties_v2", "/app")}), "cudaGetDeviceProperties");
}

TEST(RuntimeApi, NotAcrossTheProgramsOwnCode) {
  EXPECT_EQ(runtime_api({frame("step()", "/app", "a.cc"), frame("cudaMemcpy", "/app")}), "");
  EXPECT_EQ(runtime_api({frame("cudaSolver(int)", "/app"), frame("main", "/app")}), "");
  EXPECT_EQ(runtime_api({frame("cudamodel", "/app")}), "");
  EXPECT_EQ(runtime_api({frame("", "/libcublas.so"), frame("cudaFree", "/app")}), "");
  EXPECT_EQ(runtime_api({}), "");
}

}  // namespace
}  // namespace diogenes
