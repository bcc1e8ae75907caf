// What a reader of Python's frames must survive: programs that end or fork in the middle, code that comes and
// goes, interpreters that are embedded, two at a time, or not what they say. The program's output stays what
// it is.
#include <fstream>
#include <map>
#include <sstream>

#include "pythons.h"
#include "trace/reader.h"

namespace diogenes::e2e {
namespace {

json problems_of(const Measured& measured) { return measured.report.value("problems", json::array()); }

bool has_notice(const Measured& measured, const std::string& text) {
  for (const auto& notice : measured.report.value("notices", json::array()))
    if (notice.value("text", "").find(text) != std::string::npos) return true;
  return false;
}

Measured unchanged(const std::vector<std::string>& command) {
  const auto alone = run_alone(command);
  EXPECT_EQ(alone.exit_status, 0) << alone.output << alone.errors;
  auto measured = run_measured(command);
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  return measured;
}

class OddPython : public testing::TestWithParam<std::string> {};

TEST_P(OddPython, CodeThatComesAndGoesIsToldApart) {
  const auto measured = unchanged({GetParam(), kPrograms + "/odd.py", kKernels, "cells"});
  std::map<std::string, int> seen, expected;
  for (int i = 0; i < 40; ++i) {
    char place[32];
    snprintf(place, sizeof place, "/cells/%02d.py:%d", i % 20, i + 2);
    expected[place] = 2;
  }
  for (const auto& problem : problems_of(measured)) {
    const json frames = python_frames(problem["stack"]);
    ASSERT_FALSE(frames.empty()) << measured.report_text;
    seen[frames[0][0].get<std::string>() + ":" + frames[0][2].dump()] += problem.value("instances", 0);
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(OddPython, MayEndWhileThreadsCallTheDriver) {
  unchanged({GetParam(), kPrograms + "/odd.py", kKernels, "daemons"});
}

TEST_P(OddPython, MayFork) {
  const auto measured = unchanged({GetParam(), kPrograms + "/odd.py", kKernels, "fork"});
  EXPECT_EQ(measured.run.output, "7\n");
  int instances = 0;
  for (const auto& problem : problems_of(measured)) {
    const json frames = python_frames(problem["stack"]);
    if (!frames.empty() && frames[0][1] == "in_child") instances += problem.value("instances", 0);
  }
  EXPECT_EQ(instances, 16) << measured.report_text;  // of both processes
}

// The first use of a result is seen in a signal's handler, in the middle of the interpreter.
TEST_P(OddPython, ShowsWhereAResultIsUsed) {
  std::map<std::string, int> seen;
  run_measured({GetParam(), kPrograms + "/odd.py", kKernels, "use"}, "", [&](const std::string& session) {
    const auto stage = read_stage(session + "/memory-tracing");
    ASSERT_TRUE(stage.ok());
    for (const ProcessTrace& process : stage->processes)
      for (const ThreadTrace& thread : process.threads)
        for (size_t i = 0; i < thread.record_count(); ++i) {
          if (thread.type(i) != RecordType::touch) continue;
          for (Frame frame : process.stacks.frames(thread.record<TouchRecord>(i).stack))
            if (PythonFrame::is(frame)) {
              const auto code = process.code.code(PythonFrame::of(frame).code);
              seen[std::string(code ? code->name : "lost")]++;
            }
        }
  });
  EXPECT_EQ(seen["touch"], 4);
  EXPECT_EQ(seen["use"], 4);
  EXPECT_EQ(seen["lost"], 0);
}

INSTANTIATE_TEST_SUITE_P(, OddPython, testing::ValuesIn(interpreters()), title);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OddPython);

// libpythons of pyenv.
std::vector<std::string> libraries() {
  std::vector<std::string> found;
  for (const std::string& python : interpreters())
    for (const auto& file : std::filesystem::directory_iterator(
             std::filesystem::path(python).parent_path().parent_path() / "lib")) {
      const std::string name = file.path().filename();
      if (name.starts_with("libpython3.") && name.ends_with(".so.1.0")) found.push_back(file.path());
    }
  return found;
}

class EmbeddedPython : public testing::TestWithParam<std::string> {};

TEST_P(EmbeddedPython, ShowsItsLines) {
  const auto measured = unchanged({built("bin/tests/programs/embedded"), GetParam(), kKernels, kPrograms});
  EXPECT_EQ(measured.run.output, "done 0\n");
  int instances = 0;
  for (const auto& problem : problems_of(measured)) {
    const json frames = python_frames(problem["stack"]);
    if (frames.empty()) continue;
    EXPECT_EQ(frames, json::array({{"<string>", "embedded", 9}, {"<string>", "<module>", 10}}));
    instances += problem.value("instances", 0);
  }
  EXPECT_EQ(instances, 8) << measured.report_text;
}

// What was its thread state, or its runtime, is something else now.
TEST_P(EmbeddedPython, MayBeGone) {
  for (const char* what : {"state", "library"}) {
    const auto measured = unchanged({built("bin/tests/programs/lost_python"), GetParam(), what});
    EXPECT_EQ(measured.run.output, std::string(what) + " lost\n");
  }
}

INSTANTIATE_TEST_SUITE_P(, EmbeddedPython, testing::ValuesIn(libraries()), title);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EmbeddedPython);

TEST(TwoPythons, InOneProcessAreSaidAndLeftAlone) {
  const auto found = libraries();
  if (found.size() < 2) GTEST_SKIP() << "two libpythons are needed";
  const auto measured =
      unchanged({built("bin/tests/programs/embedded"), found[0], kKernels, kPrograms, found[1]});
  for (const auto& problem : problems_of(measured)) EXPECT_TRUE(python_frames(problem["stack"]).empty());
  EXPECT_TRUE(has_notice(measured, "two interpreters run in one process")) << measured.report_text;
}

// The system's interpreter, with some bytes of its file changed.
class Disguised {
 public:
  Disguised(const std::string& from, const std::string& to) {
    std::ifstream in("/usr/bin/python3", std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    std::string image = bytes.str();
    const size_t at = image.find(from);
    good_ = at != std::string::npos && image.find(from, at + 1) == std::string::npos;
    if (good_) image.replace(at, to.size(), to);
    std::ofstream(path(), std::ios::binary) << image;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  // It no longer exports that.
  static Disguised without(const std::string& name) {
    return {'\0' + name + '\0', '\0' + std::string(name.size(), 'X')};
  }
  std::string path() const { return folder_.path() / "python3"; }
  bool good() const { return good_; }  // the bytes were there, once

 private:
  bench::TemporaryFolder folder_;
  bool good_ = false;
};

// Eight bytes, as the interpreter keeps its version.
std::string version_bytes(uint32_t version) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(version >> 8 * i);
  return bytes;
}

Measured with_native_frames(const Disguised& python) {
  auto measured = unchanged({python.path(), kPrograms + "/odd.py", kKernels, "cells"});
  EXPECT_FALSE(problems_of(measured).empty()) << measured.report_text;
  for (const auto& problem : problems_of(measured)) EXPECT_TRUE(python_frames(problem["stack"]).empty());
  return measured;
}

TEST(DisguisedPython, WithoutSymbolsShowsNativeFrames) {
  const auto python = Disguised::without("PyCode_Type");
  if (!python.good()) GTEST_SKIP() << "/usr/bin/python3 exports no PyCode_Type";
  EXPECT_TRUE(has_notice(with_native_frames(python), "stacks show no lines of Python"));
}

TEST(DisguisedPython, OfUnknownVersionShowsNativeFramesAndANotice) {
  const auto asked = run_alone({"/usr/bin/python3", "-c", "import sys; print(sys.hexversion)"});
  const Disguised python(version_bytes(static_cast<uint32_t>(atol(asked.output.c_str()))),
                         version_bytes(0x030f00f0));
  if (!python.good()) GTEST_SKIP() << "/usr/bin/python3 keeps its version elsewhere";
  EXPECT_TRUE(
      has_notice(with_native_frames(python), "Python 3.15: stacks show no lines of Python, because this"));
}

// It is read as 3.10, which keeps its frames elsewhere.
TEST(DisguisedPython, OfAnotherVersionThanItSaysShowsNativeFrames) {
  const auto python = Disguised::without("Py_Version");
  if (!python.good()) GTEST_SKIP() << "/usr/bin/python3 exports no Py_Version";
  with_native_frames(python);
}

}  // namespace
}  // namespace diogenes::e2e
