#include "views/shared/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace diogenes {

std::string short_path(const std::string& path, const std::string& folder) {
  if (path.empty() || path[0] != '/') return path;
  std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (folder.empty() || folder[0] != '/') return normal.string();
  std::string relative = normal.lexically_relative(std::filesystem::path(folder).lexically_normal()).string();
  // A path that leads over the root says less than the absolute one.
  bool far = relative.empty() || relative.rfind("../../..", 0) == 0;
  if (!far && relative.rfind("../", 0) == 0) far = relative.size() >= normal.string().size();
  return far ? normal.string() : relative;
}

std::string common_folder(const Report& report, const std::string& folder) {
  constexpr ptrdiff_t kLeastDeep =
      3;  // "/home/me": what is shorter says nothing, and would be left out everywhere
  std::filesystem::path common;
  const auto add = [&](const std::optional<ReportFrame>& where) {
    if (!where || where->file.empty() || where->owner != FrameOwner::application) return true;
    if (!short_path(where->file, folder).starts_with("/")) return false;
    const std::filesystem::path parent = std::filesystem::path(where->file).lexically_normal().parent_path();
    if (common.empty()) {
      common = parent;
    } else {
      std::filesystem::path shared;
      for (auto a = common.begin(), b = parent.begin(); a != common.end() && b != parent.end() && *a == *b;
           ++a, ++b)
        shared /= *a;
      common = shared;
    }
    return true;
  };
  for (const ReportProblem& problem : report.problems)
    if (!add(problem.where)) return folder;
  for (const ReportRequired& required : report.required)
    if (!add(required.where)) return folder;
  return std::distance(common.begin(), common.end()) >= kLeastDeep ? common.string() : folder;
}

namespace {

// Outer scopes go first, then the end.
std::string fitting(std::string function, size_t room) {
  for (size_t scope; function.size() > room && (scope = function.find("::")) < function.find('<') &&
                     scope != std::string::npos;)
    function.erase(0, scope + 2);
  return function.size() > room ? function.substr(0, room - 3) + "..." : function;
}

}  // namespace

std::string place_text(const ReportFrame& frame, const std::string& folder, size_t width) {
  std::string function = frame.language == "python" ? frame.function : short_function(frame.function);
  std::string module = frame.module.substr(frame.module.rfind('/') + 1);
  std::string place;
  if (!frame.file.empty()) {
    place = short_path(frame.file, folder);
    if (frame.line > 0) place += fmt::format(":{}", frame.line);
    if (!function.empty()) place += " in ";
  } else if (function.empty()) {
    return fmt::format("{}+{:#x}", module.empty() ? "generated code" : module, frame.offset);
  }
  std::string after = frame.inlined ? " (inlined)" : frame.waits ? " (waits)" : "";
  if (frame.file.empty() && !module.empty()) after += " in " + module;
  size_t room = width > place.size() + after.size() ? width - place.size() - after.size() : 0;
  return place + fitting(function, std::max<size_t>(room, 12)) + after;
}

std::string where_text(const std::optional<ReportFrame>& where, const std::string& folder, size_t room) {
  if (!where) return "";
  ReportFrame frame = *where;
  frame.inlined = false;  // which does not say where
  if (short_path(frame.file, folder).starts_with("/"))
    frame.file = frame.file.substr(frame.file.rfind('/') + 1);
  std::string text = place_text(frame, folder, room);
  if (text.size() > room && !frame.file.empty()) {
    frame.function.clear();
    text = place_text(frame, folder, room);
  }
  return text.size() > room ? "..." + text.substr(text.size() - room + 3) : text;
}

std::vector<const ReportFrame*> telling_frames(const std::vector<ReportFrame>& stack, size_t limit) {
  auto is_own = [](const ReportFrame& frame) { return frame.owner == FrameOwner::application; };
  const bool own = std::any_of(stack.begin(), stack.end(), is_own);
  auto has_line = [&](const ReportFrame& frame) { return frame.line > 0 && (!own || is_own(frame)); };
  const bool lines = std::any_of(stack.begin(), stack.end(), has_line);
  std::vector<const ReportFrame*> frames;
  for (const ReportFrame& frame : stack) {
    if (frames.size() == limit) break;
    if ((own && !is_own(frame)) || (lines && frame.line == 0)) continue;
    frames.push_back(&frame);
    if (frame.function == "main") break;
  }
  return frames;
}

}  // namespace diogenes
