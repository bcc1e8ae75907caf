#include "trace/reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <tuple>

#include "trace/python_sample_records.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

// "stage/process/file", which is how a user finds it inside the session.
std::string shown(const fs::path& file) {
  fs::path process = file.parent_path();
  return (process.parent_path().filename() / process.filename() / file.filename()).string();
}

template <size_t N>
void terminate(char (&text)[N]) {
  text[N - 1] = 0;
}

// What is wrong with a file's header, or nothing.
std::optional<std::string> header_damage(const MappedFile& file) {
  auto* header = file.at<FileHeader>(0);
  if (!header) return "shorter than its header; the disk was full? measure again";
  if (memcmp(header->magic, kTraceMagic, sizeof kTraceMagic) != 0)
    return "does not begin like a trace file; ignored";
  if (header->version != kTraceVersion)
    return "is of version " + std::to_string(header->version) + ", this tool reads version " +
           std::to_string(kTraceVersion) + "; use the tool that wrote it";
  return std::nullopt;
}

void read_modules(ProcessTrace& trace) {
  auto file = MappedFile::open(trace.folder / "modules");
  if (!file) {
    trace.missing.push_back(std::string(file.error().c_str()) + "; no frame of this process can be named");
    return;
  }
  uint64_t offset = 0;
  for (; auto* record = file->at<ModuleRecord>(offset); offset += sizeof(ModuleRecord)) {
    if (!record->present) return;
    trace.modules.push_back(*record);
    terminate(trace.modules.back().path);
    auto& length = trace.modules.back().build_id_length;
    length = std::min<uint8_t>(length, 20);
    if (trace.modules.size() == Frame::kPythonOfWaiter) return;
  }
  if (offset < file->size())
    trace.missing.push_back(shown(trace.folder / "modules") + ": " + std::to_string(file->size() - offset) +
                            " bytes after the last whole module; frames of later modules cannot be named");
}

bool may_have_operations(const ProcessTrace& trace) {
  if (trace.threads.size() < trace.process.threads) return true;
  return std::any_of(trace.threads.begin(), trace.threads.end(),
                     [](const ThreadTrace& thread) { return thread.operation_count() > 0; });
}

// The threads must have been read.
void read_stacks(ProcessTrace& trace) {
  fs::path path = trace.folder / "stacks";
  std::error_code failed;
  if (!fs::exists(path, failed) && !may_have_operations(trace)) return;  // nothing happened there
  auto file = MappedFile::open(path);
  if (!file) {
    trace.missing.push_back(std::string(file.error().c_str()) + "; calls of this process have no stack");
    return;
  }
  if (auto damage = header_damage(*file)) {
    trace.missing.push_back(shown(path) + ": " + *damage);
    return;
  }
  trace.stacks = StackTable(std::move(*file));
}

// Written in stages 3 and 4 only.
void read_operands(ProcessTrace& trace) {
  fs::path path = trace.folder / "operands";
  std::error_code failed;
  if (!fs::exists(path, failed)) return;
  auto file = MappedFile::open(path);
  if (!file) {
    trace.missing.push_back(std::string(file.error().c_str()) + "; what calls did to memory is not known");
    return;
  }
  if (auto damage = header_damage(*file)) {
    trace.missing.push_back(shown(path) + ": " + *damage);
    return;
  }
  trace.operands = OperandTable(std::move(*file));
}

// Written where Python's frames were read.
void read_code(ProcessTrace& trace, const char* name, CodeTable& table) {
  fs::path path = trace.folder / name;
  std::error_code failed;
  if (!fs::exists(path, failed)) return;
  auto file = MappedFile::open(path);
  if (!file) {
    trace.missing.push_back(std::string(file.error().c_str()) + "; frames of Python have no names");
    return;
  }
  if (auto damage = header_damage(*file)) {
    trace.missing.push_back(shown(path) + ": " + *damage);
    return;
  }
  table = CodeTable(std::move(*file));
}

// Written where GPU times are taken.
void read_kernels(ProcessTrace& trace) {
  fs::path path = trace.folder / kKernelsFile;
  std::error_code failed;
  if (!fs::exists(path, failed)) return;
  auto file = MappedFile::open(path);
  if (!file) {
    trace.missing.push_back(std::string(file.error().c_str()) + "; kernels have no names");
    return;
  }
  trace.kernels = KernelTable(std::move(*file));
  if (trace.kernels.rest() > 0)
    trace.missing.push_back(shown(path) + ": " + std::to_string(trace.kernels.rest()) +
                            " bytes that cannot be read; some kernels have no names; measure again");
}

