#include "launcher/sampling/python_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "launcher/process/signals_blocked.h"
#include "python/copied_code.h"
#include "python/running_layout.h"
#include "trace/python_sample_records.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;
using namespace diogenes::python;

constexpr auto kBetweenChains = std::chrono::milliseconds(5);
constexpr int64_t kInterval = 5'000'000;        // ns
constexpr int64_t kMostWeight = 4 * kInterval;  // where this process was held up
constexpr int64_t kBetweenLooks = 100'000'000;  // ns, for processes
constexpr size_t kKept = 64 << 10;              // bytes that are written at once
// A file of this size makes each later reading stand for twice as much, and again at twice the size.
constexpr uint64_t kReadingsHalveAt = 64 << 20;
constexpr size_t kMostCodeFile = size_t{128} << 20;  // as far as a frame's index reaches

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Memory of the process that is read just now.
struct OfProcess {
  static inline thread_local pid_t pid = 0;
  static inline thread_local int refused = 0;  // errno of the last that failed

  static bool copy(uintptr_t at, size_t bytes, void* to) {
    iovec here{to, bytes}, there{reinterpret_cast<void*>(at), bytes};
    const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got < 0) refused = errno;
    return got == static_cast<ssize_t>(bytes);
  }
  static bool look(uintptr_t at, size_t bytes, View& view) {
    view.bytes = at != 0 && bytes <= kLargestView && copy(at, bytes, view.copy) ? view.copy : nullptr;
    return view.bytes != nullptr;
  }
};

// Of this host, as the process's own file says. Null: it is not written yet, or another host's.
std::optional<pid_t> pid_of(const fs::path& folder) {
  ProcessFile process{};
  std::ifstream in(folder / "process", std::ios::binary);
  in.read(reinterpret_cast<char*>(&process), sizeof process);
  char host[sizeof process.host] = {};
  gethostname(host, sizeof host - 1);
  if (in.gcount() < static_cast<std::streamsize>(offsetof(ProcessFile, executable)) || process.pid <= 0 ||
      strncmp(host, process.host, sizeof host - 1) != 0)
    return std::nullopt;
  return process.pid;
}

}  // namespace

// A file that is written in larger pieces. Ends for good with the first piece that cannot be written whole.
class PythonSampler::Pieces {
 public:
  // Below 0: it is made with the first piece.
  explicit Pieces(fs::path path, int file = -1) : path_(std::move(path)), file_(file) {}
  ~Pieces() {
    flush();
    if (file_ >= 0) close(file_);
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  uint64_t size() const { return written_ + kept_.size(); }
  void add(const void* bytes, size_t count) {
    if (failed_) return;
    const auto* from = static_cast<const uint8_t*>(bytes);
    kept_.insert(kept_.end(), from, from + count);
    if (kept_.size() >= kKept) flush();
  }
  void flush() {
    if (kept_.empty()) return;
    if (file_ < 0) file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    failed_ = file_ < 0 || write(file_, kept_.data(), kept_.size()) != static_cast<ssize_t>(kept_.size());
    written_ += kept_.size();
    kept_.clear();
  }

 private:
  fs::path path_;
  int file_ = -1;
  bool failed_ = false;
  uint64_t written_ = 0;
  std::vector<uint8_t> kept_;
};

class PythonSampler::Sampled {
 public:
  Sampled(fs::path folder, pid_t pid, const PythonThreadRecord* table, int samples)
      : folder_(std::move(folder)),
        pid_(pid),
        table_(table),
        code_(folder_ / kPythonSampledFile),
        samples_(folder_ / kPythonSamplesFile, samples) {}
  ~Sampled() {
    for (const auto& [tid, thread] : threads_)
      if (thread.state_file >= 0) close(thread.state_file);
    munmap(const_cast<PythonThreadRecord*>(table_), kMostPythonThreads * sizeof *table_);
  }
  Sampled(const Sampled&) = delete;
  Sampled& operator=(const Sampled&) = delete;

  pid_t pid() const { return pid_; }
  bool ended() const { return ended_; }
  int refused() const { return refused_; }

