#include "analysis/testing/trace_builder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "driver/catalogue.h"

namespace diogenes::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMain = 0x10;  // the outer frame of every stack that from() makes

int64_t to_ns(double us) { return static_cast<int64_t>(us * 1000); }

template <typename T>
void put(std::string& file, const T& object) {
  file.append(reinterpret_cast<const char*>(&object), sizeof object);
}

template <size_t N>
void set_text(char (&out)[N], const std::string& text) {
  snprintf(out, N, "%s", text.c_str());
}

std::string header(uint32_t thread, uint32_t tid) {
  FileHeader record{};
  memcpy(record.magic, kTraceMagic, sizeof kTraceMagic);
  record.version = kTraceVersion;
  record.thread = thread;
  record.tid = tid;
  std::string bytes;
  put(bytes, record);
  return bytes;
}

class StackFile {
 public:
  uint32_t intern(const std::vector<Frame>& frames) {
    if (frames.empty()) return kNoStack;
    std::vector<uint64_t> key;
    for (Frame frame : frames) key.push_back(frame.packed);
    auto [found, fresh] = known_.try_emplace(key, static_cast<uint32_t>(bytes_.size() / 8));
    if (fresh) {
      put(bytes_, StackHeader{static_cast<uint32_t>(frames.size()), 0});
      for (Frame frame : frames) put(bytes_, frame);
    }
    return found->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = header(0, 0);
  std::map<std::vector<uint64_t>, uint32_t> known_;
};

ModuleRecord module(const std::string& path, uint64_t begin, uint8_t id) {
  ModuleRecord record{};
  record.begin = begin;
  record.end = begin + 0x1000000;
  record.bias = begin;
  record.present = 1;
  // The made-up modules have made-up ids; a real file is told apart by its name, so that its symbols are
  // found.
  if (access(path.c_str(), R_OK) != 0) {
    record.build_id_length = 20;
    std::fill(std::begin(record.build_id), std::end(record.build_id), id);
  }
  set_text(record.path, path);
  return record;
}

uint16_t function_index(const std::string& symbol) {
  if (symbol == "wait") return kWaitFunction;
  uint16_t index = find_driver_function(symbol);
  if (index == kNoFunction) throw std::runtime_error("not in the catalogue: " + symbol);
  return index;
}

// The thread files of one run: operations first, then what the stage found out about them.
class ThreadFiles {
 public:
  ThreadFiles(const fs::path& folder, const Timeline& trace, const ProcessOptions& options, StackFile& stacks)
      : trace_(trace), options_(options), stacks_(stacks) {
    launches_.open(folder.c_str());
    for (const Step& step : trace.steps()) write_operation(step);
    if (options.stage == Stage::gpu_times)
      for (size_t i = 0; i < trace.steps().size(); ++i) write_gpu_time(trace.steps()[i], ids_[i]);
    if (options.stage != Stage::memory_tracing && options.stage != Stage::sync_use) return;
    for (size_t i = 0; i < trace.steps().size(); ++i) write_evidence(trace.steps()[i], ids_[i]);
  }
  const std::map<int, std::string>& files() const { return files_; }
  const std::string& verdicts() const { return verdicts_; }

 private:
  LaunchFile launches_;
  std::string& file(int thread) {
    return files_.try_emplace(thread, header(static_cast<uint32_t>(thread), tid(thread))).first->second;
  }
  uint32_t tid(int thread) const { return static_cast<uint32_t>(options_.pid + trace_.made(thread)); }

  void write_operation(const Step& step) {
    bool unhooked = step.launch && options_.stage == Stage::tracing && !options_.launches_traced;
    ids_.push_back({static_cast<uint16_t>(step.thread), 0, unhooked ? UINT32_MAX : sequences_[step.thread]});
    if (unhooked) return;
    ++sequences_[step.thread];
    OperationRecord record{};
    record.type = RecordType::operation;
    record.flags = step.flags;
    record.object = step.object;
    record.stream = step.stream;
    record.function = function_index(step.symbol);
    record.stack = stacks_.intern(step.stack);
    record.begin_ns = options_.start_ns + step.begin_ns;
    record.call = static_cast<uint32_t>(step.own_ns + step.waited_ns);
    record.waited = static_cast<uint32_t>(step.waited_ns);
    put(file(step.thread), record);
    write_arguments(step, record.function);
    write_call(step);
    if (step.recording_before_ns + step.recording_after_ns == 0) return;
    RecordingRecord recording{};
    recording.type = RecordType::recording;
    recording.before_ns = step.recording_before_ns;
    recording.after_ns = step.recording_after_ns;
    put(file(step.thread), recording);
  }

