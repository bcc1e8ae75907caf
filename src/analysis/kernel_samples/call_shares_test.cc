// Shares of callers, worked by hand.
#include "analysis/kernel_samples/call_shares.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

// So many samples that shares are known well.
SampledCall call(uint32_t caller, uint32_t callee, double calls) {
  return {caller, callee, calls, 1000 * calls};
}
double share_of(const CallShares& shares, size_t call) { return shares.share[call]; }

// The paper's Figure 4: A calls B and C, these the component of D and E with 1 and 2 samples; that calls F.
TEST(CallShares, AsInThePaper) {
  enum { a, b, c, d, e, f };
  const CallShares shares = share_calls(6, {call(a, b, 1), call(a, c, 1), call(b, d, 1), call(c, d, 2),
                                            call(d, e, 5), call(e, d, 5), call(d, f, 0)});
  EXPECT_EQ(shares.component[d], shares.component[e]);
  EXPECT_EQ(shares.members[shares.component[d]], (std::vector<uint32_t>{d, e}));
  EXPECT_EQ(share_of(shares, 0), 1);
  EXPECT_EQ(share_of(shares, 1), 1);
  EXPECT_DOUBLE_EQ(share_of(shares, 2), 1.0 / 3);
  EXPECT_DOUBLE_EQ(share_of(shares, 3), 2.0 / 3);
  EXPECT_EQ(share_of(shares, 4), 0);  // within the component
  EXPECT_EQ(share_of(shares, 5), 0);
  EXPECT_EQ(share_of(shares, 6), 1);  // the one call, though nothing was sampled there
  for (const uint32_t function : {b, c, d, f}) EXPECT_FALSE(shares.on_top[shares.component[function]]);
  EXPECT_TRUE(shares.on_top[shares.component[a]]);
}

// Half and half of n samples: each share has the error sqrt(.25 / n), which is .05 at 100.
TEST(CallShares, WithFewSamplesAFunctionIsKeptApart) {
  for (const double issued : {49.0, 51.0}) {
    const CallShares shares = share_calls(2, {{0, 1, 10, issued}, {0, 1, 10, issued}});
    EXPECT_EQ(shares.apart[shares.component[1]], issued < 50) << issued;
    EXPECT_EQ(shares.on_top[shares.component[1]], issued < 50);
    EXPECT_EQ(shares.share[0], issued < 50 ? 0 : 0.5);
  }
  const CallShares none = share_calls(2, {{0, 1, 0, 0}, {0, 1, 0, 0}});
  EXPECT_TRUE(none.apart[none.component[1]]);
}

TEST(CallShares, ACallOfItselfIsNoCaller) {
  const CallShares shares = share_calls(2, {call(0, 1, 3), call(1, 1, 100), call(1, 1, 100)});
  EXPECT_EQ(shares.share, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(shares.members.size(), 2u);
}

TEST(CallShares, CallsOfFunctionsThatAreNotThereAreLeftOut) {
  const CallShares shares = share_calls(1, {call(0, 7, 1), call(9, 0, 1)});
  EXPECT_EQ(shares.share, (std::vector<double>{0, 0}));
  EXPECT_TRUE(share_calls(0, {}).members.empty());
}

TEST(CallShares, CalleesComeBeforeTheirCallersAlsoInLongChains) {
  std::vector<SampledCall> calls;
  constexpr uint32_t kFunctions = 200'000;
  for (uint32_t i = 0; i + 1 < kFunctions; ++i) calls.push_back(call(i, i + 1, 1));
  const CallShares shares = share_calls(kFunctions, calls);
  for (uint32_t i = 0; i + 1 < kFunctions; ++i) ASSERT_LT(shares.component[i + 1], shares.component[i]);
}

}  // namespace
}  // namespace diogenes
