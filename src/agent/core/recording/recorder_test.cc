// What the agent's writers leave on disk, read back by the trace reader. Every case runs in a child process,
// because the writers are one per process, and because some of the children are killed.
#include "agent/core/recording/recorder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "agent/core/recording/elf_image.h"
#include "agent/core/recording/module_map.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack_table.h"
#include "agent/core/thread_state.h"
#include "trace/reader.h"

namespace diogenes::agent {

thread_local constinit ThreadState thread_state;  // hooks.cc defines it in the agent

namespace {

namespace fs = std::filesystem;

class Recorder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/diogenes-recorder-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  void write_plan(uint64_t limit) {
    Plan header{};
    memcpy(header.magic, kPlanMagic, sizeof kPlanMagic);
    header.version = kPlanVersion;
    header.stage = Stage::tracing;
    header.recorded_bytes_limit = limit;
    header.file_bytes = sizeof header;
    std::ofstream(folder_ / "plan", std::ios::binary).write(reinterpret_cast<char*>(&header), sizeof header);
    setenv(kPlanVariable, (folder_ / "plan").c_str(), 1);
  }

  // Runs `body` in a child; its wait status.
  int in_child(const std::function<void()>& body, uint64_t limit = 1 << 30) {
    write_plan(limit);
    pid_t child = fork();
    if (child == 0) {
      if (!load_plan()) _exit(99);
      body();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  StageTrace read() {
    auto trace = read_stage(folder_);
    EXPECT_TRUE(trace.ok());
    return std::move(trace).value();
  }

  fs::path folder_;
};

OperationRecord operation(int64_t begin_ns) {
  OperationRecord record{};
  record.type = RecordType::operation;
  record.begin_ns = begin_ns;
  return record;
}

std::vector<int64_t> begins(const ThreadTrace& thread) {
  std::vector<int64_t> times;
  thread.visit([&times](const auto& record, uint32_t) {
    if constexpr (std::is_same_v<std::decay_t<decltype(record)>, OperationRecord>)
      times.push_back(record.begin_ns);
  });
  return times;
}

TEST_F(Recorder, KeepsEveryRecordOfEveryThreadInOrder) {
  constexpr int kThreads = 5, kRecords = 20'000;  // past the first parts of a file
  ASSERT_EQ(in_child([] {
              std::vector<std::thread> threads;
              for (int t = 0; t < kThreads; ++t)
                threads.emplace_back([t] {
                  for (int i = 0; i < kRecords; ++i) {
                    OperationId id;
                    ASSERT_TRUE(append(operation(t * 1'000'000 + i), &id));
                    ASSERT_EQ(id.sequence, static_cast<uint32_t>(i));
                  }
                });
              for (auto& thread : threads) thread.join();
            }),
            0);
  StageTrace trace = read();
  ASSERT_EQ(trace.processes.size(), 1u);
  ASSERT_EQ(trace.processes[0].threads.size(), size_t{kThreads});
  for (const auto& thread : trace.processes[0].threads) {
    auto times = begins(thread);
    ASSERT_EQ(times.size(), size_t{kRecords});
    for (int i = 1; i < kRecords; ++i) ASSERT_EQ(times[i], times[0] + i);
  }
  EXPECT_EQ(trace.processes[0].process.drops[static_cast<int>(Drop::records_full)], 0u);
}

// Joined threads are there a little longer.
void await_end(pid_t thread) {
  while (syscall(SYS_tgkill, getpid(), thread, 0) == 0) sched_yield();
}

TEST_F(Recorder, AThreadThatIsAboutToEndStillRecords) {
  ASSERT_EQ(in_child([] {
              pid_t id = 0;
              std::thread ends([&] {
                id = gettid();
                append(operation(1));
                leave_thread_file();
                std::thread([] { append(operation(2)); }).join();
                OperationId later;
                ASSERT_TRUE(append(operation(3), &later));
                EXPECT_EQ(later.sequence, 1u);
              });
              ends.join();
              await_end(id);
              std::thread([] { append(operation(4)); }).join();
            }),
            0);
  StageTrace trace = read();
  ASSERT_EQ(trace.processes.size(), 1u);
  const auto& threads = trace.processes[0].threads;
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_EQ(begins(threads[0]), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(begins(threads[1]), std::vector<int64_t>{2});
  EXPECT_EQ(begins(threads[2]), std::vector<int64_t>{4});
  EXPECT_FALSE(fs::exists(trace.processes[0].folder / "thread-2"));  // the third went on in the first's
}

// A thread that has ended leaves its file to the next, which is another thread all the same.
TEST_F(Recorder, ThreadsGoOnWithTheFilesOfOthers) {
  constexpr int kRounds = 300;
  ASSERT_EQ(in_child([] {
              for (int round = 0; round < kRounds; ++round) {
                auto record = [round] {
                  for (int i = 0; i <= round % 3; ++i) {
                    OperationId id;
                    ASSERT_TRUE(append(operation(round), &id));
                    ASSERT_EQ(id.sequence, static_cast<uint32_t>(i));
                  }
                  leave_thread_file();
                };
                pid_t ids[2];
                std::thread one([&] { ids[0] = gettid(), record(); }),
                    other([&] { ids[1] = gettid(), record(); });
                one.join();
                other.join();
                for (const pid_t id : ids) await_end(id);
              }
            }),
            0);
  StageTrace trace = read();
  ASSERT_EQ(trace.processes.size(), 1u);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(trace.processes[0].folder))
    files += entry.path().filename().string().starts_with("thread-");
  EXPECT_LE(files, 2);
  const auto& threads = trace.processes[0].threads;
  ASSERT_EQ(threads.size(), size_t{2 * kRounds});
  for (size_t i = 0; i < threads.size(); ++i) {
    EXPECT_EQ(threads[i].ordinal(), i);
    const auto round = static_cast<int64_t>(i / 2);
    EXPECT_EQ(begins(threads[i]), std::vector<int64_t>(round % 3 + 1, round));
  }
}

TEST_F(Recorder, WhatWasRecordedSurvivesSigkill) {
  int status = in_child([] {
    for (int i = 0; i < 1000; ++i) append(operation(i));
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  StageTrace trace = read();
  ASSERT_EQ(trace.processes.size(), 1u);
  EXPECT_EQ(trace.processes[0].process.end, ProcessEnd::running);
  EXPECT_EQ(begins(trace.processes[0].threads.at(0)).size(), 1000u);
}

TEST_F(Recorder, StopsAtThePlansLimitAndCountsWhatItDrops) {
  ASSERT_EQ(in_child(
                [] {
                  for (int i = 0; i < 10'000; ++i) append(operation(i));
                },
                64 << 10),
            0);
  StageTrace trace = read();
  size_t kept = begins(trace.processes.at(0).threads.at(0)).size();
  EXPECT_EQ(kept, (64u << 10) / 32 - 1);  // the first part, less the header
  EXPECT_EQ(trace.processes[0].process.drops[static_cast<int>(Drop::records_full)], 10'000 - kept);
}

TEST_F(Recorder, AFileSizeLimitIsADropAndNoSignal) {
  ASSERT_EQ(in_child([] {
              rlimit limit{100 << 10, 100 << 10};
              setrlimit(RLIMIT_FSIZE, &limit);
              for (int i = 0; i < 10'000; ++i) append(operation(i));
            }),
            0);
  StageTrace trace = read();
  EXPECT_GT(begins(trace.processes.at(0).threads.at(0)).size(), 1000u);
  EXPECT_GT(trace.processes[0].process.drops[static_cast<int>(Drop::file_failed)], 0u);
}

TEST_F(Recorder, AFolderThatCannotBeWrittenIsNoHarm) {
  ASSERT_EQ(in_child([this] {
              fs::remove_all(folder_);
              EXPECT_FALSE(append(operation(1)));
              EXPECT_FALSE(append(operation(2)));
              EXPECT_EQ(process_file(), nullptr);
            }),
            0);
  fs::create_directory(folder_);
}

TEST_F(Recorder, AForkedChildWritesItsOwnFolder) {
  ASSERT_EQ(in_child([] {
              append(operation(1));
              pid_t child = fork();
              if (child == 0) {
                forget_process_folder();
                forget_thread_files();
                forget_stacks();
                append(operation(2));
                append(operation(3));
                _exit(0);
              }
              int status;
              waitpid(child, &status, 0);
              append(operation(4));
            }),
            0);
  StageTrace trace = read();
  ASSERT_EQ(trace.processes.size(), 2u);
  std::vector<std::vector<int64_t>> all;
  for (const auto& process : trace.processes) all.push_back(begins(process.threads.at(0)));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all[0], (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(all[1], (std::vector<int64_t>{2, 3}));
}

// The linker needs no notes: they may be said to lie where nothing is.
TEST(LoadedImages, NotesThatAreNotMappedAreNotRead) {
  alignas(8) struct {
    ElfW(Nhdr) header{4, 4, NT_GNU_BUILD_ID};
    char name[4] = {'G', 'N', 'U', 0};
    uint8_t content[4] = {1, 2, 3, 4};
  } note;
  ElfW(Phdr) headers[2]{};
  headers[0].p_type = PT_LOAD;
  headers[0].p_flags = PF_R;
  headers[0].p_filesz = headers[0].p_memsz = sizeof note;
  headers[1].p_type = PT_NOTE;
  headers[1].p_filesz = headers[1].p_memsz = sizeof note;
  const LoadedImage image{"", reinterpret_cast<uintptr_t>(&note), headers, 2};
  EXPECT_EQ(image.build_id().length, 4);
  headers[1].p_vaddr = uintptr_t{1} << 40;
  EXPECT_EQ(image.build_id().length, 0);
  headers[1].p_vaddr = 8;  // its end lies outside
  EXPECT_EQ(image.build_id().length, 0);
}

TEST_F(Recorder, EqualStacksAreOneAndNameModuleAndOffset) {
  ASSERT_EQ(in_child([] {
              ASSERT_TRUE(open_process_folder());
              update_modules();
              auto here = reinterpret_cast<uintptr_t>(&operation);
              uintptr_t one[] = {here, here + 1, 0x1000}, two[] = {here, here + 2, 0x1000};
              uint32_t first = intern_stack(one, 3, false, false);
              EXPECT_NE(first, kNoStack);
              EXPECT_EQ(intern_stack(one, 3, false, false), first);
              EXPECT_NE(intern_stack(two, 3, false, false), first);
              EXPECT_NE(intern_stack(one, 2, false, false), first);
              // Once more after the module map changed, as after a dlopen: the same stack.
              OperationRecord record = operation(static_cast<int64_t>(here));
              record.stack = first;
              append(record);
            }),
            0);
  StageTrace trace = read();
  const ProcessTrace& process = trace.processes.at(0);
  OperationRecord found{};
  process.threads.at(0).visit([&found](const auto& record, uint32_t) {
    if constexpr (std::is_same_v<std::decay_t<decltype(record)>, OperationRecord>) found = record;
  });
  auto frames = process.stacks.frames(found.stack);
  ASSERT_EQ(frames.size(), 3u);
  const ModuleRecord* module = process.module(frames[0].module());
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->bias + frames[0].offset(), static_cast<uint64_t>(found.begin_ns));
  EXPECT_EQ(fs::path(module->path).filename(), "agent_recorder_test");
  EXPECT_GT(module->build_id_length, 0);
  EXPECT_EQ(frames[2].module(), Frame::kNoModule);
  EXPECT_EQ(frames[2].offset(), 0x1000u);
}

}  // namespace
}  // namespace diogenes::agent
