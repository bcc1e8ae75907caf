// Reads what the agent wrote: one process folder, one stage folder (trace/format.h).
// Takes truncated and damaged files as far as they go: every index and length is checked against the file,
// and what is missing is said in one line each (file, offset, what to do). Nothing here trusts the target,
// which may have been killed in the middle of a record. Thread files stay mapped and are visited record by
// record: no copy is made.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "base/range.h"
#include "base/result.h"
#include "trace/fact_records.h"
#include "trace/format.h"
#include "trace/gpu_samples.h"
#include "trace/kernel_table.h"
#include "trace/mapped_file.h"
#include "trace/python_records.h"

namespace diogenes {

// Damaged files hold any number. Up to here, sums over a thread stay inside 64 bits; ranges do not wrap around.
inline constexpr int64_t kLatestTime = int64_t{1} << 61;
constexpr AddressRange range_of(uint64_t begin, uint64_t bytes) {
  return {begin, bytes > UINT64_MAX - begin ? UINT64_MAX : begin + bytes};
}

// The interned stacks of one process.
class StackTable {
 public:
  StackTable() = default;
  explicit StackTable(MappedFile file) : file_(std::move(file)) {}

  // Innermost first; empty for kNoStack and for an index that the file does not hold.
  std::span<const Frame> frames(uint32_t stack) const;
  bool cut(uint32_t stack) const;  // outer frames are missing

 private:
  MappedFile file_;
};

// The interned operand lists of one process.
class OperandTable {
 public:
  OperandTable() = default;
  explicit OperandTable(MappedFile file) : file_(std::move(file)) {}

  // Empty for 0 and for an index that the file does not hold.
  std::span<const OperandRecord> operands(uint32_t list) const;
  uint32_t flags(uint32_t list) const;  // OperandListFlag
  bool holds(uint32_t list) const;      // false: what the call named is lost

 private:
  const OperandListHeader* header(uint32_t list) const;
  MappedFile file_;
};

// The functions of Python that frames name.
class CodeTable {
 public:
  struct Code {
    uint16_t version = 0;  // 0x030b
    int32_t first_line = 0;
    std::string_view file, name;     // UTF-8
    std::span<const uint8_t> lines;  // as that version keeps them
  };
  CodeTable() = default;
  explicit CodeTable(MappedFile file) : file_(std::move(file)) {}

  // Nothing for an index that the file does not hold.
  std::optional<Code> code(uint32_t index) const;

 private:
  MappedFile file_;
};

inline constexpr size_t kRecordsBetweenReleases = 1 << 17;  // 4 MiB

// The records of one thread, 32 bytes each: a piece of a thread file.
class ThreadTrace {
 public:
  ThreadTrace(uint32_t ordinal, uint32_t tid, std::shared_ptr<const MappedFile> file, uint64_t begin)
      : ordinal_(ordinal), tid_(tid), begin_(begin), file_(std::move(file)) {}

  uint32_t ordinal() const { return ordinal_; }  // the thread's number
  uint32_t tid() const { return tid_; }
  size_t record_count() const { return record_count_; }
  size_t operation_count() const { return operation_count_; }
  void release_pages() const { file_->release_pages(); }  // the records stay readable
  bool damaged() const {
    return damaged_;
  }  // the file is damaged behind the last record: some may be missing

  // For the reader: the record behind the last one; there is none that can be read.
  void append(RecordType type) {
    ++record_count_;
    operation_count_ += type == RecordType::operation;
  }
  void note_damage() { damaged_ = true; }

  // Leaves the operations that began in [begin_ns, end_ns), and the records behind each.
  void clip(int64_t begin_ns, int64_t end_ns);
  // The sequence, in the whole file, of the first operation that is left. Records name operations by that one.
  uint32_t first_sequence() const { return first_sequence_; }

  // One record by its position below record_count(), for readers that go through several files at a time.
  RecordType type(size_t position) const {
    return static_cast<RecordType>(*file_->at<uint8_t>(offset_of(position)));
  }
  template <typename Record>
  const Record& record(size_t position) const {
    return *file_->at<Record>(offset_of(position));
  }

