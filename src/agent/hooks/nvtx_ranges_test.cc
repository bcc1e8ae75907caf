// What an instance of NVTX that calls the agent leaves in the thread's file. The tests of one process share the region's name.
#include "agent/hooks/nvtx_ranges.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "agent/hooks/testing/nvtx_instance.h"

extern "C" int InitializeInjectionNvtx2(diogenes::nvtx::GetExportTable get);

namespace diogenes::agent {

// What the agent gives.
thread_local constinit ThreadState thread_state;
PassThrough::PassThrough() { ++thread_state.pass; }
PassThrough::~PassThrough() { --thread_state.pass; }
void count_drop(Drop) {}
bool is_appending() { return false; }
const MappedPlan& plan() {
  static const Plan tracing = [] {
    Plan plan{};
    plan.stage = Stage::tracing;
    return plan;
  }();
  static const MappedPlan mapped{.plan = &tracing};
  return mapped;
}

namespace {

std::string written;  // ( a begin, ) an end, and names of other ranges

}  // namespace

bool append_record(const void* appended, OperationId*) {
  const auto& record = *static_cast<const RangeRecord*>(appended);
  EXPECT_EQ(record.type, RecordType::range);
  EXPECT_GT(record.at_ns, 0);
  EXPECT_EQ(thread_state.pass, 1);
  written += record.edge == RangeEdge::begin ? "(" : record.edge == RangeEdge::end ? ")" : "";
  written.append(record.name, strnlen(record.name, sizeof record.name));
  return true;
}

namespace {

using nvtx::testing::Instance;

class Ranges : public testing::Test {
 protected:
  void SetUp() override {
    thread_state = {};
    forget_ranges();
    written.clear();
    setenv(kRegionVariable, "train", 1);
    ASSERT_TRUE(nvtx.load(InitializeInjectionNvtx2));
    errno = 77;
  }
  void TearDown() override { EXPECT_EQ(errno, 77); }
  Instance nvtx;
};

TEST_F(Ranges, AreHeardHoweverTheyAreNamed) {
  nvtx.push("train"), nvtx.pop();
  nvtx.push(Instance::named("train")), nvtx.pop();
  nvtx.push(Instance::named(nvtx.string(0, "train"))), nvtx.pop();
  nvtx.push(7, Instance::named(nvtx.string(7, "train"))), nvtx.pop(7);
  nvtx.end(nvtx.start("train"));
  nvtx.end(nvtx.start(Instance::named("train")));
  nvtx.end(7, nvtx.start(7, Instance::named("train")));
  EXPECT_EQ(written, "()()()()()()()");
}

TEST_F(Ranges, OfOtherNamesAreNotedOnce) {
  for (int i = 0; i < 2; ++i) nvtx.push("load"), nvtx.pop();
  nvtx.push(Instance::named(nvtx.string(0, "a name of more than 22 bytes"))), nvtx.pop();
  EXPECT_EQ(nvtx.start("load"), 0u) << "as without a tool";
  EXPECT_EQ(written, "loada name of more than 22");
}

TEST_F(Ranges, OfThatNameInEachOtherAreOne) {
  nvtx.push("train");
  nvtx.push(L"wide");
  nvtx.push(3, Instance::named("train"));
  nvtx.pop(3);
  nvtx.pop();
  EXPECT_EQ(written, "(");
  nvtx.pop();
  EXPECT_EQ(written, "()");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nvtx.pop(), nvtx::kNoTracking) << "without a push";
  EXPECT_EQ(nvtx.push("train"), nvtx::kNoTracking);
  EXPECT_EQ(written, "()(");
}

TEST_F(Ranges, OfAParentAreNotTheChilds) {
  nvtx.push("train");
  forget_ranges();
  nvtx.push("train");
  nvtx.pop();
  nvtx.pop();
  EXPECT_EQ(written, "(()");
}

TEST_F(Ranges, WithNamesThatAreNoneAreOthers) {
  auto* pages =
      static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* end = pages + 4096;  // of what is there
  ASSERT_EQ(munmap(end, 4096), 0);
  memcpy(end - 6, "train", 6);
  nvtx.push(end - 6);
  nvtx.pop();
  EXPECT_EQ(written, "()") << "a name may end there";
  memcpy(end - 5, "train", 5);
  nvtx.push(end - 5);
  nvtx.push(static_cast<const char*>(nullptr));
  nvtx.push(reinterpret_cast<const char*>(uintptr_t{64}));
  nvtx.push(static_cast<const nvtx::Attributes*>(nullptr));
  nvtx.push(reinterpret_cast<const nvtx::Attributes*>(end - 8));
  nvtx.push(Instance::named(reinterpret_cast<const char*>(uintptr_t{64})));
  nvtx.push(Instance::named(nvtx::StringHandle{0}));
  nvtx.push(std::string(1000, 'x').c_str());
  EXPECT_EQ(nvtx.string(0, nullptr), 0u);
  nvtx.end(42);
  munmap(pages, 4096);
  EXPECT_EQ(written, "()" + std::string(sizeof(RangeRecord::name), 'x'));
}

}  // namespace
}  // namespace diogenes::agent
