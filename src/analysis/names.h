// Stacks of a session as frames with names and owners: one symbolizer for each process, every stack resolved once.
#pragma once
#include <map>
#include <memory>

#include "analysis/frame_owner.h"
#include "analysis/run.h"
#include "analysis/symbols.h"

namespace diogenes {

class Names {
 public:
  explicit Names(OwnerChoices choices = {}) : choices_(std::move(choices)) {}

  // Innermost first, inlined frames included. Empty where the operation has no stack.
  const std::vector<ReportFrame>& stack(StackPlace place);

  // What the program called: the CUDA runtime's function where the stack has one, else the driver's
  // operation.
  std::string api(const Site& site) { return runtime_api(stack(site.place)); }
  std::string called(const Site& site) {
    std::string name = api(site);
    return name.empty() ? operation_name(site) : name;
  }

  // What could not be resolved, each line once.
  std::vector<std::string> notices() const;

 private:
  // What names the code of one process, and tells whose it is.
  struct Namer {
    Namer(const ProcessTrace& process, const OwnerChoices& choices);
    Symbolizer symbolizer;
    FrameOwners owners;
  };
  Namer& namer(const ProcessTrace& process);

  OwnerChoices choices_;
  std::map<const ProcessTrace*, std::unique_ptr<Namer>> namers_;
  std::map<StackPlace, std::vector<ReportFrame>> stacks_;
};

}  // namespace diogenes
