#include "analysis/samples/unwind.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/in_background.h"

namespace diogenes {
namespace {

constexpr size_t kMostFrames = 128;
constexpr uint64_t kPage = 4096;
// Each thread opens files of its own.
constexpr size_t kMostUnwinders = 4, kSamplesOfAThread = 200;
constexpr int kReturnAddress = 16;  // rip, as DWARF numbers it

class ProcessFiles;

// The sample that is walked just now, as libdwfl asks for it.
struct Walk {
  const CpuSample* sample = nullptr;
  std::vector<uint64_t>* addresses = nullptr;
  const ProcessFiles* files = nullptr;
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

int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;  // unwind tables are in the files themselves
}

// The files of a process, by address, as libdwfl knows them: a program of Python has hundreds, and stacks lead through a few,
// so each is opened when a stack first leads there.
class ProcessFiles {
 public:
  explicit ProcessFiles(const ProcessTrace& process)
      : process_(process), opened_(process.modules.size(), false), dwfl_(dwfl_begin(&kFiles)) {
    for (uint32_t i = 0; i < process.modules.size(); ++i) by_address_.push_back(i);
    std::sort(by_address_.begin(), by_address_.end(), [&](uint32_t one, uint32_t other) {
      return process.modules[one].begin < process.modules[other].begin;
    });
    // Which of two files an address is in, libdwfl decides by all that it knows.
    uint64_t end = 0;
    for (const uint32_t module : by_address_) {
      if (first_page(module) < end)
        for (uint32_t i = 0; i < process.modules.size(); ++i) open(i);
      end = std::max(end, behind_last_page(module));
    }
  }

  Dwfl* dwfl() const { return dwfl_.get(); }

  void open(uint32_t number) {
    if (opened_[number]) return;
    opened_[number] = true;
    const ModuleRecord& module = process_.modules[number];
    if (!dwfl_ || module.path[0] != '/') return;
    dwfl_report_begin_add(dwfl_.get());
    dwfl_report_elf(dwfl_.get(), module.path, module.path, -1, module.bias, true);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  }

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

  // False: it is in a file that has still to be opened.
  bool knows(uint64_t address) const { return to_open(address) == kNone; }
  // True: that was opened now.
  bool open_at(uint64_t address) {
    const uint32_t module = to_open(address);
    if (module == kNone) return false;
    open(module);
    return true;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint64_t first_page(uint32_t module) const { return process_.modules[module].begin & ~(kPage - 1); }
  uint64_t behind_last_page(uint32_t module) const {
    return (process_.modules[module].end + kPage - 1) & ~(kPage - 1);
  }

  uint32_t to_open(uint64_t address) const {
    auto next = std::upper_bound(by_address_.begin(), by_address_.end(), address,
                                 [&](uint64_t at, uint32_t module) { return at < first_page(module); });
    if (next == by_address_.begin()) return kNone;
    const uint32_t module = *--next;
    return address < behind_last_page(module) && !opened_[module] ? module : kNone;
  }

  static constexpr Dwfl_Callbacks kFiles = {nullptr, no_debug_file, dwfl_offline_section_address, nullptr};
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };

  const ProcessTrace& process_;
  std::vector<uint32_t> by_address_;  // modules
  std::vector<bool> opened_;
  std::unique_ptr<Dwfl, End> dwfl_;
};

int add_frame(Dwfl_Frame* frame, void* of_walk) {
  Dwarf_Addr address = 0;
  bool interrupted = false;
  const Walk& walk = *static_cast<Walk*>(of_walk);
  if (!dwfl_frame_pc(frame, &address, &interrupted) || address == 0) return DWARF_CB_ABORT;
  walk.addresses->push_back(interrupted ? address : address - 1);
  return walk.addresses->size() < kMostFrames && walk.files->knows(walk.addresses->back()) ? DWARF_CB_OK
                                                                                           : DWARF_CB_ABORT;
}

class Unwinder {
 public:
  explicit Unwinder(const ProcessTrace& process) : files_(process) {
    // libdwfl attaches to a process of which it knows a file.
    for (uint32_t i = 0; i < process.modules.size() && !attached_; ++i) {
      files_.open(i);
      attached_ =
          files_.dwfl() && dwfl_attach_state(files_.dwfl(), nullptr, process.process.pid, &kThreads, &walk_);
    }
  }

  std::vector<Frame> frames(const CpuSample& sample) {
    std::vector<uint64_t> addresses;
    do {
      addresses.clear();
      walk_ = {&sample, &addresses, &files_};
      if (attached_)
        dwfl_getthread_frames(files_.dwfl(), static_cast<pid_t>(sample.record->tid), add_frame, &walk_);
      if (addresses.empty()) addresses.push_back(sample.record->registers[kReturnAddress]);
    } while (addresses.size() < kMostFrames && files_.open_at(addresses.back()));
    std::vector<Frame> frames;
    for (const uint64_t address : addresses) frames.push_back(files_.frame_at(address));
    return frames;
  }

 private:
  ProcessFiles files_;
  Walk walk_;
  bool attached_ = false;
};

}  // namespace

bool take_agent_out(const ProcessTrace& process, std::vector<Frame>& frames) {
  const auto is_agents = [&process](Frame frame) {
    if (frame.module() >= process.modules.size()) return false;
    const std::string_view path = process.modules[frame.module()].path;
    return path.substr(path.rfind('/') + 1).starts_with("libdiogenes-");
  };
  if (!frames.empty() && is_agents(frames.front())) return false;
  std::erase_if(frames, is_agents);
  return true;
}

std::vector<UnwoundSample> unwind(const ProcessTrace& process, std::span<const CpuSample> samples) {
  std::vector<const CpuSample*> own;
  for (const CpuSample& sample : samples)
    if (sample.record->pid == static_cast<uint32_t>(process.process.pid)) own.push_back(&sample);
  std::vector<UnwoundSample> out(own.size());
  const size_t parts = std::min(own.size() / kSamplesOfAThread + 1, kMostUnwinders);
  each_on_threads(parts, parts, [&](size_t part) {
    std::optional<Unwinder> unwinder;
    for (size_t i = own.size() * part / parts; i < own.size() * (part + 1) / parts; ++i) {
      const CpuSampleRecord& record = *own[i]->record;
      if (!unwinder) unwinder.emplace(process);
      out[i] = {{record.at_ns}, {record.weight_ns}, record.tid, unwinder->frames(*own[i])};
      if (!take_agent_out(process, out[i].frames)) out[i].frames.clear();
    }
  });
  std::erase_if(out, [](const UnwoundSample& sample) { return sample.frames.empty(); });
  std::stable_sort(out.begin(), out.end(),
                   [](const UnwoundSample& one, const UnwoundSample& other) { return one.at < other.at; });
  return out;
}

}  // namespace diogenes
