#include "analysis/symbols/kept_names.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/symbols/module_file.h"

namespace diogenes {
namespace {

using nlohmann::json;

constexpr const char* kNamesSchema = "diogenes-names/1";

std::string key_of(const ModuleRecord& module) {
  char id[41];
  to_hex(build_id_of(module), id);
  return path_of(module) + ' ' + id;
}

json to_json(const ReportFrame& frame) {
  return {frame.function, frame.file,   frame.line,    frame.column,
          frame.module,   frame.offset, frame.inlined, frame.language};
}

// As to_json() writes it; whatever else is there is an exception of the library's.
ReportFrame frame_of(const json& list) {
  ReportFrame frame;
  list.at(0).get_to(frame.function);
  list.at(1).get_to(frame.file);
  list.at(2).get_to(frame.line);
  list.at(3).get_to(frame.column);
  list.at(4).get_to(frame.module);
  list.at(5).get_to(frame.offset);
  list.at(6).get_to(frame.inlined);
  list.at(7).get_to(frame.language);
  return frame;
}

}  // namespace

KeptNames::KeptNames(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream stream(file_);
  const json object = json::parse(stream, nullptr, false);
  try {
    if (!object.is_object() || object.value("schema", "") != kNamesSchema) return;
    for (const auto& [module, offsets] : object.at("modules").items())
      for (const auto& [offset, frames] : offsets.items()) {
        std::vector<ReportFrame> names;
        for (const json& frame : frames) names.push_back(frame_of(frame));
        if (!names.empty()) modules_[module][std::stoull(offset, nullptr, 16)] = std::move(names);
      }
    for (const auto& [name, lines] : object.at("sources").items())
      for (const auto& [line, source] : lines.items())
        sources_[name][std::stoi(line)] = {source.at("first").get<int>(),
                                           source.at("lines").get<std::vector<std::string>>()};
  } catch (const std::exception&) {  // damaged: names are looked up anew
    modules_.clear();
    sources_.clear();
  }
}

const std::vector<ReportFrame>* KeptNames::frames(const ModuleRecord& module, uint64_t offset) const {
  auto found = modules_.find(key_of(module));
  if (found == modules_.end()) return nullptr;
  auto frames = found->second.find(offset);
  return frames == found->second.end() ? nullptr : &frames->second;
}

void KeptNames::keep(const ModuleRecord& module, uint64_t offset, const std::vector<ReportFrame>& frames) {
  const bool named = std::any_of(frames.begin(), frames.end(), [](const ReportFrame& frame) {
    return !frame.function.empty() || !frame.file.empty();
  });
  if (file_.empty() || !named) return;
  modules_[key_of(module)][offset] = frames;
  changed_ = true;
}

const ReportSource* KeptNames::source(const std::string& file, int line) const {
  auto found = sources_.find(file);
  if (found == sources_.end()) return nullptr;
  auto source = found->second.find(line);
  return source == found->second.end() ? nullptr : &source->second;
}

void KeptNames::keep(const std::string& file, int line, const ReportSource& source) {
  if (file_.empty() || source.lines.empty()) return;
  sources_[file][line] = source;
  changed_ = true;
}

Status KeptNames::save() {
  if (!changed_) return Done{};
  json modules = json::object(), sources = json::object();
  for (const auto& [module, offsets] : modules_)
    for (const auto& [offset, frames] : offsets) {
      json list = json::array();
      for (const ReportFrame& frame : frames) list.push_back(to_json(frame));
      modules[module][fmt::format("{:x}", offset)] = std::move(list);
    }
  for (const auto& [name, lines] : sources_)
    for (const auto& [line, source] : lines)
      sources[name][std::to_string(line)] = {{"first", source.first}, {"lines", source.lines}};
  const json object = {
      {"schema", kNamesSchema}, {"modules", std::move(modules)}, {"sources", std::move(sources)}};
  // Two reports of one session may be made at a time: each writes a file of its own, and the last one stays.
  const std::filesystem::path fresh = fmt::format("{}.{}", file_.string(), getpid());
  std::ofstream stream(fresh);
  stream << object.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  stream.close();
  std::error_code failed;
  if (stream.good()) std::filesystem::rename(fresh, file_, failed);
  if (stream.good() && !failed) {
    changed_ = false;
    return Done{};
  }
  std::filesystem::remove(fresh, failed);
  return error("%s: cannot be written; its report may read otherwise once the program is rebuilt",
               file_.c_str());
}

}  // namespace diogenes
