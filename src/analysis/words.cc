#include "analysis/words.h"

#include <filesystem>

namespace diogenes {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

const ReportFrame* frame_with_line(const std::vector<ReportFrame>& stack) {
  for (const ReportFrame& frame : stack)
    if (!frame.file.empty() && frame.line > 0) return &frame;
  return nullptr;
}

std::string without_line(const std::vector<ReportFrame>& stack) {
  for (const ReportFrame& frame : stack)
    if (!frame.function.empty())
      return frame.module.empty() ? frame.function : frame.function + " in " + file_name(frame.module);
  if (stack.empty()) return "";
  char offset[32];
  snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(stack.front().offset));
  return file_name(stack.front().module) + offset;
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

std::string place_of(const std::vector<ReportFrame>& stack) {
  const ReportFrame* frame = frame_with_line(stack);
  return frame ? file_name(frame->file) + ":" + std::to_string(frame->line) : without_line(stack);
}

std::string place_in_title(const std::vector<ReportFrame>& stack) {
  const ReportFrame* frame = frame_with_line(stack);
  return frame ? file_name(frame->file) + " at line " + std::to_string(frame->line) : without_line(stack);
}

}  // namespace diogenes