  void write_arguments(const Step& step, uint16_t index) {
    const DriverFunction* function = driver_function(index);
    if (!function) return;
    if (function->role == Role::transfer) {
      TransferRecord transfer{};
      transfer.type = RecordType::transfer;
      transfer.direction = static_cast<uint8_t>(function->direction);
      transfer.bytes = step.bytes;
      transfer.source_kind = step.pageable ? MemoryKind::pageable : MemoryKind::pinned;
      put(file(step.thread), transfer);
    } else if (function->role == Role::allocate || function->role == Role::release) {
      AllocationRecord allocation{};
      allocation.type = RecordType::allocation;
      allocation.kind = MemoryKind::device;
      allocation.released = function->role == Role::release;
      allocation.address = step.address;
      allocation.bytes = step.bytes;
      put(file(step.thread), allocation);
    }
  }

  void write_call(const Step& step) {
    if (options_.stage != Stage::memory_tracing || !step.left_out) return;
    CallRecord call{};
    call.type = RecordType::call;
    call.flags = kNotLookedAt;
    put(file(step.thread), call);
  }

  void write_gpu_time(const Step& step, OperationId id) {
    for (const StepWork& one : step.gpu) {
      GpuTimeRecord record{};
      record.type = RecordType::gpu_time;
      record.work = static_cast<uint8_t>(one.work);
      record.thread = id.thread;
      record.sequence = id.sequence;
      record.begin_ns = options_.start_ns + one.begin_ns;
      record.end_ns = options_.start_ns + one.end_ns;
      if (!one.kernel.empty()) record.launch = launches_.number_of(one.kernel.c_str(), one.shape);
      put(file(step.thread), record);
    }
  }

  void write_evidence(const Step& step, OperationId id) {
    LiteralVerdict verdict{};
    verdict.operation = id;
    verdict.after_ns = -1;
    if (options_.stage == Stage::memory_tracing) {
      verdict.duplicate = step.duplicate;
      verdict.first = step.first >= 0 ? ids_[static_cast<size_t>(step.first)] : id;
      verdict.unused = step.unused;
      verdict.unused_percent = step.unused_percent;
      verdict.constant = step.constant;
      if (step.unused != Unused::no && step.lost_by >= 0)
        verdict.lost_by = ids_[static_cast<size_t>(step.lost_by)];
    }
    if (step.judged && (options_.stage != Stage::sync_use || step.reasons != 0)) {
      verdict.judged = 1;
      verdict.conditions = step.conditions;
      verdict.reasons = step.reasons;
      verdict.use_stack = stacks_.intern(step.use_stack);
      verdict.after_ns = step.after_ns;
    }
    put(verdicts_, verdict);
  }

  const Timeline& trace_;
  const ProcessOptions& options_;
  StackFile& stacks_;
  std::map<int, std::string> files_;
  std::string verdicts_;
  std::map<int, uint32_t> sequences_;
  std::vector<OperationId> ids_;  // by step
};

}  // namespace

Timeline& Timeline::on_thread(int ordinal) {
  thread_ = ordinal;
  if (clocks_.size() <= static_cast<size_t>(ordinal)) clocks_.resize(static_cast<size_t>(ordinal) + 1, 0);
  return *this;
}

Timeline& Timeline::made_as(int nth) {
  made_[thread_] = nth;
  return *this;
}

int Timeline::made(int thread) const {
  const auto found = made_.find(thread);
  return found == made_.end() ? thread : found->second;
}

Timeline& Timeline::work(double us) {
  clocks_[static_cast<size_t>(thread_)] += to_ns(us);
  return *this;
}

Timeline& Timeline::at(At time) {
  clocks_[static_cast<size_t>(thread_)] = time.ns;
  return *this;
}

Step& Timeline::add(const char* symbol, int64_t own_ns, int64_t waited_ns) {
  int64_t& clock = clocks_[static_cast<size_t>(thread_)];
  Step step;
  step.symbol = symbol;
  step.thread = thread_;
  step.begin_ns = clock;
  step.own_ns = own_ns;
  step.waited_ns = waited_ns;
  step.stack = {program_frame(0x1000 + 16 * steps_.size()), program_frame(kMain)};
  clock += own_ns + waited_ns;
  steps_.push_back(step);
  return steps_.back();
}

Timeline& Timeline::on_gpu(At begin, Lasting time) { return on_gpu(begin, time, GpuWork::other); }

Timeline& Timeline::on_gpu(At begin, Lasting time, GpuWork work) {
  steps_.back().gpu.push_back({begin.ns, begin.ns + time.ns, work, "", {}});
  return *this;
}

