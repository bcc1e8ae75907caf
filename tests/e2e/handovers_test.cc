// What stage 3 records of a program whose threads hand results to each other by everything that POSIX offers,
// and that it runs as alone. The program's order is the same in every run, whoever is scheduled when.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analysis/runs/decisions.h"
#include "measured.h"
#include "trace/reader.h"

namespace diogenes::e2e {
namespace {

struct Recorded {
  OrderRecord record;
  uint32_t file;
};

struct Orders {
  std::vector<Recorded> all;
  std::set<uint32_t> with_operations;  // thread files
  uint64_t lost = 0;
  uint32_t earlier_threads = 0;

  std::vector<Recorded> acquires(OrderObject object) const { return of(object, kAcquires); }
  std::vector<Recorded> releases(OrderObject object) const { return of(object, 0); }

 private:
  std::vector<Recorded> of(OrderObject object, int flag) const {
    std::vector<Recorded> result;
    for (const Recorded& one : all)
      if (one.record.object == object && (one.record.flags & kAcquires) == flag) result.push_back(one);
    return result;
  }
};

// Of the process that recorded most: the program forks.
Orders read_orders(const std::string& session) {
  Orders result;
  auto stage = read_stage(session + "/memory-tracing");
  if (!stage.ok()) return result;
  for (const ProcessTrace& process : stage.value().processes) {
    Orders orders;
    orders.lost = process.process.drops[static_cast<int>(Drop::orders_full)];
    orders.earlier_threads = process.process.earlier_threads;
    for (const ThreadTrace& thread : process.threads)
      thread.visit([&](const auto& record, uint32_t) {
        if constexpr (std::is_same_v<std::decay_t<decltype(record)>, OrderRecord>)
          orders.all.push_back({record, thread.ordinal()});
        if constexpr (std::is_same_v<std::decay_t<decltype(record)>, OperationRecord>)
          orders.with_operations.insert(thread.ordinal());
      });
    if (orders.all.size() > result.all.size()) result = std::move(orders);
  }
  return result;
}

bool is_lock(OrderObject object) {
  return object == OrderObject::mutex || object == OrderObject::read_write_lock;
}

class Handovers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::vector<std::string> command = {built("bin/tests/programs/handovers")};
    const auto alone = run_alone(command);
    const auto measured =
        run_measured(command, "", [](const std::string& session) { orders_ = read_orders(session); });
    changes_ = changes(alone, measured);
    output_ = alone.output;
  }

  static inline Orders orders_;
  static inline std::vector<std::string> changes_;
  static inline std::string output_;
};

TEST_F(Handovers, ChangeNothing) {
  for (const auto& change : changes_) ADD_FAILURE() << change;
  EXPECT_NE(output_.find("many threads: 0\n"), std::string::npos) << output_;
  EXPECT_EQ(orders_.lost, 0u);
}

// Each acquire names a release that was recorded, or that was counted after one that was, by another thread
// and earlier. Of locks, those that slept are recorded, whoever held it.
TEST_F(Handovers, AnAcquireFollowsARelease) {
  ASSERT_FALSE(orders_.all.empty());
  for (const Recorded& acquire : orders_.all) {
    if (!(acquire.record.flags & kAcquires) || is_lock(acquire.record.object)) continue;
    bool found = false;
    for (const Recorded& release : orders_.all)
      found |= !(release.record.flags & kAcquires) && release.record.object == acquire.record.object &&
               release.record.address == acquire.record.address &&
               release.record.sequence <= acquire.record.sequence && release.file != acquire.file &&
               release.record.at_ns <= acquire.record.at_ns;
    EXPECT_TRUE(found) << "object " << static_cast<int>(acquire.record.object) << " of thread "
                       << acquire.file << ", sequence " << acquire.record.sequence;
    EXPECT_FALSE(acquire.record.flags & kNotSeen);
  }
}

// 13 threads that hand over, or are made for the rarer cases, and 200.
TEST_F(Handovers, EveryThreadHasAStartAndAnEnd) {
  EXPECT_EQ(orders_.earlier_threads, 1u);  // main
  const auto starts = orders_.acquires(OrderObject::thread_start);
  EXPECT_EQ(starts.size(), 213u);
  for (const Recorded& start : starts) {
    EXPECT_TRUE(start.record.flags & kForced);
    EXPECT_EQ(start.record.sequence, 1u);
  }
  EXPECT_EQ(orders_.releases(OrderObject::thread_end).size(), 213u);
  // The first of them did work on the GPU, and whoever joins it learns so.
  EXPECT_GE(orders_.acquires(OrderObject::thread_end).size(), 1u);
}

TEST_F(Handovers, MutexesAndReadWriteLocks) {
  EXPECT_GE(orders_.releases(OrderObject::mutex).size(), 1u);
  EXPECT_GE(orders_.releases(OrderObject::read_write_lock).size(), 1u);
  for (const Recorded& one : orders_.all) {
    if (!is_lock(one.record.object)) continue;
    EXPECT_FALSE(one.record.flags & kForced);
    EXPECT_EQ((one.record.flags & kAcquires) != 0, (one.record.flags & kBlocked) != 0);
  }
}

