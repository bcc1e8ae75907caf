// Test support: a program of one thread that copies, as literals, and what is said of its copies.
#pragma once
#include <vector>

#include "analysis/necessity/judge_process.h"
#include "analysis/necessity/testing/interpreted.h"
#include "analysis/necessity/transfers/dead_transfers.h"

namespace diogenes::necessity::testing {

using namespace diogenes::testing;

inline constexpr uint64_t kDevice = 0x7000'0000, kOther = 0x7100'0000, kBytes = 8192;
inline constexpr uint64_t kHost = 0x10'0000, kPinned = 0x20'0000;
inline constexpr uint32_t kX = 2, kY = 3;  // non-blocking streams
inline constexpr uint32_t kEvent = 7;

// Calls of one thread, one after the other; each names the operation that it was.
struct Program {
  Facts facts;
  uint32_t operations = 0, watches = 0;
  int64_t now = 0;

  Program() {
    facts.stream(kX, kCertainStream).stream(kY, kCertainStream);
    call("cuMemAlloc_v2", {.allocation = allocated(kDevice, kBytes)});
    call("cuMemAlloc_v2", {.allocation = allocated(kOther, kBytes)});
    call("cuMemAllocHost_v2", {.allocation = allocated(kPinned, kBytes, MemoryKind::pinned)});
  }
  uint32_t call(const char* symbol, CallFacts facts_of_it) {
    facts_of_it.begin = now;
    facts_of_it.after = 5;
    facts.call(symbol, facts_of_it);
    now += 20;
    return operations++;
  }
  uint32_t upload(uint64_t bytes = kBytes) {
    return call("cuMemcpyHtoD_v2",
                {.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kDevice, bytes, kWrites | kWhole, MemoryKind::device),
                              operand(kHost, bytes, kReads | kByCall, MemoryKind::pageable)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, bytes)});
  }
  uint32_t upload_async(uint32_t stream) {
    return call("cuMemcpyHtoDAsync_v2",
                {.stream = stream,
                 .operands = {operand(kDevice, kBytes, kWrites | kWhole, MemoryKind::device),
                              operand(kPinned, kBytes, kReads, MemoryKind::pinned)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::pinned, kBytes)});
  }
  // Watched when it returns.
  uint32_t download(uint64_t bytes = kBytes) {
    facts.watch(++watches, kHost, bytes, now + 12);
    return download_unwatched(bytes);
  }
  uint32_t download_unwatched(uint64_t bytes = kBytes) {
    return call("cuMemcpyDtoH_v2",
                {.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kDevice, bytes, kReads, MemoryKind::device),
                              operand(kHost, bytes, kWrites | kWhole, MemoryKind::pageable)},
                 .transfer = transfer_of(MemoryKind::pageable, MemoryKind::device, bytes)});
  }
  uint32_t download_async(uint32_t stream) {
    return call("cuMemcpyDtoHAsync_v2",
                {.stream = stream,
                 .operands = {operand(kDevice, kBytes, kReads, MemoryKind::device),
                              operand(kPinned, kBytes, kWrites | kWhole, MemoryKind::pinned)},
                 .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, kBytes)});
  }
  // The guard comes down for the call that is about to use the memory.
  Program& lowered() {
    facts.unwatch(watches, now + 1);
    return *this;
  }
  void launch(uint32_t stream, uint64_t memory, MemoryKind kind = MemoryKind::device) {
    call("cuLaunchKernel", {.stream = stream,
                            .operands = {operand(memory, kBytes, kReads | kWrites | kArgument, kind)},
                            .list_flags = kHasKernel});
  }
  void launch_anything(uint32_t stream) {
    call("cuLaunchKernel", {.stream = stream, .list_flags = kHasKernel | kAnyDevice | kAnyHost});
  }
  void fill(uint64_t bytes = kBytes) {
    call("cuMemsetD8_v2", {.stream = kLegacyStream,
                           .operands = {operand(kDevice, bytes, kWrites | kWhole, MemoryKind::device)},
                           .transfer = transfer_of(MemoryKind::device, MemoryKind::unknown, bytes)});
  }
  uint32_t copy_to_other() {
    return call("cuMemcpyDtoD_v2",
                {.stream = kLegacyStream,
                 .operands = {operand(kDevice, kBytes, kReads, MemoryKind::device),
                              operand(kOther, kBytes, kWrites | kWhole, MemoryKind::device)},
                 .transfer = transfer_of(MemoryKind::device, MemoryKind::device, kBytes)});
  }
  uint32_t synchronize() { return call("cuCtxSynchronize", {.flags = kWaited}); }
  uint32_t synchronize(uint32_t stream) {
    return call("cuStreamSynchronize", {.flags = kWaited, .stream = stream});
  }
  uint32_t free(uint64_t memory = kDevice) {
    return call("cuMemFree_v2", {.flags = kWaited, .allocation = released(memory)});
  }

  // By operation.
  std::vector<Evidence> judged() {
    TemporaryFolder folder;
    facts.write(folder.path());
    SiteTable sites;
    auto run = load_judged_run(folder.path(), sites);
    Process& process = run->processes.at(0);
    TransferJudge judge(process, sites);
    Interpretation(process).replay(judge);
    note_findings(judge, process);
    return process.threads.at(0).evidence;
  }
  Unused unused(uint32_t operation) { return judged().at(operation).unused; }
  Duplicate duplicate(uint32_t operation) { return judged().at(operation).duplicate; }
};

}  // namespace diogenes::necessity::testing
