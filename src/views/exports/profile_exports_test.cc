// Where time goes, for other tools: sums are the profile's, and names break no format. Read by tools in tests/web.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "views/exports/exports.h"
#include "views/exports/stacks.h"
#include "views/testing/sample_profile.h"
#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

using nlohmann::json;

struct FoldedLine {
  std::vector<std::string> frames;
  int64_t time_us = 0;
};

std::vector<FoldedLine> read_folded(const std::string& text) {
  std::vector<FoldedLine> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    const size_t space = line.rfind(' ');
    FoldedLine one;
    one.time_us = std::stoll(line.substr(space + 1));
    std::istringstream stack(line.substr(0, space));
    for (std::string frame; std::getline(stack, frame, ';');) one.frames.push_back(frame);
    lines.push_back(one);
  }
  return lines;
}

int64_t folded_sum(const std::vector<FoldedLine>& lines, const std::string& outermost) {
  int64_t sum = 0;
  for (const FoldedLine& line : lines)
    if (line.frames[0] == outermost) sum += line.time_us;
  return sum;
}

TEST(CollapsedTime, HasEachContextWithItsOwnTime) {
  const std::string text = to_collapsed_time(contexts_report());
  const auto lines = read_folded(text);
  EXPECT_EQ(folded_sum(lines, "CPU"), 516'000);  // 208 computing, 138 in the driver, 170 waiting
  EXPECT_EQ(folded_sum(lines, "GPU"), 850'000);
  const std::string update =
      "main (main.cc:20);als::iterate (als.cc:180);als::update_theta<float> (als.cc:110)";
  for (const std::string& line :
       {"CPU;" + update + " 50000\n", "CPU;" + update + ";cudaLaunchKernel 20000\n",
        "CPU;" + update + ";cudaFree;[waits for the GPU] 110000\n",
        "GPU;" + update +
            ";cudaLaunchKernel;axpy<float, 4> 24000\n",  // 300 ms, of which 92% lie in places below
        "GPU;" + update + ";cudaLaunchKernel;axpy<float, 4>;loop at axpy.cu:12 to 18;axpy.cu:14 150000\n",
        "GPU;" + update + ";cudaLaunchKernel;axpy<float, 4>;norm;axpy.cu:24 90000\n",
        std::string("CPU;main (main.cc:20);als::iterate (als.cc:180);libsolver.so 5000\n"),
        std::string("CPU;main (main.cc:20);3 smaller ones 3000\n")})
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
}

TEST(CollapsedTime, CutsLongNamesWhereCharactersEnd) {
  std::string name;
  while (name.size() < 4'000) name += "\xe2\x82\xac";
  const std::string frame = one_frame(name);
  EXPECT_LE(frame.size(), 300u);
  EXPECT_EQ(frame.find("\xef\xbf\xbd"), std::string::npos);
  EXPECT_NE(frame.find("..."), std::string::npos);
  EXPECT_EQ(one_frame(frame), frame);
  EXPECT_EQ(one_frame("a;b\nc\xff"), "a:b c\xef\xbf\xbd");
}

TEST(Speedscope, ProfilesAddUpToTheirTimes) {
  const json file = json::parse(to_speedscope(contexts_report()));
  ASSERT_EQ(file["profiles"].size(), 2u);
  const int64_t totals[] = {516'000'000, 850'000'000};
  for (size_t p = 0; p < 2; ++p) {
    const json& profile = file["profiles"][p];
    EXPECT_EQ(profile["type"], "sampled");
    EXPECT_EQ(profile["unit"], "nanoseconds");
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    int64_t sum = 0;
    for (const json& weight : profile["weights"]) sum += weight.get<int64_t>();
    EXPECT_EQ(sum, totals[p]);
    EXPECT_EQ(profile["endValue"], totals[p]);
    for (const json& sample : profile["samples"])
      for (const json& frame : sample) EXPECT_LT(frame.get<size_t>(), file["shared"]["frames"].size());
  }
  // axpy below update_theta: main, iterate, update_theta, the launch, the kernel.
  const json& gpu = file["profiles"][1];
  std::vector<std::string> names;
  for (const json& frame : gpu["samples"][0])
    names.push_back(file["shared"]["frames"][frame.get<size_t>()]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"main", "als::iterate", "als::update_theta<float>",
                                             "cudaLaunchKernel", "axpy<float, 4>"}));
  EXPECT_EQ(gpu["weights"][0], 24'000'000);
}

TEST(PerfettoKernels, HaveTheirNamesAndWhatIsKnownOfThem) {
  const auto slices = [](const Report& report) {
    std::vector<json> found;
    const json trace = json::parse(to_perfetto(report));
    for (const json& event : trace["traceEvents"])
      if (event["ph"] == "X" && event["cat"] == "call" && event["pid"] == 2) found.push_back(event);
    return found;
  };
  const auto axpy = slices(contexts_report());
  ASSERT_EQ(axpy.size(), 4u);
  EXPECT_EQ(axpy[0]["name"], "axpy<float, 4>");
  EXPECT_EQ(axpy[0]["args"],
            (json{{"work", "K1"},
                  {"inside",
                   "62% of its samples in the loop at axpy.cu:12 to 18; there it mostly waits for data from "
                   "memory (71%)"},
                  {"gain_if_half_us", 160'000.0}}));  // of two paths
  Report report = contexts_report();
  report.timeline->names[3] = "reduce_rows";
  EXPECT_EQ(slices(report)[0]["args"]["launched_at"], "/home/me/als/src/als.cc:170 in als::update_x<float>");
}

TEST(ProfileExports, AreValidWithoutAProfileAndWithAnEmptyOne) {
  Report report = als_report();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(to_collapsed_time(report), "");
    const json file = json::parse(to_speedscope(report));
    EXPECT_EQ(file["profiles"].size(), 2u);
    EXPECT_TRUE(file["profiles"][0]["samples"].empty());
    EXPECT_FALSE(to_pprof(report).empty());
    report.profile.emplace();
  }
}

TEST(ProfileExports, KeepWhatTheyAreWithNonsense) {
  const Report report = nonsense_profile_report();
  const auto lines = read_folded(to_collapsed_time(report));
  for (const FoldedLine& line : lines) {
    EXPECT_TRUE(line.frames[0] == "CPU" || line.frames[0] == "GPU");
    EXPECT_LE(line.frames.size(), 11u);
    EXPECT_GT(line.time_us, 0);
  }
  // Of computing what is left: 10 + 40 + 5 + 3; of the driver 6 + 22 + 90; of waiting 60.
  EXPECT_EQ(folded_sum(lines, "CPU"), 236'000);
  const json file = json::parse(to_speedscope(report));
  int64_t sum = 0;
  for (const json& weight : file["profiles"][0]["weights"]) sum += weight.get<int64_t>();
  EXPECT_EQ(sum, 236'000'000);
  EXPECT_FALSE(to_pprof(report).empty());
}

TEST(ProfileExports, StackOfADeepContextIsWhole) {
  const Report report = vast_profile_report();
  EXPECT_EQ(stack_of(report.profile->contexts, 0), (std::vector<uint32_t>{0}));
  const auto stack = stack_of(report.profile->contexts, 255);
  ASSERT_EQ(stack.size(), 255u);
  EXPECT_EQ(stack.front(), 1u);
  EXPECT_EQ(stack.back(), 255u);
}

}  // namespace
}  // namespace diogenes
