// Stacks of a session as frames with names and owners: one symbolizer for each process, every stack resolved once.
#pragma once
#include <map>
#include <memory>
#include <unordered_map>

#include "analysis/symbols/frame_owner.h"
#include "analysis/symbols/kept_names.h"
#include "analysis/symbols/sites.h"
#include "analysis/symbols/source_lines.h"
#include "analysis/symbols/symbols.h"

namespace diogenes {

class StackNames {
 public:
  // `kept`: the session's file of names; "": none are kept.
  explicit StackNames(OwnerChoices choices = {}, std::filesystem::path kept = {})
      : choices_(std::move(choices)), kept_(std::move(kept)) {}

  // Innermost first, inlined frames included. Empty where the operation has no stack.
  const std::vector<ReportFrame>& stack(StackPlace place);

  // What stack() and frame() will be asked for, all at once: files are read side by side.
  using FramesOf = std::map<const ProcessTrace*, std::vector<Frame>>;
  void find(const SiteTable& sites, FramesOf more = {});

  // What one frame of the machine stands for, in a table of stacks or not: the functions that were inlined there come first.
  const std::vector<ReportFrame>& frame(const ProcessTrace& process, Frame frame) {
    return named(process, namer(process), frame);
  }

  // What the program called: the CUDA runtime's function where the stack has one, else the driver's
  // operation.
  std::string api(const Site& site) { return runtime_api(stack(site.place)); }
  std::string called(const Site& site) {
    std::string name = api(site);
    return name.empty() ? operation_name(site) : name;
  }

  // Lines of source that were kept, or that `lines` finds.
  ReportSource source(const ReportFrame& frame, SourceLines& lines);

  Status keep() { return kept_.save(); }

  // What could not be resolved, each line once.
  std::vector<std::string> notices() const;

 private:
  // What names the code of one process, and tells whose it is.
  struct Namer {
    Namer(const ProcessTrace& process, const OwnerChoices& choices);
    Symbolizer symbolizer;
    FrameOwners owners;
    std::unordered_map<uint64_t, std::vector<ReportFrame>> frames;  // of the machine, by Frame::packed
    std::unordered_map<std::string, FrameOwner> python_owners;      // by file
  };
  Namer& namer(const ProcessTrace& process);
  void find(const ProcessTrace& process, std::span<const Frame> frames);
  const std::vector<ReportFrame>& named(const ProcessTrace& process, Namer& code, Frame frame);
  std::vector<ReportFrame> found(const ProcessTrace& process, Namer& code, Frame frame);

  OwnerChoices choices_;
  KeptNames kept_;
  std::map<const ProcessTrace*, std::unique_ptr<Namer>> namers_;
  std::map<StackPlace, std::vector<ReportFrame>> stacks_;
};

}  // namespace diogenes