TEST_F(Handovers, AConditionThatWasWaitedFor) {
  const auto acquires = orders_.acquires(OrderObject::condition);
  ASSERT_EQ(acquires.size(), 1u);
  EXPECT_EQ(acquires[0].record.sequence, 1u);
  EXPECT_TRUE(acquires[0].record.flags & kBlocked);
}

// To and fro three times, each wait for the post of its round; and one from a signal handler.
TEST_F(Handovers, Semaphores) {
  std::map<uint64_t, std::vector<uint32_t>> sequences;
  for (const Recorded& acquire : orders_.acquires(OrderObject::semaphore))
    sequences[acquire.record.address].push_back(acquire.record.sequence);
  std::vector<std::vector<uint32_t>> all;
  for (const auto& [address, of_one] : sequences) all.push_back(of_one);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<std::vector<uint32_t>>{{1}, {1, 2, 3}, {1, 2, 3}}));
}

// Three threads, four rounds: all three leave a round because all three came.
TEST_F(Handovers, Barriers) {
  std::map<uint32_t, int> left;
  for (const Recorded& acquire : orders_.acquires(OrderObject::barrier)) {
    EXPECT_TRUE(acquire.record.flags & kForced);
    ++left[acquire.record.sequence];
  }
  EXPECT_EQ(left, (std::map<uint32_t, int>{{3, 3}, {6, 3}, {9, 3}, {12, 3}}));
}

// Of a watched thread: seen by the kernel's dispatch of system calls, or not at all where there is none.
TEST_F(Handovers, Futexes) {
  // How often threads meet at futexes of libraries is a matter of chance.
  for (const Recorded& acquire : orders_.acquires(OrderObject::futex))
    EXPECT_FALSE(acquire.record.flags & kForced);
}

// Two processes without CUDA, one of them another program, reach into the first: 3 rounds, in each 5 reads by
// process_vm_readv, 2 by /proc/PID/mem, of which the opening is recorded, and 1 write. What fails is no access.
TEST(Peers, WhatTheyReachIsRecordedByThem) {
  struct Reader {
    uint64_t reads = 0, writes = 0, files = 0;
    bool operator==(const Reader&) const = default;
  };
  std::vector<Reader> readers;
  const auto measured =
      run_measured({built("bin/tests/programs/peers")}, "", [&](const std::string& session) {
        auto stage = read_stage(session + "/memory-tracing");
        ASSERT_TRUE(stage.ok());
        EXPECT_EQ(stage->missing, std::vector<std::string>{});
        ASSERT_FALSE(stage->processes.empty());
        for (const ProcessTrace& process : stage->processes) {
          Reader reader;
          for (const ThreadTrace& thread : process.threads)
            thread.visit([&](const auto& record, uint32_t) {
              if constexpr (std::is_same_v<std::decay_t<decltype(record)>, PeerAccessRecord>) {
                const bool file = record.process == PeerAccessRecord::kEveryProcess;
                EXPECT_EQ(record.bytes == 0, file);
                ++(file ? reader.files : record.access == Touching::writes ? reader.writes : reader.reads);
              }
            });
          if (!process.process.used_cuda) readers.push_back(reader);
        }
      });
  EXPECT_EQ(readers, std::vector<Reader>(2, {15, 3, 6}));
  bool said = false, files = false;
  for (const auto& notice : measured.report.value("notices", nlohmann::json::array())) {
    files |= notice.value("text", "").find("12 files /proc/PID/mem were opened") != std::string::npos;
    said |= notice.value("text", "").find("36 accesses of other processes to the program's memory") !=
            std::string::npos;
  }
  EXPECT_TRUE(said && files) << measured.report_text;
}

// What a sleep costs on this machine is measured where threads wake each other, and only there.
TEST(SleepCosts, AreMeasuredWhereThreadsWakeEachOther) {
  const std::string schedule = built("bin/examples/schedule");
  uint64_t sleeps = 0;
  const auto threads =
      run_measured({schedule, "backward", "--iterations", "400"}, "",
                   [&](const std::string& session) { sleeps = count_thread_sleeps(session + "/tracing"); });
  EXPECT_GE(sleeps, 50u);
  const auto costs = threads.session["sleep_costs"];
  ASSERT_EQ(costs.size(), 16u);
  for (const auto& cost : costs) EXPECT_GT(cost["wakes_after_ns"], 0);
  const auto one_thread =
      run_measured({schedule, "cpu_bound", "--iterations", "100"}, "",
                   [&](const std::string& session) { sleeps = count_thread_sleeps(session + "/tracing"); });
  EXPECT_EQ(sleeps, 0u);
  EXPECT_EQ(one_thread.session["sleep_costs"].size(), 0u);
}

}  // namespace
}  // namespace diogenes::e2e
