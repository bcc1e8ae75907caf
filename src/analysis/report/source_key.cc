#include "analysis/report/source_key.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/symbols/frame_owner.h"

namespace diogenes {
namespace {

// FNV-1a, 64 bits: stable across versions and machines.
struct TextHash {
  uint64_t value = 0xcbf29ce484222325;
  void add(const std::string& text) {
    for (unsigned char c : text) value = (value ^ c) * 0x100000001b3;
    value = (value ^ 0xff) * 0x100000001b3;  // where the text ends
  }
};

std::string module_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Keyed {
  std::string* key;
  const std::optional<ReportFrame>* where;
};

}  // namespace

std::string source_key_of(const std::string& kind, const std::string& called,
                          const std::vector<ReportFrame>& stack) {
  TextHash hash;
  hash.add(kind);
  hash.add(called);
  for (const ReportFrame& frame : stack) {
    if (frame.owner == FrameOwner::runtime) continue;  // which a new driver or libc lays out anew
    hash.add(frame.function.empty() ? module_name(frame.module) : base_name(frame));
  }
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value));
  return text;
}

void set_source_keys(Report& report) {
  std::map<std::string, std::vector<Keyed>> alike;
  auto set = [&](auto& finding, const std::string& kind) {
    finding.source_key =
        source_key_of(kind, finding.api.empty() ? finding.operation : finding.api, finding.stack);
    alike[finding.source_key].push_back({&finding.source_key, &finding.where});
  };
  for (ReportProblem& problem : report.problems) set(problem, problem.kind);
  for (ReportRequired& required : report.required) set(required, required.sends ? "sent" : "required");
  for (auto& [key, findings] : alike) {
    std::stable_sort(findings.begin(), findings.end(), [](const Keyed& a, const Keyed& b) {
      auto place = [](const Keyed& one) {
        const std::optional<ReportFrame>& where = *one.where;
        return where ? std::tuple(where->line, where->column, where->offset) : std::tuple(0, 0, uint64_t{0});
      };
      return place(a) < place(b);
    });
    for (size_t i = 1; i < findings.size(); ++i) *findings[i].key += "-" + std::to_string(i + 1);
  }
}

}  // namespace diogenes
