#include "synthetic_facts.h"

#include <string>

#include "trace/testing/facts_builder.h"

namespace diogenes::testing {
namespace {

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x1000'0000, kSize = 65'536;
constexpr uint32_t kRecording = 400;  // ns that the agent takes behind each call

OperandRecord device(uint64_t buffer, unsigned flags) {
  return operand(kDevice + buffer * kSize, kSize, flags, MemoryKind::device);
}

// The last step's work on the GPU: so long after the step's end.
void on_gpu(Timeline& trace, double behind_us, double time_us) {
  trace.on_gpu(at(static_cast<double>(trace.end_ns()) / 1000 + behind_us), lasting(time_us));
}

// Goes through the steps, and writes what the agent would have recorded of each.
class FactsOf {
 public:
  FactsOf(const Timeline& trace, const ProcessOptions& options) : start_ns_(options.start_ns) {
    facts_.process(options.pid, options.rank, options.start_ns)
        .ends(ProcessEnd::orderly, options.start_ns + trace.end_ns())
        .module(options.program.c_str(), 0x400000, 1)
        .module(options.driver.c_str(), 0x7f0000000000, 2);
    for (const Step& step : trace.steps()) add(step);
  }
  const Facts& facts() const { return facts_; }
  uint32_t watches() const { return watches_; }

 private:
  void add(const Step& step) {
    CallFacts call;
    call.begin = start_ns_ + step.begin_ns;
    call.lasts = static_cast<uint32_t>(step.own_ns + step.waited_ns);
    call.waited = static_cast<uint32_t>(step.waited_ns);
    call.after = kRecording;
    call.flags = step.flags;
    call.stack = step.stack;
    if (step.launch) launch(call);
    if (step.symbol.starts_with("cuMemcpyHtoD")) upload(step, call);
    if (step.symbol.starts_with("cuMemcpyDtoH")) download(step, call);
    const int64_t end = call.begin + call.lasts;
    const bool watched = (step.flags & kWaited) != 0 && result_ != 0;
    if (watched) facts_.watch(++watches_, result_, kSize, end + kRecording / 2);
    facts_.call(step.symbol.c_str(), call);
    if (step.bytes > 0) facts_.hash(0, sequence_, step.begin_ns + 1, Held::other);
    for (const testing::StepWork& one : step.gpu)
      facts_.gpu_time(0, sequence_, start_ns_ + one.begin_ns, start_ns_ + one.end_ns);
    if (watched && step.after_ns >= 0) {
      facts_.touch(watches_, end + kRecording + step.after_ns);
      result_ = 0;
    }
    ++sequence_;
  }

  void launch(CallFacts& call) {
    call.stream = kLegacyStream;
    call.operands = {device(0, kReads | kArgument), device(1, kReads | kWrites | kArgument)};
    call.list_flags = kHasKernel;
  }

  void upload(const Step& step, CallFacts& call) {
    const uint64_t from = kHost + 7 * kSize;
    call.stream = kLegacyStream;
    call.operands = {operand(from, step.bytes, kReads | kByCall, MemoryKind::pageable),
                     device(0, kWrites | kWhole)};
    call.transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, step.bytes, kDevice, from);
  }

  void download(const Step& step, CallFacts& call) {
    result_ = kHost + (downloads_++ % 4) * kSize;
    call.stream = kLegacyStream;
    call.operands = {device(1, kReads), operand(result_, step.bytes, kWrites | kWhole, MemoryKind::pinned)};
    call.transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, step.bytes, result_, kDevice + kSize);
  }

  Facts facts_;
  int64_t start_ns_;
  uint32_t sequence_ = 0, watches_ = 0, downloads_ = 0;
  uint64_t result_ = 0;  // of the last download, until it is touched; 0: none
};

}  // namespace

Timeline body_with_facts() {
  auto trace = timeline();
  for (int part = 0; part < 10; ++part) {
    trace.work(5).copy("cuMemcpyHtoD_v2", kSize, lasting(6), 2);
    on_gpu(trace, -5, 4);
    trace.work(4).launch(3);
    on_gpu(trace, 2, 18);
    trace.work(2).launch(3);
    on_gpu(trace, 16, 20);
    trace.sync(lasting(40)).work(30).launch(3);
    on_gpu(trace, 2, 16);
    trace.copy("cuMemcpyDtoHAsync_v2", kSize, lasting(0), 3);
    on_gpu(trace, 16, 4);
    trace.sync(lasting(20)).first_use(after(35)).work(60);
    trace.copy("cuMemcpyDtoH_v2", kSize, lasting(30), 4).first_use(after(1)).work(10);
    on_gpu(trace, -38, 25);
    trace.launch(3);
    on_gpu(trace, 2, 5);
    trace.sync(lasting(12)).work(5);
  }
  return trace;
}

uint32_t write_facts(const std::filesystem::path& stage_folder, const Timeline& trace,
                     const ProcessOptions& options) {
  const FactsOf facts(trace, options);
  std::filesystem::create_directories(stage_folder);
  facts.facts().write(stage_folder);
  return facts.watches();
}

}  // namespace diogenes::testing
