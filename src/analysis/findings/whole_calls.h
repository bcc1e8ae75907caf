// What goes of a thread where a line's waits go with all around them: the turns of a loop (turns.h), or a part of a library's call
// (library_parts.h). In: the run, a line whose waits are gathered, the CPU time before each call. Out: the changes.
#pragma once
#include <unordered_map>

#include "analysis/findings/asked_line.h"

namespace diogenes {

constexpr bool gives_work(Role role) {
  return role == Role::launch || role == Role::graph_launch || role == Role::fill;
}

// What was asked of two stacks once.
class Answers {
 public:
  bool asked(SiteIndex call, SiteIndex wait, const InFunctionOf& ask, size_t sites);

 private:
  enum class Known : uint8_t { not_asked, no, yes };
  std::unordered_map<uint32_t, std::vector<Known>> known_;  // of a wait's site, by calls'
};

class WholeCalls {
 public:
  // Both stay as long as this.
  WholeCalls(const ProblemInput& input, const Lines& places) : in_(input), places_(places) {}

  Change removed(uint32_t thread, uint32_t i) const;
  // `waits`: positions in the thread of the line's waits, in order. `before`: by position.
  void add_turns(AskedLine& line, uint32_t thread, const std::vector<uint32_t>& waits,
                 const std::vector<Nanoseconds>& before);
  void add_parts(AskedLine& line, uint32_t thread, const std::vector<uint32_t>& waits,
                 std::vector<Nanoseconds>& before);
  // Into the line's changes, once all threads were looked at: where most of its waits are in turns, these; else the parts.
  void take(AskedLine& line) const;

 private:
  const std::vector<Operation>& operations_of(uint32_t thread) const;
  void remove_all(uint32_t thread, uint32_t begin, uint32_t last, const std::vector<Nanoseconds>& before,
                  std::vector<Change>& changes) const;
  bool may_go(const AskedLine& line) const;

  const ProblemInput& in_;
  const Lines& places_;
  Answers in_function_, in_part_;
};

}  // namespace diogenes
