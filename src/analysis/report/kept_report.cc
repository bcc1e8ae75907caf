#include "analysis/report/kept_report.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <type_traits>

#include "base/build_id.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "diogenes-kept-report/2\n";
constexpr const char* kFile = "report.kept";

// The members of each type, once for both directions. The bindings do not compile when a member is added or removed.
template <typename Archive>
void members(Archive& archive, ReportFrame& value) {
  auto& [function, file, line, module, offset, inlined, column, owner, language, waits] = value;
  archive(function, file, line, module, offset, inlined, column, owner, language, waits);
}
template <typename Archive>
void members(Archive& archive, ReportCondition& value) {
  auto& [code, text] = value;
  archive(code, text);
}
template <typename Archive>
void members(Archive& archive, ReportNotice& value) {
  auto& [code, text] = value;
  archive(code, text);
}
template <typename Archive>
void members(Archive& archive, ReportSource& value) {
  auto& [first, lines] = value;
  archive(first, lines);
}
template <typename Archive>
void members(Archive& archive, ReportValueUse& value) {
  auto& [use, count, after_s, stack] = value;
  archive(use, count, after_s, stack);
}
template <typename Archive>
void members(Archive& archive, ReportValue& value) {
  auto& [followed, instances, copied, converted, computed, later, elsewhere, uses, moved_up_to_s] = value;
  archive(followed, instances, copied, converted, computed, later, elsewhere, uses, moved_up_to_s);
}
template <typename Archive>
void members(Archive& archive, ReportUse& value) {
  auto& [after_s, stack, followed] = value;
  archive(after_s, stack, followed);
}
template <typename Archive>
void members(Archive& archive, ReportRange& value) {
  auto& [low_s, high_s, reason, paper_s, replay_s] = value;
  archive(low_s, high_s, reason, paper_s, replay_s);
}
template <typename Archive>
void members(Archive& archive, ReportTogether& value) {
  auto& [benefit_s, percent, range] = value;
  archive(benefit_s, percent, range);
}
template <typename Archive>
void members(Archive& archive, ReportProcess& value) {
  auto& [rank, pid, host, executable] = value;
  archive(rank, pid, host, executable);
}
template <typename Archive>
void members(Archive& archive, ReportOccurrence::Thread& value) {
  auto& [ordinal, main, count] = value;
  archive(ordinal, main, count);
}
template <typename Archive>
void members(Archive& archive, ReportOccurrence& value) {
  auto& [process, count, thread_count, threads] = value;
  archive(process, count, thread_count, threads);
}
template <typename Archive>
void members(Archive& archive, ReportProblem& value) {
  auto& [id, key, source_key, kind, operation, api, count, instances, waited_s, call_s, bytes, benefit_s,
         percent, range, first_use, duplicate_of, lost_at, conditions, why, fix, where, via, source, stack,
         occurrences, proved] = value;
  static_cast<void>(proved);  // read anew each time (proved_report.h), as in what follows
  archive(id, key, source_key, kind, operation, api, count, instances, waited_s, call_s, bytes, benefit_s,
          percent, range, first_use, duplicate_of, lost_at, conditions, why, fix, where, via, source, stack,
          occurrences);
}
template <typename Archive>
void members(Archive& archive, ReportRequired& value) {
  auto& [id, key, source_key, operation, api, count, instances, not_judged, waited_s, call_s, up_to_s,
         percent, range, reasons, used_for, used_by, same_value, values, where, via, stack, occurrences,
         proved] = value;
  static_cast<void>(proved);
  archive(id, key, source_key, operation, api, count, instances, not_judged, waited_s, call_s, up_to_s,
          percent, range, reasons, used_for, used_by, same_value, values, where, via, stack, occurrences);
}
template <typename Archive>
void members(Archive& archive, ReportCoverage& value) {
  auto& [synchronizations, judged, not_judged] = value;
  archive(synchronizations, judged, not_judged);
}
template <typename Archive>
void members(Archive& archive, ReportGroup& value) {
  auto& [id, grouping, title, benefit_s, percent, synchronizations, transfers, problems, range, proved] =
      value;
  static_cast<void>(proved);
  archive(id, grouping, title, benefit_s, percent, synchronizations, transfers, problems, range);
}
template <typename Archive>
void members(Archive& archive, ReportLoop& value) {
  auto& [iterations, calls, benefit_s] = value;
  archive(iterations, calls, benefit_s);
}
template <typename Archive>
void members(Archive& archive, ReportPart& value) {
  auto& [marks, times, seconds] = value;
  archive(marks, times, seconds);
}
template <typename Archive>
void members(Archive& archive, ReportStage& value) {
  auto& [name, runtime_s, overhead] = value;
  archive(name, runtime_s, overhead);
}
template <typename Archive>
void members(Archive& archive, ReportWaitFunction& value) {
  auto& [offset, agreed, known] = value;
  archive(offset, agreed, known);
}
template <typename Archive>
void members(Archive& archive, ReportFunction& value) {
  auto& [operation, count, call_s, waited_s, benefit_s] = value;
  archive(operation, count, call_s, waited_s, benefit_s);
}
template <typename Archive>
void members(Archive& archive, Report& value) {
  auto& [model, tool_version, started, incomplete, coverage, command, exit_status, runtime_s, part,
         gpu_phase_s, driver_path, driver_build_id, driver_version, simulated, wait_functions, device_name,
         compute_capability, processes, stages, synchronizations, transfers, transferred_bytes, waited_s,
         functions, problems, required, groups, together, main_loop, notices, timeline, proof] = value;
  static_cast<void>(timeline);  // made anew by those who show it
  static_cast<void>(proof);
  archive(model, tool_version, started, incomplete, coverage, command, exit_status, runtime_s, part,
          gpu_phase_s, driver_path, driver_build_id, driver_version, simulated, wait_functions, device_name,
          compute_capability, processes, stages, synchronizations, transfers, transferred_bytes, waited_s,
          functions, problems, required, groups, together, main_loop, notices);
}
template <typename Archive, typename First, typename Second>
void members(Archive& archive, std::pair<First, Second>& value) {
  archive(value.first, value.second);
}