Timeline& Timeline::on_gpu(At begin, Lasting time, const char* kernel, const LaunchShape& shape) {
  steps_.back().gpu.push_back({begin.ns, begin.ns + time.ns, GpuWork::kernel, kernel, shape});
  return *this;
}

Timeline& Timeline::launch(double own_us) {
  add("cuLaunchKernel", to_ns(own_us), 0).launch = true;
  return *this;
}

Timeline& Timeline::sync(Lasting waited, double own_us) { return call("cuCtxSynchronize", waited, own_us); }

Timeline& Timeline::sync(At begin, Lasting waited) { return at(begin).sync(waited); }

Timeline& Timeline::call(const char* symbol, Lasting waited, double own_us) {
  add(symbol, to_ns(own_us), waited.ns).flags = kWaited;
  return *this;
}

Timeline& Timeline::copy(const char* symbol, uint64_t bytes, Lasting waited, double own_us) {
  Step& step = add(symbol, to_ns(own_us), waited.ns);
  step.bytes = bytes;
  step.flags = driver_function(function_index(symbol))->asynchronous && waited.ns == 0 ? 0 : kWaited;
  return *this;
}

Timeline& Timeline::allocate(uint64_t address, uint64_t bytes, double own_us) {
  Step& step = add("cuMemAlloc_v2", to_ns(own_us), 0);
  step.address = address;
  step.bytes = bytes;
  return *this;
}

Timeline& Timeline::release(uint64_t address, Lasting waited, double own_us) {
  Step& step = add("cuMemFree_v2", to_ns(own_us), waited.ns);
  step.address = address;
  step.flags = kWaited;
  return *this;
}

Timeline& Timeline::from(uint64_t offset) {
  return from_stack({program_frame(offset), program_frame(kMain)});
}

Timeline& Timeline::from_stack(std::vector<Frame> stack) {
  steps_.back().stack = std::move(stack);
  return *this;
}

Timeline& Timeline::unnecessary() {
  steps_.back().judged = true;
  return *this;
}

Timeline& Timeline::needed(uint32_t reasons) {
  steps_.back().judged = true;
  steps_.back().reasons = reasons;
  return *this;
}

Timeline& Timeline::first_use(After from_exit, uint32_t reasons, uint64_t use_offset) {
  needed(reasons);
  steps_.back().after_ns = from_exit.ns;
  steps_.back().use_stack = {program_frame(use_offset), program_frame(kMain)};
  return *this;
}

Timeline& Timeline::first_use(At time) {
  const Step& step = steps_.back();
  return first_use(After{time.ns - step.begin_ns - step.own_ns - step.waited_ns});
}

Timeline& Timeline::constant(Constant what) {
  steps_.back().constant = what;
  return *this;
}

Timeline& Timeline::repeats(int step, Duplicate duplicate) {
  steps_.back().duplicate = duplicate;
  steps_.back().first = step;
  return *this;
}

Timeline& Timeline::unused(Unused how, int by) {
  steps_.back().unused = how;
  steps_.back().lost_by = by;
  return *this;
}

Timeline& Timeline::unused_in_part(uint8_t percent) {
  steps_.back().unused_percent = percent;
  return *this;
}

Timeline& Timeline::pageable() {
  steps_.back().pageable = true;
  return *this;
}

Timeline& Timeline::conditions(uint8_t conditions) {
  steps_.back().conditions = conditions;
  return *this;
}

Timeline& Timeline::in_stream(uint32_t number) {
  steps_.back().stream = number;
  return *this;
}

Timeline& Timeline::flags(uint8_t flags) {
  steps_.back().flags |= flags;
  return *this;
}

Timeline& Timeline::recorded(double before_us, double after_us) {
  steps_.back().recording_before_ns = static_cast<int64_t>(before_us * 1000);
  steps_.back().recording_after_ns = static_cast<int64_t>(after_us * 1000);
  return *this;
}

Timeline& Timeline::without_wait() {
  steps_.back().flags &= static_cast<uint8_t>(~kWaited);
  return *this;
}

Timeline& Timeline::image(CodeImage what) {
  steps_.back().object = static_cast<uint32_t>(what);
  return *this;
}
Timeline& Timeline::left_out() {
  steps_.back().left_out = true;
  return *this;
}

int64_t Timeline::end_ns() const { return *std::max_element(clocks_.begin(), clocks_.end()); }

