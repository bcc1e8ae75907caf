// The examples: what the report says of their waits is held against the adversarial driver.
#include <gtest/gtest.h>

#include "oracle.h"

namespace diogenes::oracle {
namespace {

struct Example {
  const char *name, *iterations;
};

class Examples : public testing::TestWithParam<Example> {};

TEST_P(Examples, PrintTheSameWithoutTheWaitsThatWereCalledNeedless) {
  const std::vector<std::string> command = {tool(std::string("bin/examples/") + GetParam().name),
                                            "--iterations", GetParam().iterations};
  const Judged judged = judge(command);
  ASSERT_EQ(judged.trouble, "");
  uint64_t skipped = 0, moved = 0;
  late_list(judged.sites, &skipped, &moved);
  EXPECT_GT(skipped, 0u);
  EXPECT_EQ(hold_against_oracle(command, judged), "");
}

std::string title(const testing::TestParamInfo<Example>& example) { return example.param.name; }
INSTANTIATE_TEST_SUITE_P(, Examples,
                         testing::Values(Example{"als", "12"}, Example{"cfd", "12"},
                                         Example{"multigrid", "16"}, Example{"gaussian", "16"}),
                         title);

}  // namespace
}  // namespace diogenes::oracle
