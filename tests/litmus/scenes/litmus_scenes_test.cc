// The truths of the named scenes, proven: without their tested waits, on the adversarial driver, the needed
// ones print something else and the unnecessary ones do not. What the tool says of them: `verdicts scenes`.
#include <gtest/gtest.h>

#include <cstdlib>

#include "scene_matrix.h"

namespace diogenes::oracle {
namespace {

TEST(LitmusScenes, TheAdversarialDriverBearsOutEveryTruth) {
  const char* only = getenv("LITMUS_CELLS");
  const SceneMatrix played(only ? only : "");
  ASSERT_FALSE(played.scenes.empty());
  EXPECT_EQ(played.untold(), std::vector<std::string>{});
}

}  // namespace
}  // namespace diogenes::oracle