class Writer {
 public:
  template <typename... Values>
  void operator()(Values&... values) {
    (one(values), ...);
  }
  std::string bytes;

 private:
  template <typename Value>
  void one(Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      members(*this, value);
    }
  }
  void one(bool value) { bytes += value ? '\1' : '\0'; }
  void one(std::string& value) {
    count(value.size());
    bytes += value;
  }
  template <typename Value>
  void one(std::vector<Value>& values) {
    count(values.size());
    for (Value& value : values) one(value);
  }
  template <typename Value>
  void one(std::optional<Value>& value) {
    one(value.has_value());
    if (value) one(*value);
  }
  void count(size_t size) {
    uint64_t written = size;
    one(written);
  }
};

// Stops at the first thing that is wrong; what was read until then is not used.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <typename... Values>
  void operator()(Values&... values) {
    (one(values), ...);
  }
  bool good() const { return good_ && rest_.empty(); }

 private:
  template <typename Value>
  void one(Value& value) {
    if constexpr (std::is_arithmetic_v<Value>) {
      take(&value, sizeof value);
    } else {
      members(*this, value);
    }
  }
  void one(bool& value) {
    uint8_t byte = 0;
    take(&byte, 1);
    if (byte > 1) good_ = false;
    value = byte == 1;
  }
  void one(FrameOwner& owner) {
    uint8_t byte = 0;
    take(&byte, 1);
    if (byte > static_cast<uint8_t>(FrameOwner::runtime))
      good_ = false;
    else
      owner = static_cast<FrameOwner>(byte);
  }
  void one(std::string& value) {
    const size_t size = count();
    value.assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
  }
  template <typename Value>
  void one(std::vector<Value>& values) {
    values.clear();
    for (size_t left = count(); left > 0 && good_; --left) one(values.emplace_back());
  }
  template <typename Value>
  void one(std::optional<Value>& value) {
    bool there = false;
    one(there);
    if (there && good_) one(value.emplace());
  }
  // Of bytes, or of what takes a byte at least.
  size_t count() {
    uint64_t size = 0;
    take(&size, sizeof size);
    if (size > rest_.size()) good_ = false;
    return good_ ? size : 0;
  }
  void take(void* out, size_t size) {
    if (!good_ || rest_.size() < size) {
      good_ = false;
      return;
    }
    memcpy(out, rest_.data(), size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  bool good_ = true;
};

// Of the program that runs; without one nothing is kept.
BuildId own_build_id() {
  BuildId id;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* out) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = object->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          const char* at =
              reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);  // NOLINT: its own image
          const char* end = at + header.p_memsz;
          while (end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* content = name + ((note.n_namesz + 3) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
              auto& found = *static_cast<BuildId*>(out);
              found.length = static_cast<uint8_t>(std::min<size_t>(note.n_descsz, found.bytes.size()));
              memcpy(found.bytes.data(), content, found.length);
            }
            at = content + ((note.n_descsz + 3) & ~3u);
          }
        }
        return 1;  // the first object is the program
      },
      &id);
  return id;
}