  // One that was sampled just now.
  void read(uint32_t tid) {
    OfProcess::pid = pid_;
    take_new_threads();
    if (const auto thread = threads_.find(tid); thread != threads_.end()) read(tid, thread->second, 0);
  }

  // All that run.
  void read() {
    OfProcess::pid = pid_;
    take_new_threads();
    for (auto& [tid, thread] : threads_) {
      if (thread.gone) continue;
      const int64_t last = std::exchange(thread.looked_ns, now_ns());
      if (runs(tid, thread)) read(tid, thread, std::min(thread.looked_ns - last, kMostWeight));
    }
    ended_ = access(fmt::format("/proc/{}", pid_).c_str(), F_OK) != 0;
  }

 private:
  struct OneThread {
    PythonThreadRecord known{};
    int state_file = -1;
    bool gone = false;
    int64_t looked_ns = 0;
    uint64_t seen = 0;
  };

  void take_new_threads() {
    for (; next_ < kMostPythonThreads; ++next_) {
      PythonThreadRecord one{};
      // acquire pairs with the release of who wrote it.
      if ((one.tid = __atomic_load_n(&table_[next_].tid, __ATOMIC_ACQUIRE)) == 0) return;
      const uint32_t tid = one.tid;
      one = table_[next_];
      one.tid = tid;
      OneThread& thread = threads_[tid];
      thread.known = one;
      thread.gone = false;
      thread.looked_ns = now_ns();
    }
  }

  // On a processor, or about to be. What waits, for the interpreter's lock too, does not run.
  bool runs(uint32_t tid, OneThread& thread) {
    if (thread.state_file < 0)
      thread.state_file = open(fmt::format("/proc/{}/task/{}/stat", pid_, tid).c_str(), O_RDONLY | O_CLOEXEC);
    char text[256];
    const ssize_t bytes = thread.state_file < 0 ? -1 : pread(thread.state_file, text, sizeof text - 1, 0);
    if (bytes <= 0) {
      thread.gone = bytes == 0 || errno == ENOENT || errno == ESRCH;  // else there are too many open files
      if (thread.state_file >= 0) close(std::exchange(thread.state_file, -1));
      return false;
    }
    text[bytes] = 0;
    const char* name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
  }

  void read(uint32_t tid, OneThread& thread, int64_t weight_ns) {
    if (thread.seen++ % (uint64_t{1} << halvings_) != 0) return;
    const Interpreter* interpreter = interpreter_of(thread.known);
    if (!interpreter) return;
    const int64_t at = now_ns();
    if (!ChainReader<OfProcess>(*interpreter).read(thread.known.state, reading_)) {
      if (OfProcess::refused == EPERM) refused_ = EPERM;
      return;
    }
    words_.clear();
    for (const PythonReading::Entry& entry :
         std::span(reading_.entries, static_cast<size_t>(reading_.count))) {
      const uint32_t code = code_of(*interpreter, entry);
      if (code == 0) return;
      words_.push_back(PythonFrame{code, entry.instruction, entry.entry}.packed(kPythonSampled).packed);
    }
    if (words_.empty()) return;
    const PythonSampleRecord record{at, weight_ns << halvings_, tid, static_cast<uint32_t>(words_.size())};
    samples_.add(&record, sizeof record);
    samples_.add(words_.data(), words_.size() * sizeof words_[0]);
    while (samples_.size() > kReadingsHalveAt << halvings_ && halvings_ < 20) ++halvings_;
  }

  const Interpreter* interpreter_of(const PythonThreadRecord& thread) {
    if (interpreter_.runtime != thread.runtime || !interpreter_.layout.known())
      interpreter_ = {layout_of<OfProcess>(thread.version, thread.runtime), thread.runtime, thread.code_type};
    if (!interpreter_.layout.known() && OfProcess::refused == EPERM) refused_ = EPERM;
    return interpreter_.layout.known() ? &interpreter_ : nullptr;
  }

