// Names of functions, files and lines, and the source lines around places, as the first analysis of a session found
// them. They are kept in the session, so that its report reads the same after the program was rebuilt, its sources were
// edited, or the session was moved to another machine. In: the session's file `names.json`. Out: what is in it; what
// cannot be read is as if it were not there. A file is told by path and build-id.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "base/result.h"
#include "trace/format.h"

namespace diogenes {

class KeptNames {
 public:
  KeptNames() = default;  // keeps nothing
  explicit KeptNames(std::filesystem::path file);

  // Null where they are not known.
  const std::vector<ReportFrame>* frames(const ModuleRecord& module, uint64_t offset) const;
  // Frames without any name are not kept: the file may be found later.
  void keep(const ModuleRecord& module, uint64_t offset, const std::vector<ReportFrame>& frames);

  const ReportSource* source(const std::string& file, int line) const;
  void keep(const std::string& file, int line, const ReportSource& source);

  // Writes what is new; nothing where nothing is. A session that cannot be written to stays as it is.
  Status save();

 private:
  std::filesystem::path file_;
  std::map<std::string, std::map<uint64_t, std::vector<ReportFrame>>>
      modules_;                                                 // by path and build-id, offset
  std::map<std::string, std::map<int, ReportSource>> sources_;  // by file, line
  bool changed_ = false;
};

}  // namespace diogenes
