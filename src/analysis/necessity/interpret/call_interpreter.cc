// Work and memory; what calls do to the order is in call_order.cc.
#include "analysis/necessity/interpret/call_interpreter.h"

namespace diogenes::necessity {
namespace {

// The driver's own threads wait outside of any call, and the agent's calls are not the program's.
bool is_programs(const RecordedCall& recorded) {
  return (recorded.operation->flags & kDriverThread) == 0 &&
         driver_function(recorded.operation->function) != nullptr;
}

CallView view(Tables& tables, const RecordedCall& recorded, uint32_t ordinal) {
  const ThreadNumber number = tables.thread(ordinal);
  const Thread* thread = tables.known_thread(ordinal).thread;
  const bool known = tables.with_sites && thread && recorded.sequence < thread->operations.size();
  return {recorded,
          *driver_function(recorded.operation->function),
          OperationId{static_cast<uint16_t>(ordinal), 0, recorded.sequence},
          number,
          ordinal,
          known ? thread->operations[recorded.sequence].site : SiteIndex{}};
}

bool is_release_of_memory(const CallView& call) {
  return call.driver.arguments == Arguments::release && call.recorded.allocation &&
         call.recorded.allocation->released;
}

}  // namespace

Event CallInterpreter::event(EventKind kind, const CallView& call, int64_t at_ns) const {
  Event event;
  event.kind = kind;
  event.thread = call.thread;
  event.at_ns = at_ns;
  event.operation = call.operation;
  event.site = call.site;
  event.stack = call.record().stack;
  return event;
}

void CallInterpreter::begin(const RecordedCall& recorded, uint32_t ordinal, int64_t at_ns) {
  if (!is_programs(recorded)) return;
  CallView call = view(tables_, recorded, ordinal);
  if (is_release_of_memory(call)) {
    const Allocation* known = tables_.memories.at(recorded.allocation->address);
    releasing_[ordinal] = known ? *known : Allocation{};
  }
  if (!recorded.call) ++tables_.unclear.calls;
  if (ordinal >= begun_.size()) begun_.resize(ordinal + 1);
  begun_[ordinal] = tables_.streams.now();
  tables_.sink.take(event(EventKind::call_begin, call, at_ns));
}

void CallInterpreter::end(const RecordedCall& recorded, uint32_t ordinal, int64_t at_ns) {
  if (is_programs(recorded))
    tables_.sink.take(event(EventKind::call_end, view(tables_, recorded, ordinal), at_ns));
}

void CallInterpreter::body(const RecordedCall& recorded, uint32_t ordinal, int64_t at_ns) {
  if (!is_programs(recorded)) return;
  CallView call = view(tables_, recorded, ordinal);
  const uint64_t begin = ordinal < begun_.size() ? begun_[ordinal] : 0;
  alone_ = begin == tables_.streams.now();
  if (call.has(kCapturing)) {
    // Calls of a stream under capture do no work now. What they do later is the graph's.
    if (call.driver.arguments == Arguments::event_record) marks_[call.record().object].doubtful = true;
    return;
  }
  if (call.driver.role == Role::query) return asks(call, at_ns);
  if (call.has(kFailed)) return;
  allocations(call, at_ns);
  if (gives_work(call)) work(call, at_ns);
  if (call.has(kUnlistedWork)) {
    Work unknown;
    unknown.anything(true, true);
    unknown.blind = kUndecoded;
    unknown.gate = true;
    ++tables_.unclear.streams;
    give(call, tables_.streams.unknown(), unknown, at_ns);
  }
  records_and_waits(call, at_ns);
  // A wait in a release is for what used the memory: its scope is that of the memory which goes.
  BlockingCopy copy = blocking_copy(call);
  MarkNumber mark;
  bool waits = is_wait(call, copy);
  scope_.clear();
  if (waits) scope_of(call, copy, scope_, mark);
  releases(call, at_ns);
  // A staged source may be read before the call waits.
  if (!read_by_call_.empty()) uses(call, read_by_call_, at_ns);
  read_by_call_.clear();
  if (waits) covers(call, copy, scope_, mark, at_ns);
  context_ends(call, at_ns);
  for (StreamNumber ended : tables_.streams.take_ended()) {
    Event end = event(EventKind::stream_ends, call, at_ns);
    end.stream = ended;
    tables_.sink.take(end);
  }
  if (call.has(kSharesMemory)) blind_ |= kSharedMemory;
  if (call.has(kRecordsUnknown)) marks_unknown_ = true;
}

void CallInterpreter::Work::anything(bool on_host, bool pageable) {
  Access access;
  access.writes = true;
  access.on_host = on_host;
  access.pageable = pageable;
  accesses.push_back(access);
}

void CallInterpreter::work(const CallView& call, int64_t at_ns) {
  Work& work = work_;
  work.clear();
  gather(call, work);
  StreamTable::Stream* stream = stream_of(call);
  if (!stream) {
    ++tables_.unclear.streams;
    work.blind |= kUndecoded;
    stream = &tables_.streams.unknown();
  }
  bool kernel = call.recorded.call && (operand_flags(call) & kHasKernel);
  if (stream->page_tables && kernel) work.blind |= kUnknownMemory;
  if (operand_flags(call) & kStartsEarly) begins_early(call, work, at_ns);
  give(call, *stream, work, at_ns);
}

// A kernel that may begin before its stream's earlier work is done: the call is as good as its first use of its memory.
// (Whether it waits for that work itself, as it can, is not seen.)
void CallInterpreter::begins_early(const CallView& call, const Work& work, int64_t at_ns) {
  for (const Access& access : work.accesses) {
    Event use = event(EventKind::releases, call, at_ns);
    use.memory = access.memory;
    use.range = access.range;
    use.writes = access.writes;
    use.lives_on = true;
    use.by = Toucher::driver;
    tables_.sink.take(use);
  }
}

uint32_t CallInterpreter::operand_flags(const CallView& call) const {
  return call.recorded.call ? tables_.process.trace->operands.flags(call.recorded.call->operands) : 0;
}

void CallInterpreter::gather(const CallView& call, Work& work) {
  const OperandTable& table = tables_.process.trace->operands;
  uint32_t list = call.recorded.call ? call.recorded.call->operands : 0;
  bool lost = !call.recorded.call || (list == 0 ? needs_operands(call) : !table.holds(list));
  if (lost) {
    ++tables_.unclear.operands;
    work.anything(true, true);
    work.blind |= kUndecoded;
    work.gate = true;
    return;
  }
  uint32_t flags = table.flags(list);
  for (const OperandRecord& operand : table.operands(list)) gather_operand(operand, flags, work);
  if (flags & (kAnyDevice | kAnyHost | kAnyPageable))
    work.anything((flags & (kAnyHost | kAnyPageable)) != 0, (flags & kAnyPageable) != 0);
  tables_.gave_host_function |= (flags & kRunsOnHost) != 0;
  if (flags & kRunsOnHost)
    work.blind |= kHostFunction;
  else if (flags & kAnyPageable)
    work.blind |= kUndecoded;
  if ((flags & (kRunsOnHost | kWaitsForHost)) ||
      ((flags & kHasKernel) && (flags & (kAnyHost | kAnyPageable))))
    work.gate = true;
  // Memory that comes and goes in the order of a stream is written there.
  if (!call.stream_ordered() || !call.recorded.allocation) return;
  const Allocation* memory = call.driver.role == Role::release
                                 ? &releasing_[call.ordinal]
                                 : tables_.memories.at(call.recorded.allocation->address);
  if (!memory || memory->serial == 0) return work.anything(false, false);
  Access access;
  access.memory = tables_.memories.number_of(*memory);
  access.range = memory->range;
  access.writes = access.whole = true;
  access.on_host = memory->on_host();
  access.memory.valid() ? work.accesses.push_back(access) : work.anything(false, false);
}

void CallInterpreter::gather_operand(const OperandRecord& operand, uint32_t list_flags, Work& work) {
  AddressRange range = range_of(operand.begin, operand.bytes);
  if (range.empty()) return;
  tables_.unnamed.named(range);
  if (operand.kind == MemoryKind::unknown) {
    work.anything(true, true);
    work.blind |= kUnknownMemory;
    return;
  }
  Place place = tables_.memories.place(range, operand.kind);
  if (place.range.empty()) return;
  Access access;
  access.memory = place.memory;
  access.range = place.range;
  access.on_host = place.on_host;
  access.argument = (operand.flags & (kArgument | kReached)) != 0;
  // A staged source is read by the CPU in the call. A destination that the call fills on the CPU is written
  // by the work: there, the correction makes the copy asynchronous.
  if ((operand.flags & kByCall) && (operand.flags & kReads)) read_by_call_.push_back(place);
  if ((operand.flags & kReads) && !(operand.flags & kByCall)) work.accesses.push_back(access);
  if (operand.flags & kWrites) {
    access.writes = true;
    access.whole = (operand.flags & kWhole) != 0;
    work.accesses.push_back(access);
  }
  // The CPU can write there while a kernel polls.
  if ((list_flags & kHasKernel) && (operand.flags & kArgument) && access.on_host) work.gate = true;
}

void CallInterpreter::give(const CallView& call, StreamTable::Stream& stream, const Work& work,
                           int64_t at_ns) {
  tables_.streams.before_next_in(stream, order_);
  Event given = event(EventKind::work, call, at_ns);
  given.stream = stream.number;
  given.accesses = work.accesses;
  given.streams = order_;
  given.blind = work.blind | blind_;
  given.gate = work.gate;
  given.context = call.context();
  if (read_by_call_.size() == 1) given.memory = read_by_call_[0].memory, given.range = read_by_call_[0].range;
  tables_.sink.take(given);
  tables_.streams.gave_work(stream);
}

void CallInterpreter::uses(const CallView& call, const std::vector<Place>& places, int64_t at_ns) {
  for (const Place& place : places) {
    Event use = event(EventKind::releases, call, at_ns);
    use.memory = place.memory;
    use.range = place.range;
    use.lives_on = true;
    use.by = Toucher::driver;
    tables_.sink.take(use);
  }
}

void CallInterpreter::allocations(const CallView& call, int64_t at_ns) {
  const AllocationRecord* record = call.recorded.allocation;
  if (!record || record->released) return;
  AddressRange range = range_of(record->address, record->bytes);
  if (record->kind != MemoryKind::device && call.driver.arguments != Arguments::global)
    tables_.unnamed.made(range, at_ns);
  if (record->kind == MemoryKind::registered) return tables_.memories.register_host(range, call.context());
  Allocation made;
  made.range = range;
  made.kind = record->kind;
  made.context = call.context();
  made.stream_ordered = call.stream_ordered();
  made.variable = call.driver.arguments == Arguments::global;
  made.made_by = call.operation;
  const Allocation* known = tables_.memories.allocate(made);
  if (!known || known->variable) return;
  Event allocates = event(EventKind::allocates, call, at_ns);
  allocates.memory = tables_.memories.number_of(*known);
  allocates.range = known->range;
  allocates.on_host = known->on_host();
  tables_.sink.take(allocates);
}

void CallInterpreter::releases(const CallView& call, int64_t at_ns) {
  if (!call.recorded.allocation || !call.recorded.allocation->released) return;
  tables_.unnamed.released(call.recorded.allocation->address, at_ns);
  if (call.driver.arguments == Arguments::unregister_host) return unregisters(call, at_ns);
  const Allocation gone = releasing_[call.ordinal];
  if (gone.serial == 0) {
    ++tables_.unclear.releases;
    return;
  }
  // Nothing that nobody named can have been in use.
  MemoryNumber number = tables_.memories.number_of(gone, false);
  if (!call.stream_ordered() && number.valid()) {
    Event release = event(EventKind::releases, call, at_ns);
    release.memory = number;
    release.range = gone.range;
    release.deferrable = true;
    tables_.sink.take(release);
  }
  tables_.memories.release(gone);
}

// The memory stays what it is.
void CallInterpreter::unregisters(const CallView& call, int64_t at_ns) {
  uint64_t address = call.recorded.allocation->address;
  if (const auto* registration = tables_.memories.registered_at(address)) {
    for (const Place& place : tables_.memories.known_pieces(registration->range)) {
      Event release = event(EventKind::releases, call, at_ns);
      release.memory = place.memory;
      release.range = place.range;
      release.deferrable = release.lives_on = true;
      tables_.sink.take(release);
    }
  }
  tables_.memories.unregister(address);
}

// All that lives in the context goes with it. Host memory under guard was given up before.
void CallInterpreter::context_ends(const CallView& call, int64_t at_ns) {
  uint64_t ended = call.recorded.call ? call.recorded.call->argument : 0;
  if (call.driver.role != Role::context || ended == 0 || ended > UINT16_MAX) return;
  for (const Allocation& gone : tables_.memories.of_context(static_cast<uint16_t>(ended))) {
    if (gone.number.valid()) {
      Event release = event(EventKind::releases, call, at_ns);
      release.memory = gone.number;
      release.range = gone.range;
      release.deferrable = true;
      tables_.sink.take(release);
    }
    tables_.memories.release(gone);
  }
}

}  // namespace diogenes::necessity