  // As code_index() of src/python. 0: it could not be kept.
  uint32_t code_of(const Interpreter& interpreter, const PythonReading::Entry& entry) {
    const auto [known, fresh] = known_.try_emplace(entry.fingerprint, 0);
    if (!fresh) return known->second;
    if (code_.size() == 0) {
      FileHeader header{};
      memcpy(header.magic, kTraceMagic, sizeof kTraceMagic);
      header.version = kTraceVersion;
      code_.add(&header, sizeof header);
    }
    record_.resize(kMostCodeBytes);
    CodeRecord header;
    if (code_.size() + kMostCodeBytes > kMostCodeFile ||
        !copy_code<OfProcess>(interpreter, entry.code, header, record_.data())) {
      known_.erase(known);
      return 0;
    }
    memcpy(record_.data(), &header, sizeof header);
    known->second = static_cast<uint32_t>(code_.size() / 8);
    code_.add(record_.data(), header.bytes);
    return known->second;
  }

  const fs::path folder_;
  const pid_t pid_;
  const PythonThreadRecord* table_;
  uint32_t next_ = 0;  // in the table
  Interpreter interpreter_;
  std::unordered_map<uint32_t, OneThread> threads_;
  std::unordered_map<uint64_t, uint32_t> known_;  // code, by fingerprint: its place in words
  Pieces code_, samples_;
  PythonReading reading_;
  std::vector<uint64_t> words_;
  std::vector<uint8_t> record_;
  int halvings_ = 0;  // one in 2^n readings is kept
  int refused_ = 0;
  bool ended_ = false;
};

PythonSampler::PythonSampler(fs::path run_folder) : folder_(std::move(run_folder)) {}
PythonSampler::~PythonSampler() { stop(); }

void PythonSampler::start() {
  const SignalsBlocked blocked;
  reader_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kBetweenChains, [this] { return over_; })) read_all();
  });
}

void PythonSampler::at_sample(uint32_t pid, uint32_t tid) {
  look_for_processes();
  // What the process executed last, if it executed another program, or the pid is used again.
  const auto last = std::find_if(processes_.rbegin(), processes_.rend(),
                                 [&](const auto& one) { return one->pid() == static_cast<pid_t>(pid); });
  if (last != processes_.rend()) (*last)->read(tid);
}

bool PythonSampler::is_wanted() {
  look_for_processes();
  return !processes_.empty();
}

void PythonSampler::stop() {
  if (reader_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ends_.notify_one();
    reader_.join();
  }
  for (const auto& process : processes_)
    if (process->refused() != 0 && problem_.empty())
      problem_ =
          fmt::format("the kernel refuses to read the program's memory ({})", strerror(process->refused()));
  processes_.clear();
}

void PythonSampler::look_for_processes() {
  if (now_ns() - looked_ns_ < kBetweenLooks) return;
  looked_ns_ = now_ns();
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    look_at(entry->path());
    failed.clear();
  }
}

void PythonSampler::look_at(const fs::path& folder) {
  std::error_code failed;
  const fs::path file = folder / kPythonThreadsFile, samples = folder / kPythonSamplesFile;
  if (fs::exists(samples, failed) ||
      fs::file_size(file, failed) < kMostPythonThreads * sizeof(PythonThreadRecord) || failed)
    return;
  const std::optional<pid_t> pid = pid_of(folder);
  const int table = pid ? open(file.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (table < 0) return;
  void* memory =
      mmap(nullptr, kMostPythonThreads * sizeof(PythonThreadRecord), PROT_READ, MAP_SHARED, table, 0);
  close(table);
  if (memory == MAP_FAILED) return;
  const int to = open(samples.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (to < 0)
    munmap(memory, kMostPythonThreads * sizeof(PythonThreadRecord));
  else
    processes_.push_back(
        std::make_unique<Sampled>(folder, *pid, static_cast<const PythonThreadRecord*>(memory), to));
}

void PythonSampler::read_all() {
  look_for_processes();
  for (const auto& process : processes_)
    if (!process->ended()) process->read();
}

}  // namespace diogenes::launcher
