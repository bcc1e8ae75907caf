// What calls do to the order of work: events that are recorded and waited for, queries, and what a wait
// covers.
#include "analysis/necessity/interpret/call_interpreter.h"

namespace diogenes::necessity {

const CallInterpreter::Mark* CallInterpreter::mark_of(uint32_t event_number) const {
  auto found = marks_.find(event_number);
  return marks_unknown_ || found == marks_.end() || !found->second.known ? nullptr : &found->second;
}

void CallInterpreter::records_and_waits(const CallView& call, int64_t at_ns) {
  switch (call.driver.arguments) {
    case Arguments::event_create: {
      // Waiting for an event that nobody recorded covers nothing.
      marks_[call.record().object].known = true;
      return;
    }
    case Arguments::event_record:
      return record_mark(call, at_ns);
    case Arguments::stream_destroy:
      if (call.record().stream >= 2)
        if (StreamTable::Stream* stream = stream_of(call)) tables_.streams.destroy(*stream);
      return;
    case Arguments::event: {
      auto found = marks_.find(call.record().object);
      if (call.driver.role != Role::event || found == marks_.end()) return;
      Event end = event(EventKind::mark_ends, call, at_ns);
      end.mark = found->second.number;
      end.marker = found->second.marker;
      marks_.erase(found);
      if (end.mark.valid()) tables_.sink.take(end);
      return;
    }
    case Arguments::stream_wait: {
      if (call.driver.role != Role::stream_wait) return;
      const Mark* mark = mark_of(call.record().object);
      StreamTable::Stream* stream = stream_of(call);
      // What is not known to be waited for orders nothing.
      if (!mark || !mark->number.valid() || !stream) return;
      Event wait = event(EventKind::wait_mark, call, at_ns);
      wait.stream = stream->number;
      wait.mark = mark->number;
      tables_.sink.take(wait);
      tables_.streams.acted(*stream);
      return;
    }
    case Arguments::elapsed_time:
      use_mark(call, call.record().object, at_ns);
      if (call.recorded.call) use_mark(call, call.recorded.call->stream2, at_ns);
      return;
    default:
      if (call.driver.role == Role::event_record) marks_unknown_ = true;  // of a whole context
  }
}

void CallInterpreter::record_mark(const CallView& call, int64_t at_ns) {
  Mark& mark = marks_[call.record().object];
  StreamTable::Stream* stream = stream_of(call);
  mark.known = stream != nullptr;
  if (!stream) {
    ++tables_.unclear.marks;
    return;
  }
  if (!mark.number.valid()) mark.number = {next_mark_++};
  mark.doubtful = call.has(kExternalEvent) || tables_.streams.others_are_ahead(*stream);
  Event record = event(EventKind::record_mark, call, at_ns);
  record.stream = stream->number;
  record.mark = mark.number;
  record.doubtful = mark.doubtful;
  if (!mark.marker.valid() && tables_.survey.is_timed(call.record().object))
    mark.marker = tables_.streams.next_number();
  record.marker = mark.marker;
  tables_.sink.take(record);
  tables_.streams.acted(*stream);
}

void CallInterpreter::use_mark(const CallView& call, uint32_t event_number, int64_t at_ns) {
  const Mark* mark = mark_of(event_number);
  if (!mark || !mark->number.valid()) {
    ++tables_.unclear.marks;
    return;
  }
  Event use = event(EventKind::uses_mark, call, at_ns);
  use.mark = mark->number;
  tables_.sink.take(use);
}

void CallInterpreter::asks(const CallView& call, int64_t at_ns) {
  Scope scope;
  Event query = event(EventKind::query, call, at_ns);
  query.succeeded = !call.has(kFailed);
  if (call.driver.stream_of == StreamOf::event) {
    scope_of_event(call, scope, query.mark);
    if (!query.mark.valid()) return;
  } else {
    StreamTable::Stream* stream = stream_of(call);
    if (!stream) return;
    scope.certain.push_back(stream->number);
    query.stream = stream->number;
  }
  query.streams = scope.certain;
  tables_.sink.take(query);
}

void CallInterpreter::scope_of_event(const CallView& call, Scope& scope, MarkNumber& mark) {
  const Mark* found = mark_of(call.record().object);
  if (!found) {
    ++tables_.unclear.marks;
    return tables_.streams.cover_everything(scope);
  }
  mark = found->number;  // invalid: nobody recorded it, and it covers nothing
  if (found->doubtful) tables_.streams.cover_everything(scope);
  scope.new_work = true;
}

// As measured (docs/driver-facts.md): a release of memory waits for its whole context.
void CallInterpreter::scope_of_release(const CallView& call, Scope& scope) {
  const AllocationRecord* record = call.recorded.allocation;
  if (call.driver.arguments == Arguments::release && record) {
    const Allocation& gone = releasing_[call.ordinal];
    if (gone.serial != 0 && !gone.stream_ordered)
      return tables_.streams.cover_context(gone.context, true, scope);
  } else if (call.driver.arguments == Arguments::unregister_host && record) {
    if (const auto* registration = tables_.memories.registered_at(record->address))
      return tables_.streams.cover_context(registration->context, true, scope);
  } else if (call.driver.arguments == Arguments::module_load) {
    // Of streams that the legacy stream is not ordered with it was not looked up.
    return tables_.streams.cover_context(call.context(), false, scope);
  } else if (call.driver.arguments == Arguments::module_unload) {
    return tables_.streams.cover_context(call.context(), true, scope);
  }
  tables_.streams.cover_everything(scope);
}

void CallInterpreter::scope_of(const CallView& call, const BlockingCopy& copy, Scope& scope,
                               MarkNumber& mark) {
  StreamTable& streams = tables_.streams;
  switch (call.driver.role) {
    case Role::synchronize:
      if (call.driver.stream_of == StreamOf::event) return scope_of_event(call, scope, mark);
      if (call.driver.stream_of == StreamOf::context) {
        uint64_t named = call.recorded.call ? call.recorded.call->argument : 0;
        bool other = call.driver.arguments == Arguments::context && named != 0 && named <= UINT16_MAX;
        return streams.cover_context(other ? static_cast<uint16_t>(named) : call.context(), true, scope);
      }
      if (StreamTable::Stream* stream = stream_of(call)) return streams.cover_stream(*stream, scope);
      break;
    case Role::release:
    case Role::registration:
    case Role::module:
      return scope_of_release(call, scope);
    case Role::transfer:
    case Role::fill:
      if (StreamTable::Stream* stream = copy.covers_earlier ? stream_of(call) : nullptr) {
        // With the copy, all is done that it was ordered after.
        streams.before_next_in(*stream, scope.certain);
        scope.certain.push_back(stream->number);
        // The copy itself, where it may end after the call.
        if (!copy.covers_itself) {
          scope.may.push_back(stream->number);
          scope.may_cover = MayCover::streams;
        }
        scope.new_work = true;
        return;
      }
      break;
    default:
      break;
  }
  if (call.driver.role == Role::synchronize) ++tables_.unclear.streams;
  streams.cover_everything(scope);
}

void CallInterpreter::covers(const CallView& call, const BlockingCopy& copy, const Scope& scope,
                             MarkNumber mark, int64_t at_ns) {
  Event cover = event(EventKind::covers, call, at_ns);
  cover.printed = call.has(kPrinted);
  cover.streams = scope.certain;
  cover.may_streams = scope.may;
  cover.may_cover = scope.may_cover;
  cover.mark = mark;
  cover.covers_own_work = copy.covers_itself;
  cover.wait = wait_of(call, copy, scope.new_work);
  tables_.sink.take(cover);
  // What other threads gave while the call ran is not known to be covered.
  tables_.streams.covered(scope, alone_ ? tables_.streams.now() : begun_[call.ordinal]);
}

}  // namespace diogenes::necessity
