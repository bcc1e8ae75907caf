#include "analysis/samples/unwind.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace diogenes {
namespace {

constexpr size_t kMostFrames = 128;
constexpr int kReturnAddress = 16;  // rip, as DWARF numbers it

// The sample that is walked just now, as libdwfl asks for it.
struct Walk {
  const CpuSample* sample = nullptr;
  std::vector<uint64_t>* addresses = nullptr;
};

pid_t next_thread(Dwfl*, void* walk, void** thread) {
  if (*thread != nullptr) return 0;
  *thread = walk;
  return static_cast<pid_t>(static_cast<Walk*>(walk)->sample->record->tid);
}
bool get_thread(Dwfl*, pid_t, void* walk, void** thread) {
  *thread = walk;
  return true;
}
bool set_registers(Dwfl_Thread* thread, void* walk) {
  const CpuSampleRecord& record = *static_cast<Walk*>(walk)->sample->record;
  Dwarf_Word registers[kSampledRegisters];
  std::copy(std::begin(record.registers), std::end(record.registers), registers);
  dwfl_thread_state_register_pc(thread, registers[kReturnAddress]);
  return dwfl_thread_state_registers(thread, 0, kSampledRegisters, registers);
}
bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* walk) {
  const CpuSample& sample = *static_cast<Walk*>(walk)->sample;
  const uint64_t from = sample.record->registers[7];
  if (address < from || address - from > sample.stack.size() ||
      sample.stack.size() - (address - from) < sizeof *word)
    return false;
  memcpy(word, sample.stack.data() + (address - from), sizeof *word);
  return true;
}
constexpr Dwfl_Thread_Callbacks kThreads = {next_thread,   get_thread, read_memory,
                                            set_registers, nullptr,    nullptr};

int add_frame(Dwfl_Frame* frame, void* walk) {
  Dwarf_Addr address = 0;
  bool interrupted = false;
  auto& addresses = *static_cast<Walk*>(walk)->addresses;
  if (!dwfl_frame_pc(frame, &address, &interrupted) || address == 0) return DWARF_CB_ABORT;
  addresses.push_back(interrupted ? address : address - 1);
  return addresses.size() < kMostFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;  // unwind tables are in the files themselves
}

class Unwinder {
 public:
  explicit Unwinder(const ProcessTrace& process) : process_(process), dwfl_(dwfl_begin(&kFiles)) {
    if (!dwfl_) return;
    dwfl_report_begin(dwfl_.get());
    for (uint32_t i = 0; i < process.modules.size(); ++i) {
      const ModuleRecord& module = process.modules[i];
      by_address_.push_back(i);
      if (module.path[0] == '/')
        dwfl_report_elf(dwfl_.get(), module.path, module.path, -1, module.bias, true);
    }
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    std::sort(by_address_.begin(), by_address_.end(), [&](uint32_t one, uint32_t other) {
      return process.modules[one].begin < process.modules[other].begin;
    });
    attached_ = dwfl_attach_state(dwfl_.get(), nullptr, process.process.pid, &kThreads, &walk_);
  }

  std::vector<Frame> frames(const CpuSample& sample) {
    std::vector<uint64_t> addresses;
    walk_ = {&sample, &addresses};
    if (attached_)
      dwfl_getthread_frames(dwfl_.get(), static_cast<pid_t>(sample.record->tid), add_frame, &walk_);
    if (addresses.empty()) addresses.push_back(sample.record->registers[kReturnAddress]);
    std::vector<Frame> frames;
    for (const uint64_t address : addresses) frames.push_back(frame_at(address));
    return frames;
  }

 private:
  Frame frame_at(uint64_t address) const {
    auto next =
        std::upper_bound(by_address_.begin(), by_address_.end(), address,
                         [&](uint64_t at, uint32_t module) { return at < process_.modules[module].begin; });
    // Files that were unloaded may lie below others.
    for (int back = 0; next != by_address_.begin() && back < 4; ++back) {
      const ModuleRecord& module = process_.modules[*--next];
      if (address < module.end) return Frame::of(*next, address - module.bias);
    }
    return Frame::of(Frame::kNoModule, address);
  }

  static constexpr Dwfl_Callbacks kFiles = {nullptr, no_debug_file, dwfl_offline_section_address, nullptr};
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };

  const ProcessTrace& process_;
  std::unique_ptr<Dwfl, End> dwfl_;
  std::vector<uint32_t> by_address_;  // modules
  Walk walk_;
  bool attached_ = false;
};

}  // namespace

std::vector<UnwoundSample> unwind(const ProcessTrace& process, std::span<const CpuSample> samples) {
  std::vector<UnwoundSample> out;
  std::unique_ptr<Unwinder> unwinder;
  for (const CpuSample& sample : samples) {
    if (sample.record->pid != static_cast<uint32_t>(process.process.pid)) continue;
    if (!unwinder) unwinder = std::make_unique<Unwinder>(process);
    out.push_back(
        {{sample.record->at_ns}, {sample.record->weight_ns}, sample.record->tid, unwinder->frames(sample)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const UnwoundSample& one, const UnwoundSample& other) { return one.at < other.at; });
  return out;
}

}  // namespace diogenes