// Appends the threads that wrote the file, one after the other. Why the records end where they do, if not in zeros.
std::optional<std::string> read_thread_file(std::shared_ptr<const MappedFile> file,
                                            std::vector<ThreadTrace>& threads) {
  uint64_t offset = sizeof(FileHeader);
  auto begin = [&](uint32_t number, uint32_t tid, uint64_t first) {
    if (number < kMaximumThreads) threads.emplace_back(number, tid, file, first);
    return number < kMaximumThreads;
  };
  auto wrong = [&](const char* what, uint64_t value) {
    threads.back().note_damage();
    return std::string(what) + std::to_string(value) + " at offset " + std::to_string(offset) +
           "; what follows is left out; measure again";
  };
  const auto& header = *file->at<FileHeader>(0);
  if (!begin(header.thread, header.tid, offset)) return "its thread has no number; ignored";
  for (size_t count = 1; file->at<OperationRecord>(offset); offset += sizeof(OperationRecord), ++count) {
    const auto type = *file->at<uint8_t>(offset);
    if (type == static_cast<uint8_t>(RecordType::none)) return std::nullopt;
    if (count % kRecordsBetweenReleases == 0) file->release_pages();
    if (type > static_cast<uint8_t>(kLastRecordType)) return wrong("record of unknown type ", type);
    if (type != static_cast<uint8_t>(RecordType::thread)) {
      threads.back().append(static_cast<RecordType>(type));
    } else if (const auto& next = *file->at<ThreadRecord>(offset);
               !begin(next.thread, next.tid, offset + sizeof next)) {
      return wrong("thread of number ", next.thread);
    }
  }
  const uint64_t rest = file->size() - offset;
  if (rest == 0) return std::nullopt;
  threads.back().note_damage();
  return std::to_string(rest) + " bytes after the last record; the file was cut; measure again";
}

void read_threads(ProcessTrace& trace) {
  std::error_code failed;
  std::vector<std::pair<uint32_t, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(trace.folder, failed)) {
    std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "thread-";
    if (!name.starts_with(kPrefix)) continue;
    uint32_t ordinal = 0;
    auto [end, wrong] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), ordinal);
    if (wrong != std::errc{} || end != name.data() + name.size() || ordinal >= kMaximumThreads) continue;
    files.emplace_back(ordinal, entry.path());
  }
  if (failed) trace.missing.push_back(trace.folder.string() + ": " + failed.message());
  std::sort(files.begin(), files.end());
  for (const auto& [ordinal, path] : files) {
    auto file = MappedFile::open(path);
    if (!file) {
      trace.missing.push_back(std::string(file.error().c_str()) + "; the calls of that thread are missing");
      continue;
    }
    auto damage = header_damage(*file);
    if (!damage) damage = read_thread_file(std::make_shared<MappedFile>(std::move(*file)), trace.threads);
    if (damage) trace.missing.push_back(shown(path) + ": " + *damage);
  }
  std::stable_sort(trace.threads.begin(), trace.threads.end(),
                   [](const auto& one, const auto& other) { return one.ordinal() < other.ordinal(); });
  auto same = [](const auto& one, const auto& other) { return one.ordinal() == other.ordinal(); };
  if (auto rest = std::unique(trace.threads.begin(), trace.threads.end(), same);
      rest != trace.threads.end()) {
    trace.missing.push_back(shown(trace.folder / "thread-*") +
                            ": threads left out because another has their number: " +
                            std::to_string(trace.threads.end() - rest) + "; measure again");
    trace.threads.erase(rest, trace.threads.end());
  }
  if (trace.process.threads > trace.threads.size() && trace.process.threads <= kMaximumThreads)
    trace.missing.push_back(shown(trace.folder / "thread-*") + ": " + std::to_string(trace.process.threads) +
                            " threads were recorded, " + std::to_string(trace.threads.size()) +
                            " can be read; measure again");
}

}  // namespace

std::span<const Frame> StackTable::frames(uint32_t stack) const {
  uint64_t offset = uint64_t{stack} * 8;
  if (stack == kNoStack || offset < sizeof(FileHeader)) return {};
  auto* header = file_.at<StackHeader>(offset);
  if (!header) return {};
  uint64_t count = header->frame_count;
  uint64_t first = offset + sizeof(StackHeader);
  if (count == 0 || count > kMaximumStackFrames || file_.size() - first < count * sizeof(Frame)) return {};
  return {file_.at<Frame>(first), static_cast<size_t>(count)};
}

bool StackTable::cut(uint32_t stack) const {
  return !frames(stack).empty() && file_.at<StackHeader>(uint64_t{stack} * 8)->cut != 0;
}

void ThreadTrace::clip(int64_t begin_ns, int64_t end_ns) {
  size_t first = record_count_, last = record_count_;
  uint32_t before = 0;
  size_t inside = 0;
  for (size_t i = 0; i < record_count_ && last == record_count_; ++i) {
    if (i % kRecordsBetweenReleases == kRecordsBetweenReleases - 1) release_pages();
    if (type(i) != RecordType::operation) continue;
    const int64_t at = record<OperationRecord>(i).begin_ns;
    if (at >= end_ns) {
      last = i;
    } else if (at >= begin_ns || first < record_count_) {
      first = std::min(first, i);
      ++inside;
    } else {
      ++before;
    }
  }
  first = std::min(first, last);
  begin_ = offset_of(first);
  record_count_ = last - first;
  operation_count_ = inside;
  first_sequence_ += before;
}