void write_process(const fs::path& stage_folder, const Timeline& trace, const ProcessOptions& options) {
  std::string name = (options.rank >= 0 ? "rank" + std::to_string(options.rank) + "-" : std::string()) +
                     "node-" + std::to_string(options.pid);
  fs::path folder = stage_folder / name;
  fs::create_directories(folder);

  StackFile stacks;
  ThreadFiles threads(folder, trace, options, stacks);
  for (const auto& [ordinal, bytes] : threads.files())
    save(folder / ("thread-" + std::to_string(ordinal)), bytes + std::string(64, '\0'));
  save(folder / "stacks", stacks.bytes() + std::string(64, '\0'));
  if (!threads.verdicts().empty()) save(folder / "verdicts", threads.verdicts());

  std::string modules;
  put(modules, module(options.program, 0x400000, 1));
  put(modules, module(options.driver, 0x7f0000000000, 2));
  save(folder / "modules", modules + std::string(sizeof(ModuleRecord), '\0'));

  ProcessFile process{};
  memcpy(process.magic, kTraceMagic, sizeof kTraceMagic);
  process.version = kTraceVersion;
  process.stage = options.stage;
  process.end = options.end;
  process.used_cuda = 1;
  process.pid = options.pid;
  process.device_uuid[0] = options.device;
  process.rank = options.rank;
  process.started_ns = options.start_ns;
  if (options.end != ProcessEnd::running) process.ended_ns = options.start_ns + trace.end_ns();
  set_text(process.host, "node");
  set_text(process.executable, options.program);
  set_text(process.driver_path, options.driver);
  std::fill(std::begin(process.driver_build_id), std::end(process.driver_build_id), 2);
  process.driver_build_id_length = 20;
  process.driver_version = 13000;
  process.capability_major = 9;
  set_text(process.device_name, "Test Device");
  process.threads = static_cast<uint32_t>(threads.files().size());
  process.hook_cost_ns = options.hook_cost_ns;
  process.inside_call_ns = options.inside_call_ns;
  process.inside_waiting_call_ns = options.inside_waiting_call_ns;
  std::copy(options.drops.begin(), options.drops.end(), process.drops);
  process.hook_count = static_cast<uint32_t>(options.hooks.size());
  for (size_t i = 0; i < options.hooks.size(); ++i)
    process.hook_state[i] = static_cast<uint8_t>(options.hooks[i]);
  std::string bytes;
  put(bytes, process);
  save(folder / "process", bytes);
}

Judgement verdicts_by_hand(Process& process, const SiteTable&, std::span<const PeerAccess>) {
  std::map<uint32_t, Thread*> threads;
  for (Thread& thread : process.threads) threads[thread.ordinal] = &thread;
  std::ifstream file(process.trace->folder / "verdicts", std::ios::binary);
  for (LiteralVerdict given; file.read(reinterpret_cast<char*>(&given), sizeof given);) {
    auto found = threads.find(given.operation.thread);
    if (found == threads.end() || given.operation.sequence >= found->second->evidence.size()) continue;
    Evidence& evidence = found->second->evidence[given.operation.sequence];
    evidence.duplicate = given.duplicate;
    evidence.first = given.first;
    evidence.unused = given.unused;
    evidence.unused_percent = given.unused_percent;
    evidence.constant = given.constant;
    evidence.lost_by = given.lost_by;
    if (given.judged == 0) continue;
    evidence.judged = true;
    evidence.reasons = given.reasons;
    evidence.conditions = given.conditions;
    if (given.after_ns < 0) continue;
    evidence.after_ns = given.after_ns;
    evidence.use_stack = given.use_stack;
  }
  return {};
}

Session write_session(const fs::path& folder, const Timeline& trace, ProcessOptions options,
                      double runtime_us) {
  Session session;
  session.command = {options.program, "--size", "3"};
  session.driver_path = options.driver;
  session.driver_version = "13.0";
  session.started_ns = 1;
  fs::create_directories(folder);
  double runtime_s = (runtime_us > 0 ? runtime_us * 1e-6 : static_cast<double>(trace.end_ns()) * 1e-9);
  for (Stage stage : {Stage::baseline, Stage::tracing, Stage::memory_tracing, Stage::sync_use}) {
    std::string name = stage_name(stage);
    session.runs.push_back({.name = name, .folder = name, .state = "complete", .runtime_s = runtime_s});
    fs::create_directories(folder / name);
    options.stage = stage;
    // Stage 1 has other records (the wait function alone); who tests them writes them.
    write_process(folder / name, stage == Stage::baseline ? Timeline() : trace, options);
  }
  if (auto status = write_session(folder, session); !status) throw std::runtime_error(status.error().c_str());
  return session;
}

}  // namespace diogenes::testing
