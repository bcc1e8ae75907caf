// Test support: the fact records of one process as a literal, and the process folder that the agent would
// have written.
//
//   Facts().call("cuLaunchKernel", {.begin = 10, .stream = kLegacyStream, .operands = {device(kA, 64)}})
//          .watch(1, kHost, 4096, 20)
//          .touch(1, 30)
//          .write(folder);
//
// Times are nanoseconds. Records stand in the file in the order in which they are given; what happens in a
// call stands before it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/catalogue.h"
#include "trace/fact_records.h"

namespace diogenes::testing {

struct CallFacts {
  int64_t begin = 0;
  uint32_t lasts = 10, after = 0;  // to the driver's exit; from there until the program goes on
  uint8_t flags = 0;               // OperationFlag
  uint32_t stream = kNoStream;
  uint32_t object = 0;
  std::optional<uint8_t> call_flags = {};  // CallFlag; not given: work where there are operands
  uint16_t context = 1;
  std::vector<OperandRecord> operands = {};
  uint32_t list_flags = 0;  // OperandListFlag
  uint32_t stream2 = 0;
  uint64_t argument = 0;
  std::vector<Frame> stack = {};
  std::optional<TransferRecord> transfer = {};
  std::optional<AllocationRecord> allocation = {};
  bool lost_list = false;       // its CallRecord names a list that is not there
  bool no_call_record = false;  // it has none
  uint32_t waited = 0;          // of `lasts`
  // Of a watch, while the agent wrote the call's records: its number and when.
  std::optional<std::pair<uint32_t, int64_t>> touched_in_records = {};
};

// Operands.
OperandRecord operand(uint64_t begin, uint64_t bytes, unsigned flags, MemoryKind kind);
TransferRecord transfer_of(MemoryKind to, MemoryKind from, uint64_t bytes, uint64_t destination = 0,
                           uint64_t source = 0);
AllocationRecord allocated(uint64_t address, uint64_t bytes, MemoryKind kind = MemoryKind::device);
AllocationRecord released(uint64_t address, MemoryKind kind = MemoryKind::device);

class Facts {
 public:
  Facts();
  // The next records are this thread's.
  Facts& on(uint32_t thread);
  Facts& stream(uint32_t number, unsigned flags = kBlockingStream | kCertainStream, uint16_t context = 1);
  Facts& call(const char* symbol, const CallFacts& facts);
  Facts& watch(uint32_t number, uint64_t begin, uint64_t bytes, int64_t at, WatchRefusal refusal = {},
               WatchProtection protection = WatchProtection::no_access);
  Facts& touch(uint32_t number, int64_t at, Touching access = Touching::reads, Toucher by = Toucher::program,
               uint16_t held_us = 0);
  // A touch whose stack is known, and what became of the value behind it.
  Facts& touch_at(uint32_t number, int64_t at, const std::vector<Frame>& stack);
  Facts& value(int64_t touched, const std::vector<Frame>& stack, ValueUse use, unsigned flags, int64_t at,
               const std::vector<Frame>& used = {});
  Facts& late_touch(uint32_t number, int64_t at, uint32_t thread);
  Facts& unwatch(uint32_t number, int64_t at, WatchEnd why = WatchEnd::lowered);
  Facts& memory_event(MemoryEvent event, uint64_t begin, uint64_t bytes, int64_t at);
  Facts& order(OrderObject object, uint64_t address, int64_t at, unsigned flags, uint32_t blocked_us = 0);
  // It reached into the memory of process `process`.
  Facts& peer(int32_t process, uint64_t begin, uint64_t bytes, int64_t at, Touching access = Touching::reads);
  // `id`: of which all bytes of its build-id are; 0: it has none.
  Facts& module(const char* path, uint64_t begin, uint8_t id = 0);
  // The operation's work ran then on the GPU.
  Facts& gpu_time(uint16_t thread, uint32_t sequence, int64_t begin, int64_t end);
  // Another process than 100, which started then.
  Facts& process(int32_t pid, int32_t rank, int64_t started_ns);
  // The same: one without CUDA.
  Facts& without_cuda(int32_t pid);
  // What a copy brought, any number, and whether its destination held that before.
  Facts& hash(uint16_t thread, uint32_t sequence, uint64_t content, Held held = Held::unknown);
  Facts& ends(ProcessEnd end, int64_t at = 0);
  Facts& drop(Drop cause);
  // A function of Python: the index that frames name it by. `lines`: as that version keeps them.
  uint32_t code(uint16_t version, const std::string& file, const std::string& name, int first_line,
                const std::string& lines);

  // Writes STAGE/node-100 (with a rank: rank1-node-100), or another process's folder; without CUDA only what
  // such a process writes.
  void write(const std::filesystem::path& stage_folder) const;

 private:
  template <typename Record>
  Facts& put(Record record, RecordType type);
  uint32_t intern(const CallFacts& facts);
  uint32_t intern(const std::vector<Frame>& stack);

  std::map<uint32_t, std::string> threads_;
  std::string operands_, stacks_, modules_, python_;
  std::map<std::vector<uint64_t>, uint32_t> interned_;  // stacks, by their frames
  uint32_t thread_ = 0;
  ProcessFile process_{};
};

}  // namespace diogenes::testing
