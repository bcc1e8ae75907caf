#include "views/exports/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/shared/places.h"
#include "views/shared/utf8.h"

namespace diogenes {

std::string frame_name(const ReportFrame& frame) {
  std::string name = frame.language == "python" ? frame.function : short_function(frame.function);
  if (!name.empty()) return name;
  const std::string module = frame.module.substr(frame.module.rfind('/') + 1);
  return fmt::format("{}+{:#x}", module.empty() ? "generated code" : module, frame.offset);
}

std::string frame_words(const ReportFrame& frame) {
  std::string words = frame_name(frame);
  if (frame.file.empty()) return words;
  words += " (" + frame.file.substr(frame.file.rfind('/') + 1);
  if (frame.line > 0) words += fmt::format(":{}", frame.line);
  return words + ")";
}

std::string one_frame(const std::string& words) {
  constexpr size_t kMost = 300, kEnd = 100;
  const std::string valid = valid_utf8(words);
  const auto continues = [&](size_t i) { return (static_cast<unsigned char>(valid[i]) & 0xc0) == 0x80; };
  std::string frame = valid;
  if (valid.size() > kMost) {
    size_t begin = kMost - kEnd - 3, end = valid.size() - kEnd;
    while (begin > 0 && continues(begin)) --begin;
    while (end < valid.size() && continues(end)) ++end;
    frame = valid.substr(0, begin) + "..." + valid.substr(end);
  }
  for (char& c : frame) {
    if (c == ';') c = ':';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return frame;
}

ReportFrame frame_of(const ReportContext& context) {
  ReportFrame frame;
  frame.function = context.name;
  if (is_inside_kernel(context.kind)) {
    frame.file = context.file;
    frame.line = std::max(context.line, 0);
    return frame;
  }
  if (context.kind != ReportContext::Kind::frame) return frame;
  frame.file = context.file;
  frame.line = std::max(context.line, 0);
  frame.module = context.module;
  frame.owner = context.owner;
  frame.language = context.language;
  return frame;
}

std::string context_name(const ReportContext& context) {
  if (context.kind == ReportContext::Kind::frame) {
    // Where it lies in the module is not told, as several places of it are one context.
    const std::string module = context.module.substr(context.module.rfind('/') + 1);
    if (context.name.empty()) return module.empty() ? "generated code" : module;
    return frame_name(frame_of(context));
  }
  if (!context.name.empty()) return context.name;
  switch (context.kind) {
    case ReportContext::Kind::root:
      return "the program";
    case ReportContext::Kind::gpu:
      return "GPU work";
    case ReportContext::Kind::gpu_function:
      return "GPU function";
    case ReportContext::Kind::rest:
      return "the rest";
    default:
      return "call";
  }
}

std::vector<uint32_t> stack_of(const std::vector<ReportContext>& contexts, uint32_t context) {
  std::vector<uint32_t> stack = {context};
  for (uint32_t at = context; contexts[at].parent < at && contexts[at].parent != 0;) {
    at = contexts[at].parent;
    stack.push_back(at);
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

int64_t nanoseconds(double seconds) {
  constexpr double kMost = 1e9;  // seconds; a thousand of these fit
  if (!std::isfinite(seconds) || seconds <= 0) return 0;
  return std::llround(std::min(seconds, kMost) * 1e9);
}

}  // namespace diogenes
