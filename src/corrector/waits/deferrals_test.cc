#include "corrector/waits/deferrals.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace diogenes::corrector {
namespace {

constexpr int kSites = 2;
alignas(8) unsigned char file[sizeof(CorrectionsHeader) + kSites * sizeof(CorrectionCounts)];
Plan plan{};
const CorrectedSite sites[kSites] = {{1, 0, 0}, {2, 0, kIsNeeded}};

// Nothing is to need the waits of the first site; something is to need those of the second.
struct Uses : testing::Test {
  std::unique_ptr<Marks> marks = std::make_unique<Marks>();
  Counts counts;
  Deliveries deliveries;
  std::unique_ptr<Deferrals> deferrals = std::make_unique<Deferrals>(*marks, counts, deliveries);

  void SetUp() override {
    plan.corrected_count = kSites;
    CorrectorServices services{};
    services.plan = &plan, services.sites = sites;
    services.map_file = [](const char*, uint64_t) -> void* { return file; };
    memset(file, 0, sizeof file);
    counts.start(services);
  }
  Deferral wait(int site, uint64_t streams) {
    const Deferral made = deferrals->begin(site);
    deferrals->note_wait(made, streams, sites[site].how & kIsNeeded);
    return made;
  }
  uint64_t used(int site) {
    return reinterpret_cast<CorrectionCounts*>(file + sizeof(CorrectionsHeader))[site].used;
  }
};

TEST_F(Uses, TellOfAWaitThatNothingWasToNeed) {
  const Deferral first = wait(0, 1);
  EXPECT_FALSE(counts.was_used(0));
  deferrals->note_use(first);
  EXPECT_TRUE(counts.was_used(0));
  EXPECT_EQ(used(0), 1u);
}

TEST_F(Uses, TellNothingOfOneThatSomethingNeeds) {
  deferrals->note_use(wait(1, 1));
  EXPECT_EQ(used(0) + used(1), 0u);
}

// A needed wait for the same stream came in between: that one told the program, in another stream it would not have.
TEST_F(Uses, BehindANeededWaitTellNothing) {
  const Deferral first = wait(0, 0b01), second = wait(0, 0b10);
  wait(1, 0b10);
  deferrals->note_use(second);
  EXPECT_EQ(used(0), 0u);
  deferrals->note_use(first);
  EXPECT_EQ(used(0), 1u);
}

TEST_F(Uses, OfWhatIsForgottenTellNothing) {
  const Deferral first = wait(0, 1);
  for (uint32_t i = 0; i < kDeferrals; ++i) wait(0, 1);
  deferrals->note_use(first);
  EXPECT_EQ(used(0), 0u);
}

}  // namespace
}  // namespace diogenes::corrector
