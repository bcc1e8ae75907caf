#include "analysis/symbols/wording.h"

#include <filesystem>

#include "analysis/symbols/frame_owner.h"

namespace diogenes {
namespace {

std::string name_of_file(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::string place(const std::vector<ReportFrame>& stack, const char* before_line) {
  const ReportFrame* frame = acting_frame(stack);
  if (!frame) return "";
  if (frame->line > 0) return name_of_file(frame->file) + before_line + std::to_string(frame->line);
  if (!frame->function.empty())
    return frame->module.empty() ? frame->function : frame->function + " in " + name_of_file(frame->module);
  char offset[32];
  snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(frame->offset));
  return name_of_file(frame->module) + offset;
}

}  // namespace

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted(uint64_t number, const char* singular, const char* plural) {
  return grouped(number) + " " + (number == 1 ? singular : plural);
}

std::string place_of(const std::vector<ReportFrame>& stack) { return place(stack, ":"); }

std::string place_in_title(const std::vector<ReportFrame>& stack) { return place(stack, " at line "); }

}  // namespace diogenes
