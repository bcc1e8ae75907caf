// A line of the application that asks for results, or sends data again and again, as asked_lines.h gathers it: its calls, what goes
// with them in one fix or another, and what is known of it.
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "analysis/findings/brought_values.h"
#include "analysis/findings/library_parts.h"
#include "analysis/findings/problems.h"
#include "analysis/findings/python_advice.h"
#include "analysis/findings/turns.h"
#include "analysis/symbols/frame_owner.h"

namespace diogenes {

struct RequiredCall {
  SiteIndex site;
  uint64_t count = 0;
  bool waits = false;  // else it brings what is waited for
};

// What the fix of a line asks for (required_fix).
enum class Asks : uint8_t {
  to_make_on_gpu,  // of one that sends
  for_all_turns_at_once,
  for_another_form,
  for_one_copy,
  to_work_on_gpu,
  less_often
};

struct Required {
  SiteIndex site;                   // the wait, or the copy, that is made most often
  std::vector<RequiredCall> calls;  // of the line, and the copies: waits first, the most frequent first
  uint64_t count = 0;               // needed waits, or what is sent
  uint64_t not_judged = 0;          // of `count`: they count as needed, because nobody saw whether they were
  uint64_t instances = 0;           // all waits of these sites
  uint64_t queries = 0;      // of those of `count` that are loops of queries (polls.h): they have no reason
  uint64_t for_changed = 0;  // of `count`: found all done, and would wait once copies return at once (a fix)
  uint64_t launches = 0;     // made at the line right before its waits: likely for their results alone
  uint64_t in_a_row =
      0;               // of `count`: since the line's wait before, the thread made calls of that line alone
  uint64_t turns = 0;  // of `count`: in another turn of a loop than the line's wait before (turns.h)
  uint64_t loops = 0;  // how often that loop was run
  uint64_t in_parts =
      0;  // of `count`: in `part` of the library's call, which the advice does without (library_parts.h)
  PartOfCall part = PartOfCall::none;
  std::string part_name;
  bool is_python = false;
  AnotherForm another_form = AnotherForm::none;  // of the call, in Python
  bool sends = false;          // no waits: `count` copies of data to the device, made again and again;
                               // `up_to` has them, and `made`
  Bytes bytes;                 // brought, or sent, by the copies of `calls`
  Bytes unused;                // of those brought: nobody touched them
  Nanoseconds without_unused;  // the run would be shorter by, if these were not brought
  Nanoseconds made;            // sends: CPU time right before the copies, where what they send is likely made
  Nanoseconds between;         // CPU time between those in a row; in Python, before each
  Nanoseconds work;  // CPU time behind waits until the next call, which uses the data that they brought
  Nanoseconds waited, call;  // of `calls`
  Figure up_to;              // the run would be shorter by, once the problems are fixed; at most: whole()
  Nanoseconds at_most;       // whole(): gained without all of that
  Nanoseconds waits_gain;    // worded_whole(), whose gain `up_to` is: of the waits, calls and copies alone
  std::optional<Nanoseconds> after;      // median time to the first use; none: unknown
  std::map<uint32_t, uint64_t> threads;  // how many of `count`, by thread of the graph
  std::map<uint32_t, uint64_t> reasons;  // how many of `count` have a reason, by its bit (Reason)
  std::vector<std::pair<StackPlace, uint64_t>> uses;  // where the result is used first, most frequent first

  // Does more go at most than the waits, their calls and copies?
  bool whole() const {
    return launches > 0 || between.count > 0 || work.count > 0 || turns > 0 || in_parts > 0;
  }
  Asks fix(AnotherForm form) const {
    if (sends) return Asks::to_make_on_gpu;
    if (in_turns(count, turns)) return Asks::for_all_turns_at_once;
    if (form == AnotherForm::spares_the_wait) return Asks::for_another_form;
    if (come_one_by_one(count, in_a_row, bytes.count)) return Asks::for_one_copy;
    if (form == AnotherForm::waits_too) return Asks::for_another_form;
    return work.count > 0 ? Asks::to_work_on_gpu : Asks::less_often;
  }
  // Does the fix ask for all of whole() to go? In Python the CPU's time between results is mostly spent on the way to the next.
  bool worded_whole() const {
    const Asks asks = fix(another_form);
    return asks == Asks::for_all_turns_at_once || asks == Asks::to_work_on_gpu ||
           (asks == Asks::for_one_copy && is_python) || (asks == Asks::for_another_form && in_parts > 0);
  }
};

// Where a site's calls belong to; none: they are alone.
using PlaceOf = std::function<std::optional<ActingPlace>(SiteIndex)>;
// Is a call made at the line that makes a wait (made_at_line_of)?
using MadeAtLineOf = std::function<bool(SiteIndex call, SiteIndex wait)>;
struct Lines {
  PlaceOf place_of;
  MadeAtLineOf made_at_line_of;
  std::function<bool(SiteIndex)> is_python;
  std::function<PythonAdvice(SiteIndex)> another_form;
  InFunctionOf in_function_of;
  InFunctionOf in_part_of;                              // made_in_part_of
  const std::vector<BroughtValues>* brought = nullptr;  // by site; null: not known
  // By how much longer the traced run took than the undisturbed one. In Python, whose calls are many, more of it comes from
  // recording than the time that recording was measured to take.
  Nanoseconds longer{};
};

// One line, while its calls are gathered.
struct AskedLine {
  Required required;
  std::map<std::pair<SiteIndex, bool>, uint64_t> calls;  // how many, by site and whether they wait
  std::vector<Change> changes;
  std::vector<Change> whole;  // `changes`, with launches, turns, and CPU time between and behind the waits
  std::vector<Change> turns;  // while they are gathered
  std::vector<Change> parts;  // likewise
  struct Copy {
    uint32_t process, thread, operation;  // positions in the run
    auto operator<=>(const Copy&) const = default;
  };
  std::vector<Copy> in_part;    // copies of which some bytes went unused
  std::vector<uint32_t> waits;  // of one thread: positions of those that are no loops of queries
  std::vector<int64_t> after;
  Nanoseconds most;    // that it can gain
  Bytes last_brought;  // by the copies of its last wait, and by that
};

}  // namespace diogenes
