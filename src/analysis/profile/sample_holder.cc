#include "analysis/profile/sample_holder.h"

namespace diogenes {
namespace {

bool is_frame_of(const ReportContext& context, const ReportFrame& frame) {
  return frame.function == context.name &&
         (context.file.empty() || frame.file.empty() || frame.file == context.file);
}

}  // namespace

std::optional<size_t> outermost_of(const SampledFrames& frames, const std::string& name) {
  for (size_t i = frames.size(); i-- > 0;)
    if (frames[i]->function == name) return i;
  return std::nullopt;
}

bool is_below_python(const std::vector<ReportContext>& contexts, uint32_t context) {
  while (context != 0 && contexts[context].language != "python") context = contexts[context].parent;
  return context != 0;
}

std::optional<std::pair<uint32_t, size_t>> holder_of(const std::vector<ReportContext>& contexts,
                                                     uint32_t context, const SampledFrames& frames,
                                                     size_t native) {
  std::vector<uint32_t> above;  // contexts of Python, the innermost first
  for (uint32_t at = context; at != 0; at = contexts[at].parent)
    if (contexts[at].language == "python") above.push_back(at);
  size_t at = frames.size();  // of the innermost that is in both
  uint32_t python = 0;
  for (size_t i = above.size(); i-- > 0;) {
    size_t next = at;
    while (next > native && !is_frame_of(contexts[above[i]], *frames[next - 1])) --next;
    if (next == native) break;
    at = next - 1;
    python = above[i];
  }
  if (python == 0) return std::nullopt;
  if (at != native || python != above.front()) return std::pair{python, at};
  // In what a library does for it, if that is among the frames.
  for (uint32_t inner = context; inner != python; inner = contexts[inner].parent)
    for (size_t i = native; i-- > 0;)
      if (is_frame_of(contexts[inner], *frames[i])) return std::pair{inner, i};
  return std::pair{python, at};
}

}  // namespace diogenes