  // Calls visitor(const XRecord&, uint32_t sequence) for every record: for an operation its own sequence, for
  // a transfer or allocation that of the operation it follows, for the others the sequence of the last
  // operation before it (they name theirs themselves). A transfer or allocation before any operation is left
  // out.
  template <typename Visitor>
  void visit(Visitor&& visitor) const {
    int64_t sequence = -1;
    for (size_t i = 0; i < record_count_; ++i) {
      if (i % kRecordsBetweenReleases == kRecordsBetweenReleases - 1) file_->release_pages();
      const uint64_t offset = offset_of(i);
      auto last = static_cast<uint32_t>(sequence);
      switch (static_cast<RecordType>(*file_->at<uint8_t>(offset))) {
        case RecordType::operation:
          visitor(*file_->at<OperationRecord>(offset), static_cast<uint32_t>(++sequence));
          break;
        case RecordType::transfer:
          if (sequence >= 0) visitor(*file_->at<TransferRecord>(offset), last);
          break;
        case RecordType::allocation:
          if (sequence >= 0) visitor(*file_->at<AllocationRecord>(offset), last);
          break;
        case RecordType::hash:
          visitor(*file_->at<HashRecord>(offset), last);
          break;
        case RecordType::gpu_time:
          visitor(*file_->at<GpuTimeRecord>(offset), last);
          break;
        case RecordType::recording:
          if (sequence >= 0) visitor(*file_->at<RecordingRecord>(offset), last);
          break;
        case RecordType::call:
          if (sequence >= 0) visitor(*file_->at<CallRecord>(offset), last);
          break;
        case RecordType::stream:
          visitor(*file_->at<StreamRecord>(offset), last);
          break;
        case RecordType::watch:
          visitor(*file_->at<WatchRecord>(offset), last);
          break;
        case RecordType::touch:
          visitor(*file_->at<TouchRecord>(offset), last);
          break;
        case RecordType::unwatch:
          visitor(*file_->at<UnwatchRecord>(offset), last);
          break;
        case RecordType::memory_event:
          visitor(*file_->at<MemoryEventRecord>(offset), last);
          break;
        case RecordType::order:
          visitor(*file_->at<OrderRecord>(offset), last);
          break;
        case RecordType::peer_access:
          visitor(*file_->at<PeerAccessRecord>(offset), last);
          break;
        case RecordType::value:
          visitor(*file_->at<ValueRecord>(offset), last);
          break;
        case RecordType::range:
          visitor(*file_->at<RangeRecord>(offset), last);
          break;
        case RecordType::thread:
        case RecordType::none:
          break;
      }
    }
  }

 private:
  uint64_t offset_of(size_t position) const { return begin_ + position * sizeof(OperationRecord); }

  uint32_t ordinal_ = 0, tid_ = 0;
  uint64_t begin_ = 0;  // of the first record in the file
  std::shared_ptr<const MappedFile> file_;
  size_t record_count_ = 0, operation_count_ = 0;
  uint32_t first_sequence_ = 0;
  bool damaged_ = false;
};

struct ProcessTrace {
  std::filesystem::path folder;
  ProcessFile process{};              // strings are terminated, whatever the file holds
  int64_t born_ns = 0;                // when it started, also where the trace was clipped to a window
  std::vector<ModuleRecord> modules;  // paths are terminated
  StackTable stacks;
  OperandTable operands;
  CodeTable code;
  CodeTable sampled_code;  // of kPythonSampled
  KernelTable kernels;
  GpuSamples gpu_samples;
  std::vector<ThreadTrace> threads;  // by ordinal; the ordinals may have gaps
  std::vector<std::string> missing;  // one line each

  const ModuleRecord* module(uint64_t index) const {
    return index < modules.size() ? &modules[index] : nullptr;
  }
};

// Error: the folder holds no process file that can be read at all.
Result<ProcessTrace> read_process(const std::filesystem::path& folder);

struct StageTrace {
  std::filesystem::path folder;
  std::vector<ProcessTrace> processes;  // by rank, then start, then folder name
  std::vector<std::string> missing;
  uint32_t unreadable = 0;  // processes of which nothing could be read: `missing` says why
};

// Error: no such folder. A folder without a process is a stage in which none used CUDA.
Result<StageTrace> read_stage(const std::filesystem::path& folder);

}  // namespace diogenes