const OperandListHeader* OperandTable::header(uint32_t list) const {
  uint64_t offset = uint64_t{list} * 8;
  if (offset < sizeof(FileHeader)) return nullptr;
  auto* header = file_.at<OperandListHeader>(offset);
  if (!header || header->count == 0) return nullptr;
  uint64_t count = header->count - 1;
  return file_.size() - offset - sizeof(OperandListHeader) < count * sizeof(OperandRecord) ? nullptr : header;
}

std::span<const OperandRecord> OperandTable::operands(uint32_t list) const {
  auto* found = header(list);
  if (!found || found->count == 1) return {};
  return {file_.at<OperandRecord>(uint64_t{list} * 8 + sizeof(OperandListHeader)), found->count - 1};
}

uint32_t OperandTable::flags(uint32_t list) const {
  auto* found = header(list);
  return found ? found->flags : 0;
}

std::optional<CodeTable::Code> CodeTable::code(uint32_t index) const {
  const uint64_t offset = uint64_t{index} * 8;
  if (offset < sizeof(FileHeader)) return std::nullopt;
  auto* record = file_.at<CodeRecord>(offset);
  if (!record || record->bytes < sizeof *record || record->bytes > file_.size() - offset) return std::nullopt;
  const uint64_t held = record->bytes - sizeof *record;
  if (uint64_t{record->file_bytes} + record->name_bytes + record->lines_bytes > held) return std::nullopt;
  auto* text = reinterpret_cast<const char*>(record + 1);
  Code code;
  code.version = record->version;
  code.first_line = record->first_line;
  code.file = {text, record->file_bytes};
  code.name = {text + record->file_bytes, record->name_bytes};
  code.lines = {reinterpret_cast<const uint8_t*>(code.name.data() + code.name.size()), record->lines_bytes};
  return code;
}

bool OperandTable::holds(uint32_t list) const { return header(list) != nullptr; }

Result<ProcessTrace> read_process(const fs::path& folder) {
  auto file = MappedFile::open(folder / "process");
  if (!file) return file.error();
  ProcessTrace trace;
  trace.folder = folder;
  size_t size = std::min(file->size(), sizeof(ProcessFile));
  if (size < offsetof(ProcessFile, host))
    return error("%s: %zu bytes, too short to be read; measure again", shown(folder / "process").c_str(),
                 size);
  memcpy(&trace.process, file->bytes().data(), size);
  if (memcmp(trace.process.magic, kTraceMagic, sizeof kTraceMagic) != 0)
    return error("%s: does not begin like a trace file; is this a session of this tool?",
                 shown(folder / "process").c_str());
  if (trace.process.version != kTraceVersion)
    return error("%s: version %u, this tool reads version %u; use the tool that wrote it",
                 shown(folder / "process").c_str(), trace.process.version, kTraceVersion);
  if (size < sizeof(ProcessFile))
    trace.missing.push_back(shown(folder / "process") + ": cut at " + std::to_string(size) +
                            " bytes; it is not known what was lost; measure again");
  trace.born_ns = trace.process.started_ns;
  terminate(trace.process.host);
  terminate(trace.process.executable);
  terminate(trace.process.driver_path);
  terminate(trace.process.device_name);
  terminate(trace.process.gpu_times_refusal);
  trace.process.driver_build_id_length = std::min<uint8_t>(trace.process.driver_build_id_length, 20);
  trace.process.hook_count = std::min<uint32_t>(trace.process.hook_count, kMaximumHooks);
  // One that only reached into other processes writes neither.
  std::error_code failed;
  if (trace.process.used_cuda || fs::exists(folder / "modules", failed)) read_modules(trace);
  read_operands(trace);
  read_code(trace, "python", trace.code);
  read_code(trace, kPythonSampledFile, trace.sampled_code);
  read_kernels(trace);
  trace.gpu_samples = read_gpu_samples(folder, trace.missing);
  read_threads(trace);
  if (trace.process.used_cuda || fs::exists(folder / "stacks", failed)) read_stacks(trace);
  return trace;
}

Result<StageTrace> read_stage(const fs::path& folder) {
  std::error_code failed;
  StageTrace stage;
  stage.folder = folder;
  fs::directory_iterator entries(folder, failed);
  if (failed) return error("%s: %s", folder.c_str(), failed.message().c_str());
  for (const auto& entry : entries) {
    if (!entry.is_directory(failed) || !fs::exists(entry.path() / "process", failed)) continue;
    auto process = read_process(entry.path());
    if (!process) {
      stage.missing.emplace_back(process.error().c_str());
      ++stage.unreadable;
      continue;
    }
    stage.processes.push_back(std::move(*process));
  }
  std::sort(stage.processes.begin(), stage.processes.end(), [](const ProcessTrace& a, const ProcessTrace& b) {
    return std::tie(a.process.rank, a.process.started_ns, a.folder) <
           std::tie(b.process.rank, b.process.started_ns, b.folder);
  });
  for (auto& process : stage.processes)
    stage.missing.insert(stage.missing.end(), process.missing.begin(), process.missing.end());
  return stage;
}

}  // namespace diogenes
