#include "agent/core/unwind/walker.h"

#include "agent/core/thread_state.h"
#include "agent/core/unwind/frame_rule.h"
#include "base/memory_probe.h"

namespace diogenes::agent {

namespace {

constexpr uintptr_t kPage = 4096;
constexpr uintptr_t kLargestFrame = 64 << 20;

// Makes sure of the pages from `begin` to the one that holds the byte before `end`.
bool are_readable(uintptr_t begin, uintptr_t end) {
  for (uintptr_t page = begin; page < end; page += kPage)
    if (!diogenes::is_there(page)) return false;
  return true;
}

// Libgcc looks at nine bytes of code that no rule is listed for: are they a signal's way back?
bool is_code_there(uintptr_t address) {
  return diogenes::is_there(address) && diogenes::is_there(address + 8);
}

// The part of the stack that is known to be there. What was found before is remembered: a stack does not go
// while its thread runs on it.
AddressRange& readable() { return thread_state.readable_stack; }

// Makes sure of the stack from `rsp` up to `end`.
bool extend(uintptr_t rsp, uintptr_t end) {
  AddressRange& known = readable();
  if (end < rsp || end - rsp > kLargestFrame) return false;
  const uintptr_t begin = rsp & ~(kPage - 1);
  if (begin > known.end || known.begin > begin + kLargestFrame) known = {begin, begin};  // another stack
  if (begin < known.begin) {
    if (!are_readable(begin, known.begin)) return false;
    known.begin = begin;
  }
  if (end > known.end) {
    if (!are_readable(known.end, end)) return false;
    known.end = (end + kPage - 1) & ~(kPage - 1);
  }
  return true;
}

bool is_there(uintptr_t rsp, uintptr_t end) {
  const AddressRange& known = readable();
  return (rsp >= known.begin && end <= known.end) || extend(rsp, end);
}

// Can the word at `at` be read, and lies it above `rsp`?
bool is_word_above(uintptr_t rsp, uintptr_t at) {
  return at >= rsp && at % sizeof(uintptr_t) == 0 && is_there(rsp, at + sizeof(uintptr_t));
}

}  // namespace

bool is_on_readable_stack(uintptr_t rsp, uint32_t words) {
  return is_there(rsp, rsp + words * sizeof(uintptr_t));
}

Walked walk_frames(const Registers& from, Frames& to, WordsRead& words) {
  uintptr_t address = from.address, rsp = from.rsp, rbp = from.rbp, place = from.place;
  bool exact = from.exact;
  const RuleCache rules;
  const auto read = [&words, first = rsp](uintptr_t at) {
    const uintptr_t value = *reinterpret_cast<const uintptr_t*>(at);
    words.add((at - first) / sizeof(uintptr_t), value);
    return value;
  };
  // Most functions keep values of theirs in rbp: what it holds leads the walk only where a rule asks for it.
  uintptr_t rbp_at = 0;  // on the stack; 0: it is as it was at the beginning
  bool rbp_leads = false;
  const auto take_rbp = [&] {
    if (!rbp_leads && rbp_at == 0) words.rbp = true;
    if (!rbp_leads && rbp_at != 0) read(rbp_at);
    rbp_leads = true;
    return rbp;
  };
  for (int count = 0; address != 0;) {
    to.addresses[count] = exact ? address : address - 1;
    to.places[count] = place;
    to.count = ++count;
    const FrameRule rule = exact ? read_rule(address) : rules.behind_call(address);
    exact = false;
    uintptr_t cfa = static_cast<uintptr_t>(int64_t{rule.cfa});
    if (rule.kind == FrameRule::Cfa::from_rsp)
      cfa += rsp;
    else if (rule.kind == FrameRule::Cfa::from_rbp)
      cfa += take_rbp();
    else if (rule.kind == FrameRule::Cfa::stored_at_rbp)
      cfa = is_word_above(rsp, take_rbp() + cfa) ? read(rbp + cfa) : 0;
    else if (rule.kind == FrameRule::Cfa::unlisted)
      return is_code_there(address) ? Walked::whole : Walked::astray;
    else
      return rule.kind == FrameRule::Cfa::last ? Walked::whole : Walked::gave_up;
    if (cfa <= rsp || cfa % sizeof(uintptr_t) != 0 || !is_there(rsp, cfa)) return Walked::astray;
    place = cfa - sizeof(uintptr_t);
    address = read(place);
    if (rule.rbp != FrameRule::Rbp::kept) {
      const uintptr_t at = (rule.rbp == FrameRule::Rbp::stored_at_cfa ? cfa : take_rbp()) +
                           static_cast<uintptr_t>(int64_t{rule.rbp_offset});
      if (at < rsp || at >= cfa || at % sizeof(uintptr_t) != 0) return Walked::astray;
      rbp = *reinterpret_cast<const uintptr_t*>(at);
      rbp_at = at;
      rbp_leads = false;
    }
    rsp = cfa;
    if (count == kMaximumFrames) {
      to.cut = address != 0;
      return Walked::whole;
    }
  }
  return Walked::whole;
}

}  // namespace diogenes::agent
