// What becomes of results behind their first use, as the report tells: programs whose wait is needed, and which then
// branch, compute, copy, or hand the value on.
#include <gtest/gtest.h>

#include <fstream>

#include "base/watchpoints_fire.h"
#include "pythons.h"

namespace diogenes::e2e {
namespace {

using nlohmann::json;

bool followed_in(const json& session) {
  for (const auto& run : session.value("runs", json::array()))
    if (run.value("name", "") == "sync-use") return true;
  return false;
}

// Of the needed wait for the stream, which may be misplaced a little; null: none was followed.
json value_of(const Measured& measured) {
  for (const auto& problem : measured.report.value("problems", json::array()))
    if (problem["first_use"].is_object() && problem["first_use"]["value"].is_object())
      return problem["first_use"]["value"];
  for (const auto& required : measured.report.value("required", json::array()))
    if (required.value("operation", "") == "cuStreamSynchronize" && required["used_by"].is_object())
      return required["used_by"].value("value", json());
  return {};
}

bool names(const json& stack, const std::string& function) {
  for (const auto& frame : stack)
    if (text(frame, "function").find(function) != std::string::npos) return true;
  return false;
}

Measured measured(const std::string& how) {
  const std::vector<std::string> command = {built("bin/tests/programs/values"), how};
  const auto alone = run_alone(command);
  EXPECT_EQ(alone.exit_status, 0) << alone.output << alone.errors;
  Measured result = run_measured(command);
  for (const auto& change : changes(alone, result)) ADD_FAILURE() << change;
  EXPECT_TRUE(followed_in(result.session));
  return result;
}

struct Expected {
  std::string how, use, function;
  bool copied, computed;
};

// Values are followed by debug registers.
template <typename Parameter>
class WithWatchpoints : public testing::TestWithParam<Parameter> {
  void SetUp() override {
    if (watchpoints_never_fire()) GTEST_SKIP() << "watchpoints do not fire on this machine";
  }
};

class Values : public WithWatchpoints<Expected> {};

TEST_P(Values, TheirUseIsTold) {
  const Expected& expected = GetParam();
  const Measured result = measured(expected.how);
  const json value = value_of(result);
  ASSERT_TRUE(value.is_object()) << result.report_text << result.report.value("required", json()).dump(1);
  ASSERT_GE(value["followed"], 1);
  EXPECT_LE(value["followed"], value["of"]);
  const json first = value["uses"][0];
  EXPECT_EQ(first["use"], expected.use) << value.dump(1);
  EXPECT_TRUE(names(first["stack"], expected.function)) << value.dump(1);
  EXPECT_EQ(value["copied"] > 0, expected.copied) << value.dump(1);
  EXPECT_EQ(value["computed"] > 0, expected.computed) << value.dump(1);
}

INSTANTIATE_TEST_SUITE_P(
    , Values,
    testing::Values(Expected{"branch", "decides-a-branch", "by_a_branch", false, false},
                    Expected{"arithmetic", "decides-a-branch", "by_arithmetic", true, true},
                    Expected{"copy", "decides-a-branch", "of_the_copies", true, false},
                    Expected{"kernel", "is-passed-to-a-kernel", "by_a_kernel", true, true},
                    Expected{"system-call", "goes-into-a-system-call", "by_a_system_call", true, false}),
    [](const auto& of) {
      std::string name = of.param.how;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

class ValuesOnSmallStacks : public WithWatchpoints<const char*> {};

// What is written below its stacks the program prints.
TEST_P(ValuesOnSmallStacks, AreFollowedWithoutWritingBelow) {
  const Measured result = measured(GetParam());
  const json value = value_of(result);
  ASSERT_TRUE(value.is_object()) << result.report_text << result.report.value("required", json()).dump(1);
  EXPECT_GE(value["followed"], 1);
}

INSTANTIATE_TEST_SUITE_P(, ValuesOnSmallStacks, testing::Values("coroutine", "handler"),
                         [](const auto& of) { return std::string(of.param); });

TEST(NoValues, AreFollowedWhereTheUserSaysSo) {
  const bench::TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes";
  const auto run =
      bench::run_process({built("bin/diogenes"), "run", "--driver", "simulated", "--no-follow-values",
                          "--output", session, "--", built("bin/tests/programs/values"), "branch"},
                         {.environment = {"XDG_CACHE_HOME=" + built("e2e-cache")}, .limit_s = 180});
  EXPECT_EQ(run.exit_status, 0) << run.errors;
  // On a busy machine that run is made for first uses; no value is followed in it.
  std::ifstream in(session + "/report.json");
  const json report = json::parse(in, nullptr, false);
  ASSERT_TRUE(report.is_object()) << run.errors;
  for (const json& required : report.at("required")) {
    const json& use = required.at("used_by");
    EXPECT_TRUE(use.is_null() || use.at("value").is_null()) << required.dump(1);
  }
}

class PythonValues : public WithWatchpoints<std::string> {};

TEST_P(PythonValues, AFloatOfPythonIsACopy) {
  const std::vector<std::string> command = {GetParam(), kPrograms + "/values.py", kKernels};
  const auto alone = run_alone(command);
  ASSERT_EQ(alone.exit_status, 0) << alone.output << alone.errors;
  const auto result = run_measured(command);
  for (const auto& change : changes(alone, result)) ADD_FAILURE() << change;
  const json value = value_of(result);
  ASSERT_TRUE(value.is_object()) << result.report_text << result.report.value("required", json()).dump(1);
  EXPECT_GE(value["copied"], 1) << value.dump(1);
  EXPECT_GE(value["converted"], 1) << value.dump(1);
  bool printed = false;
  for (const auto& use : value["uses"]) printed |= use["count"] >= 1 && names(use["stack"], "tell");
  EXPECT_TRUE(printed) << value.dump(1);
}

INSTANTIATE_TEST_SUITE_P(, PythonValues, testing::ValuesIn(interpreters()), title);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PythonValues);

}  // namespace
}  // namespace diogenes::e2e
