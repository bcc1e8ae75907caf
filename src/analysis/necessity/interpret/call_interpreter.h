// The events of one call: the work that it gives, what it records and waits for, covers, allocates and
// releases. In: the records of calls in the order of their times. Out: events between a call's begin and its
// end.
#pragma once
#include <unordered_map>
#include <vector>

#include "analysis/necessity/interpret/call_effects.h"
#include "analysis/necessity/tables/tables.h"

namespace diogenes::necessity {

class CallInterpreter {
 public:
  explicit CallInterpreter(Tables& tables) : tables_(tables) {}

  void begin(const RecordedCall& recorded, uint32_t ordinal, int64_t at_ns);
  void body(const RecordedCall& recorded, uint32_t ordinal, int64_t at_ns);
  void end(const RecordedCall& recorded, uint32_t ordinal, int64_t at_ns);

 private:
  // A CUDA event.
  struct Mark {
    MarkNumber number;      // once it was recorded
    StreamNumber marker;    // of one that is timed
    bool known = false;     // what it stands for at least is known
    bool doubtful = false;  // it may stand for more
  };
  // The work of one call, gathered.
  struct Work {
    std::vector<Access> accesses;
    uint32_t blind = 0;
    bool gate = false;

    void anything(bool on_host, bool pageable);
    void clear() {
      accesses.clear();
      blind = 0;
      gate = false;
    }
  };

  Event event(EventKind kind, const CallView& call, int64_t at_ns) const;
  void work(const CallView& call, int64_t at_ns);
  void gather(const CallView& call, Work& work);
  void gather_operand(const OperandRecord& operand, uint32_t list_flags, Work& work);
  void give(const CallView& call, StreamTable::Stream& stream, const Work& work, int64_t at_ns);
  void uses(const CallView& call, const std::vector<Place>& places, int64_t at_ns);
  void begins_early(const CallView& call, const Work& work, int64_t at_ns);
  void allocations(const CallView& call, int64_t at_ns);
  void releases(const CallView& call, int64_t at_ns);
  void unregisters(const CallView& call, int64_t at_ns);
  void context_ends(const CallView& call, int64_t at_ns);
  void records_and_waits(const CallView& call, int64_t at_ns);
  void record_mark(const CallView& call, int64_t at_ns);
  void asks(const CallView& call, int64_t at_ns);
  void covers(const CallView& call, const BlockingCopy& copy, const Scope& scope, MarkNumber mark,
              int64_t at_ns);
  void scope_of(const CallView& call, const BlockingCopy& copy, Scope& scope, MarkNumber& mark);
  void scope_of_event(const CallView& call, Scope& scope, MarkNumber& mark);
  void scope_of_release(const CallView& call, Scope& scope);
  // The event that the call names. Null: what it stands for is not known.
  const Mark* mark_of(uint32_t event_number) const;
  // Null: not known.
  StreamTable::Stream* stream_of(const CallView& call) {
    return tables_.streams.find(call.record().stream, call.context(), call.ordinal);
  }
  void use_mark(const CallView& call, uint32_t event_number, int64_t at_ns);
  uint32_t operand_flags(const CallView& call) const;

  Tables& tables_;
  std::unordered_map<uint32_t, Mark> marks_;  // by event number
  uint32_t next_mark_ = 0;
  // What a call under way releases, as it was when the call began: its address may be given out again before
  // the call returns. By thread; `serial` 0: nothing that was seen allocated.
  std::unordered_map<uint32_t, Allocation> releasing_;
  std::vector<uint64_t> begun_;  // StreamTable::now() at the begin of the call, by thread
  bool alone_ = true;            // nobody else has given anything since then
  uint32_t blind_ = 0;           // of all work from now on
  bool marks_unknown_ = false;   // events may have been recorded out of sight
  // Used again and again.
  std::vector<StreamNumber> order_;
  Work work_;
  Scope scope_;
  std::vector<Place> read_by_call_;  // by the CPU in this call
};

}  // namespace diogenes::necessity
