#include "trace/session.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

Session example() {
  Session session;
  session.tool_version = "0.1";
  session.command = {"./app", "--size", "3"};
  session.environment = {{"CUDA_VISIBLE_DEVICES", "0"}};
  session.started_ns = 7'000'000'000'000'000'001;
  session.simulated = true;
  session.wait_functions = {{0x22bb00, 27, 28, false}, {0xfc9ee0, 1, 1, true}};
  session.runs = {{"baseline", "baseline", "complete", 1.5, 1.25, 3, "", 0},
                  {"tracing", "tracing", "timeout", 2.5, 1, 137, "stdout differs at line 2", 1, 9}};
  session.request = {true, "rm -f x", 1.5, "off", true, 3, false, 1 << 20, 3, "step"};
  session.streams = {"stdin", 8, true, {"stdin", "stderr"}};
  session.gpu_code = {{"/app", 1, 2, 3, {"sm_70", "compute_70"}}};
  session.sleep_costs = {{5'000, 7'100, 1'800}, {300'000, 14'000, 1'900}};
  session.finished = true;
  session.threshold_percent = 0.25;
  session.exit_status = 3;
  session.notices = {"one"};
  return session;
}

TEST(Session, RoundTrip) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_session(folder.path(), example()).ok());
  auto read = read_session(folder.path());
  ASSERT_TRUE(read.ok()) << read.error().c_str();
  EXPECT_EQ(read->command, example().command);
  EXPECT_EQ(read->environment, example().environment);
  EXPECT_EQ(read->started_ns, example().started_ns);
  EXPECT_TRUE(read->simulated);
  ASSERT_EQ(read->wait_functions.size(), 2u);
  EXPECT_EQ(read->wait_functions[0].offset, 0x22bb00u);
  EXPECT_TRUE(read->wait_functions[1].queue);
  ASSERT_EQ(read->runs.size(), 2u);
  EXPECT_EQ(read->runs[1].state, "timeout");
  EXPECT_EQ(read->runs[1].runtime_s, 2.5);
  EXPECT_EQ(read->runs[1].output_difference, "stdout differs at line 2");
  EXPECT_EQ(read->runs[1].signal, 9);
  EXPECT_TRUE(read->request.plain_run);
  EXPECT_EQ(read->request.prepare, "rm -f x");
  EXPECT_EQ(read->request.timeout_s, 1.5);
  EXPECT_EQ(read->request.gpu_times, "off");
  EXPECT_TRUE(read->request.samples);
  EXPECT_EQ(read->request.repeat, 3);
  EXPECT_FALSE(read->request.follow_values);
  EXPECT_EQ(read->request.max_trace_bytes, 1u << 20);
  EXPECT_EQ(read->request.region, "step");
  EXPECT_EQ(read->streams.input, "stdin");
  EXPECT_EQ(read->streams.input_begin, 8);
  EXPECT_TRUE(read->streams.joined);
  EXPECT_EQ(read->streams.terminal, (std::vector<std::string>{"stdin", "stderr"}));
  ASSERT_EQ(read->sleep_costs.size(), 2u);
  EXPECT_EQ(read->sleep_costs[1].slept, 300'000);
  EXPECT_EQ(read->sleep_costs[1].wakes_after, 14'000);
  EXPECT_EQ(read->sleep_costs[1].waker_pays, 1'900);
  ASSERT_EQ(read->gpu_code.size(), 1u);
  EXPECT_EQ(read->gpu_code[0].file, "/app");
  EXPECT_EQ(read->gpu_code[0].native, 1u);
  EXPECT_EQ(read->gpu_code[0].compiled, 2u);
  EXPECT_EQ(read->gpu_code[0].neither, 3u);
  EXPECT_EQ(read->gpu_code[0].built_for, (std::vector<std::string>{"sm_70", "compute_70"}));
  EXPECT_TRUE(read->finished);
  EXPECT_EQ(read->threshold_percent, 0.25);
  EXPECT_EQ(read->exit_status, 3);
  EXPECT_EQ(read->notices, example().notices);
  EXPECT_FALSE(fs::exists(folder.path() / "session.json.new"));
}

TEST(Session, InvalidUtf8IsKeptReadable) {
  TemporaryFolder folder;
  Session session = example();
  session.command = {"./\xff\xfe"};
  ASSERT_TRUE(write_session(folder.path(), session).ok());
  EXPECT_TRUE(read_session(folder.path()).ok());
}

TEST(Session, MissingAndUnknownKeysAndWrongKindsAreTaken) {
  TemporaryFolder folder;
  std::ofstream(folder.path() / "session.json")
      << R"({"schema": "diogenes-session/1", "new": {}, "runs": [{"name": "tracing"}, 3], "command": "x"})";
  auto read = read_session(folder.path());
  ASSERT_TRUE(read.ok()) << read.error().c_str();
  ASSERT_EQ(read->runs.size(), 1u);
  EXPECT_EQ(read->runs[0].runtime_s, 0);
  EXPECT_TRUE(read->command.empty());
  EXPECT_EQ(read->threshold_percent, 0.1);
}

TEST(Session, ErrorsSayWhatIsWrong) {
  TemporaryFolder folder;
  auto text = [&](const char* content) {
    if (content) std::ofstream(folder.path() / "session.json") << content;
    auto read = read_session(folder.path());
    return read.ok() ? std::string("ok") : std::string(read.error().c_str());
  };
  EXPECT_NE(text(nullptr).find("not a session"), std::string::npos);
  EXPECT_NE(text("{\"schema\": ").find("not valid JSON"), std::string::npos);
  EXPECT_NE(text("[]").find("no object"), std::string::npos);
  EXPECT_NE(text("{}").find("no session of this tool"), std::string::npos);
  EXPECT_NE(text("{\"schema\": \"diogenes-session/2\"}").find("use the tool that wrote it"),
            std::string::npos);
  EXPECT_FALSE(write_session(folder.path() / "missing", example()).ok());
}

TEST(Session, NewestIsByStart) {
  TemporaryFolder folder;
  EXPECT_FALSE(newest_session(folder.path()).ok());
  for (auto [name, start] : {std::pair{"a.1.diogenes", 5}, {"a.2.diogenes", 9}, {"b.1.diogenes", 7}}) {
    fs::create_directories(folder.path() / name);
    Session session;
    session.started_ns = start;
    ASSERT_TRUE(write_session(folder.path() / name, session).ok());
  }
  fs::create_directories(folder.path() / "z.9.diogenes");  // not a session
  auto newest = newest_session(folder.path());
  ASSERT_TRUE(newest.ok());
  EXPECT_EQ(newest->filename(), "a.2.diogenes");
}

}  // namespace
}  // namespace diogenes