// What the report was made of. Empty: it cannot be told.
std::string key_of(const fs::path& session, const AnalysisOptions& options) {
  const BuildId tool = own_build_id();
  if (tool.length == 0) return "";
  char hex[41];
  to_hex(tool, hex);
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(session, failed), end; !failed && at != end;
       at.increment(failed)) {
    // Beside the folders of the runs lie what the tool makes of them, and what the user puts there.
    const fs::path path = at->path();
    if (path.parent_path() == session && path.filename() != "session.json") {
      // The runs of `diogenes prove` are no part of it, either.
      if (path.filename() == stage_name(Stage::proving)) at.disable_recursion_pending();
      continue;
    }
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    files.push_back(fmt::format("{} {} {}.{}", path.lexically_relative(session).string(), status.st_size,
                                status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
  }
  if (failed || files.empty()) return "";
  std::sort(files.begin(), files.end());
  std::string key = fmt::format("{}\n{} {} {}\n", hex, static_cast<int>(options.model),
                                options.threshold_percent, options.tracing_run);
  for (const auto* folders : {&options.owners.own, &options.owners.library}) {
    for (const std::string& folder : *folders) key += folder + "\n";
    key += "\n";
  }
  for (const std::string& file : files) key += file + "\n";
  return key;
}

struct Head {
  uint64_t key = 0, content = 0;  // hashes
};

}  // namespace

std::string report_bytes(const Report& report) {
  Writer writer;
  members(writer, const_cast<Report&>(report));  // NOLINT: a writer changes nothing
  return std::move(writer.bytes);
}

std::optional<Report> report_of(std::string_view bytes) {
  Report report;
  Reader reader(bytes);
  members(reader, report);
  if (!reader.good()) return std::nullopt;
  return report;
}

std::optional<Report> read_kept_report(const fs::path& session, const AnalysisOptions& options) {
  std::ifstream file(session / kFile, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Head head;
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + sizeof head) return std::nullopt;
  memcpy(&head, bytes.data() + kMagic.size(), sizeof head);
  const std::string_view content = std::string_view(bytes).substr(kMagic.size() + sizeof head);
  const std::string key = key_of(session, options);
  if (key.empty() || head.key != XXH3_64bits(key.data(), key.size()) ||
      head.content != XXH3_64bits(content.data(), content.size()))
    return std::nullopt;
  return report_of(content);
}

Status keep_report(const fs::path& session, const AnalysisOptions& options, const Report& report) {
  const std::string key = key_of(session, options);
  if (key.empty()) return Done{};
  const std::string content = report_bytes(report);
  const Head head{XXH3_64bits(key.data(), key.size()), XXH3_64bits(content.data(), content.size())};
  // Two may be written at a time: each to a file of its own, and the last one stays.
  const fs::path fresh = session / fmt::format("{}.{}", kFile, getpid());
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << kMagic;
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file << content;
  file.close();
  std::error_code failed;
  if (file.good()) fs::rename(fresh, session / kFile, failed);
  if (file.good() && !failed) return Done{};
  fs::remove(fresh, failed);
  return error("%s: the report cannot be kept there; the session is analysed anew each time",
               session.c_str());
}

}  // namespace diogenes
