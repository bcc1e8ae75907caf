#include "trace/testing/facts_builder.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "trace/python_records.h"

namespace diogenes::testing {
namespace {

namespace fs = std::filesystem;

template <typename T>
void append(std::string& file, const T& object) {
  file.append(reinterpret_cast<const char*>(&object), sizeof object);
}

std::string header(uint32_t thread) {
  FileHeader record{};
  memcpy(record.magic, kTraceMagic, sizeof kTraceMagic);
  record.version = kTraceVersion;
  record.thread = thread;
  record.tid = 100 + thread;
  std::string bytes;
  append(bytes, record);
  return bytes;
}

// Files grow in steps, and end in zeros.
void save(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes << std::string(64, '\0');
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

OperandRecord operand(uint64_t begin, uint64_t bytes, unsigned flags, MemoryKind kind) {
  OperandRecord record{};
  record.begin = begin;
  record.bytes = bytes;
  record.flags = static_cast<uint8_t>(flags);
  record.kind = kind;
  return record;
}

TransferRecord transfer_of(MemoryKind to, MemoryKind from, uint64_t bytes, uint64_t destination,
                           uint64_t source) {
  TransferRecord record{};
  record.destination_kind = to;
  record.source_kind = from;
  record.bytes = bytes;
  record.destination = destination;
  record.source = source;
  return record;
}

AllocationRecord allocated(uint64_t address, uint64_t bytes, MemoryKind kind) {
  AllocationRecord record{};
  record.kind = kind;
  record.address = address;
  record.bytes = bytes;
  return record;
}

AllocationRecord released(uint64_t address, MemoryKind kind) {
  AllocationRecord record = allocated(address, 0, kind);
  record.released = 1;
  return record;
}

Facts::Facts() : operands_(header(0)), stacks_(header(0)) {
  memcpy(process_.magic, kTraceMagic, sizeof kTraceMagic);
  process_.version = kTraceVersion;
  process_.stage = Stage::memory_tracing;
  process_.end = ProcessEnd::orderly;
  process_.used_cuda = 1;
  process_.pid = 100;
  process_.rank = -1;
  strcpy(process_.host, "node");
  strcpy(process_.executable, "/app/app");
  on(0);
}

Facts& Facts::on(uint32_t thread) {
  thread_ = thread;
  threads_.try_emplace(thread, header(thread));
  return *this;
}

template <typename Record>
Facts& Facts::put(Record record, RecordType type) {
  record.type = type;
  append(threads_[thread_], record);
  return *this;
}

uint32_t Facts::intern(const CallFacts& facts) {
  if (facts.lost_list) return UINT32_MAX / 2;
  if (facts.operands.empty() && facts.list_flags == 0) return 0;
  auto at = static_cast<uint32_t>(operands_.size() / 8);
  append(operands_, OperandListHeader{static_cast<uint32_t>(facts.operands.size()) + 1, facts.list_flags});
  for (const OperandRecord& each : facts.operands) append(operands_, each);
  return at;
}

uint32_t Facts::intern(const std::vector<Frame>& stack) {
  if (stack.empty()) return kNoStack;
  std::vector<uint64_t> frames;
  for (Frame frame : stack) frames.push_back(frame.packed);
  auto [known, fresh] = interned_.try_emplace(frames, static_cast<uint32_t>(stacks_.size() / 8));
  if (!fresh) return known->second;
  const uint32_t at = known->second;
  append(stacks_, StackHeader{static_cast<uint32_t>(stack.size()), 0});
  for (Frame frame : stack) append(stacks_, frame);
  return at;
}

Facts& Facts::stream(uint32_t number, unsigned flags, uint16_t context) {
  return put(StreamRecord{.flags = static_cast<uint8_t>(flags), .context = context, .stream = number},
             RecordType::stream);
}

Facts& Facts::call(const char* symbol, const CallFacts& facts) {
  OperationRecord operation{};
  operation.flags = facts.flags;
  operation.function = find_driver_function(symbol);
  if (operation.function == kNoFunction)
    throw std::runtime_error(std::string("not in the catalogue: ") + symbol);
  operation.stack = intern(facts.stack);
  operation.begin_ns = facts.begin;
  operation.call = facts.lasts;
  operation.waited = facts.waited;
  operation.stream = facts.stream;
  operation.object = facts.object;
  put(operation, RecordType::operation);
  if (facts.touched_in_records)
    touch(facts.touched_in_records->first, facts.touched_in_records->second, Touching::reads,
          Toucher::driver);
  if (facts.transfer) put(*facts.transfer, RecordType::transfer);
  if (facts.allocation) put(*facts.allocation, RecordType::allocation);
  if (facts.no_call_record) return *this;
  CallRecord call{};
  call.operands = intern(facts);
  call.flags = facts.call_flags.value_or(call.operands != 0 ? kGivesWork : 0);
  call.context = facts.context;
  call.after_ns = facts.after;
  call.stream2 = facts.stream2;
  call.argument = facts.argument;
  return put(call, RecordType::call);
}

Facts& Facts::watch(uint32_t number, uint64_t begin, uint64_t bytes, int64_t at, WatchRefusal refusal,
                    WatchProtection protection) {
  return put(WatchRecord{.protection = protection,
                         .refusal = refusal,
                         .watch = number,
                         .begin = begin,
                         .bytes = bytes,
                         .at_ns = at},
             RecordType::watch);
}

Facts& Facts::touch(uint32_t number, int64_t at, Touching access, Toucher by, uint16_t held_us) {
  TouchRecord record{};
  record.held_us = held_us;
  record.watch = number;
  record.at_ns = at;
  record.access = access;
  record.by = by;
  return put(record, RecordType::touch);
}

Facts& Facts::touch_at(uint32_t number, int64_t at, const std::vector<Frame>& stack) {
  return put(TouchRecord{.access = Touching::reads, .watch = number, .at_ns = at, .stack = intern(stack)},
             RecordType::touch);
}

Facts& Facts::value(int64_t touched, const std::vector<Frame>& stack, ValueUse use, unsigned flags,
                    int64_t at, const std::vector<Frame>& used) {
  return put(ValueRecord{.use = use,
                         .flags = static_cast<uint8_t>(flags),
                         .touch_stack = intern(stack),
                         .touched_ns = touched,
                         .at_ns = at,
                         .stack = intern(used)},
             RecordType::value);
}

Facts& Facts::late_touch(uint32_t number, int64_t at, uint32_t thread) {
  return put(
      TouchRecord{.access = Touching::reads, .late = 1, .watch = number, .at_ns = at, .thread = thread},
      RecordType::touch);
}

Facts& Facts::unwatch(uint32_t number, int64_t at, WatchEnd why) {
  return put(UnwatchRecord{.why = why, .watch = number, .at_ns = at}, RecordType::unwatch);
}

Facts& Facts::memory_event(MemoryEvent event, uint64_t begin, uint64_t bytes, int64_t at) {
  return put(MemoryEventRecord{.event = event, .begin = begin, .bytes = bytes, .at_ns = at},
             RecordType::memory_event);
}

Facts& Facts::order(OrderObject object, uint64_t address, int64_t at, unsigned flags, uint32_t blocked_us) {
  return put(OrderRecord{.object = object,
                         .flags = static_cast<uint8_t>(flags),
                         .at_ns = at,
                         .address = address,
                         .blocked_us = blocked_us,
                         .thread = UINT32_MAX},
             RecordType::order);
}

Facts& Facts::peer(int32_t process, uint64_t begin, uint64_t bytes, int64_t at, Touching access) {
  return put(
      PeerAccessRecord{.access = access, .process = process, .begin = begin, .bytes = bytes, .at_ns = at},
      RecordType::peer_access);
}

Facts& Facts::gpu_time(uint16_t thread, uint32_t sequence, int64_t begin, int64_t end) {
  process_.gpu_times = GpuTimesState::taken;
  return put(GpuTimeRecord{.thread = thread, .sequence = sequence, .begin_ns = begin, .end_ns = end},
             RecordType::gpu_time);
}

Facts& Facts::module(const char* path, uint64_t begin, uint8_t id) {
  ModuleRecord record{};
  if (id != 0) {
    record.build_id_length = sizeof record.build_id;
    memset(record.build_id, id, sizeof record.build_id);
  }
  record.begin = record.bias = begin;
  record.end = begin + 0x1000000;
  record.present = 1;
  strcpy(record.path, path);
  append(modules_, record);
  return *this;
}

Facts& Facts::process(int32_t pid, int32_t rank, int64_t started_ns) {
  process_.pid = pid;
  process_.rank = rank;
  process_.started_ns = started_ns;
  return *this;
}

Facts& Facts::without_cuda(int32_t pid) {
  process_.pid = pid;
  process_.used_cuda = 0;
  return *this;
}

Facts& Facts::hash(uint16_t thread, uint32_t sequence, uint64_t content, Held held) {
  HashRecord record{};
  record.held = held;
  record.thread = thread;
  record.sequence = sequence;
  record.hash[0] = content;
  return put(record, RecordType::hash);
}

Facts& Facts::ends(ProcessEnd end, int64_t at) {
  process_.end = end;
  process_.ended_ns = at;
  return *this;
}

Facts& Facts::drop(Drop cause) {
  ++process_.drops[static_cast<size_t>(cause)];
  return *this;
}

uint32_t Facts::code(uint16_t version, const std::string& file, const std::string& name, int first_line,
                     const std::string& lines) {
  if (python_.empty()) python_ = stacks_.substr(0, sizeof(FileHeader));
  const auto at = static_cast<uint32_t>(python_.size() / 8);
  CodeRecord record{};
  const size_t held = file.size() + name.size() + lines.size();
  record.bytes = static_cast<uint32_t>((sizeof record + held + 7) / 8 * 8);
  record.version = version;
  record.first_line = first_line;
  record.file_bytes = static_cast<uint32_t>(file.size());
  record.name_bytes = static_cast<uint32_t>(name.size());
  record.lines_bytes = static_cast<uint32_t>(lines.size());
  append(python_, record);
  python_ += file + name + lines;
  python_.resize(at * size_t{8} + record.bytes);
  return at;
}

void Facts::write(const fs::path& stage_folder) const {
  const std::string rank = process_.rank >= 0 ? "rank" + std::to_string(process_.rank) + "-" : "";
  fs::path folder = stage_folder / (rank + "node-" + std::to_string(process_.pid));
  fs::create_directories(folder);
  for (const auto& [thread, bytes] : threads_) save(folder / ("thread-" + std::to_string(thread)), bytes);
  if (process_.used_cuda) {
    save(folder / "operands", operands_);
    save(folder / "stacks", stacks_);
    if (!python_.empty()) save(folder / "python", python_);
    save(folder / "modules", modules_ + std::string(sizeof(ModuleRecord), '\0'));
  }
  ProcessFile process = process_;
  process.threads = static_cast<uint32_t>(threads_.size());
  std::string bytes;
  append(bytes, process);
  save(folder / "process", bytes);
}

}  // namespace diogenes::testing
