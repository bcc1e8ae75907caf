#include "analysis/necessity/transfers/dead_transfers.h"

namespace diogenes::necessity {
namespace {

bool is_copy(const DriverFunction* function) { return function && function->role == Role::transfer; }

// By what the work does; managed memory is on the host and on the device, and counts for neither.
CopyDirection copy_of(const Event& event, const DriverFunction* function) {
  CopyDirection copy;
  if (!is_copy(function)) return copy;
  bool reads_device = false;
  for (const Access& access : event.accesses) {
    if (!access.memory.valid()) return {};
    if (access.writes) (access.on_host ? copy.to_host : copy.to_device) = true;
    reads_device |= !access.writes && !access.on_host;
  }
  copy.to_device &= !reads_device && !copy.to_host;
  copy.to_host &= reads_device;
  return copy;
}

}  // namespace

TransferJudge::TransferJudge(const Process& process, const SiteTable& sites)
    : sites_(sites), uploads_(history_, unused_), downloads_(unused_), repeated_(process, history_) {}

void TransferJudge::take(const Event& event) {
  views_.next_event();
  if (event.thread.valid()) views_.see(event.thread);
  if (event.kind != EventKind::watch && event.kind != EventKind::releases && event.kind != EventKind::unwatch)
    downloads_.anything_else();
  views_.follow(event);
  switch (event.kind) {
    case EventKind::call_begin:
      downloads_.call_begin(event);
      break;
    case EventKind::work:
      work(event);
      break;
    case EventKind::covers:
      covers(event);
      break;
    case EventKind::query:
      downloads_.asked(event);
      break;
    case EventKind::allocates:
      if (!event.on_host) uploads_.allocated(event, views_.thread(event.thread).known->certain);
      break;
    case EventKind::releases:
      releases(event);
      break;
    case EventKind::call_end:
      downloads_.call_end(event);
      views_.end_call(event.thread);
      break;
    case EventKind::watch:
      downloads_.watch(event);
      break;
    case EventKind::touch:
      downloads_.touch(event);
      break;
    case EventKind::unwatch:
      downloads_.unwatch(event);
      break;
    case EventKind::unwatched:
      downloads_.unwatched(event);
      break;
    case EventKind::peer:
      downloads_.uses(event);
      break;
    case EventKind::ends:
      downloads_.ends();
      break;
    default:
      break;
  }
}

void TransferJudge::work(const Event& event) {
  const DriverFunction* function = event.site.valid() ? function_of(sites_[event.site]) : nullptr;
  CopyDirection copy = copy_of(event, function);
  Clock known;
  if (copy.to_device || copy.to_host) known = views_.thread(event.thread).known->certain;
  Point point = views_.give_work(event);
  // Other processes may read and write what is shared with them.
  if (event.blind & kSharedMemory) {
    uploads_.give_up();
    downloads_.give_up();
  }
  bool releases = function && function->role == Role::release;
  bool allocates = function && function->role == Role::allocate;
  uploads_.work(event, point, copy.to_device, releases, allocates);
  downloads_.work(event, point, copy.to_host, is_copy(function));
  repeated_.work(event, point, known, copy);
  if (is_copy(function))
    for (const Access& access : event.accesses)
      if (access.on_host && access.memory.valid() && under_way_.size() < kMostUnderWay)
        under_way_.push_back({access.memory, access.range, event.stream, point.tick});
  bool kernel = function && (function->role == Role::launch || function->role == Role::graph_launch);
  history_.note(event, point.tick, kernel);
  if (releases)
    for (const Access& access : event.accesses) history_.forget(access.memory);
}

void TransferJudge::releases(const Event& event) {
  if (event.deferrable) {
    const Clock& known = views_.thread(event.thread).known->certain;
    bool used = std::any_of(under_way_.begin(), under_way_.end(), [&](const UnderWay& copy) {
      return copy.memory == event.memory && copy.range.overlaps(event.range) &&
             !known.covers(copy.stream, copy.tick);
    });
    if (used) in_use_.push_back(event.operation);
  }
  if (event.lives_on) {
    if (!event.deferrable) downloads_.uses(event);
    return;
  }
  uploads_.released(event);
  downloads_.released(event);
  if (event.deferrable) history_.forget(event.memory);
}

void TransferJudge::covers(const Event& event) {
  Knowledge covered = views_.covered(event);
  views_.returns(event.thread, covered, event.wait.own_work);
  std::erase_if(under_way_,
                [&](const UnderWay& copy) { return covered.certain.covers(copy.stream, copy.tick); });
  uploads_.covered(covered.certain);
  downloads_.covered(event, covered.possible);
}

void note_findings(const TransferJudge& judge, Process& process) {
  std::unordered_map<uint32_t, Thread*> threads;
  for (Thread& thread : process.threads) threads[thread.ordinal] = &thread;
  auto evidence = [&threads](OperationId id) -> Evidence* {
    auto found = threads.find(id.thread);
    if (found == threads.end() || id.sequence >= found->second->evidence.size()) return nullptr;
    return &found->second->evidence[id.sequence];
  };
  for (const UnusedData& unused : judge.unused()) {
    Evidence* of = evidence(unused.operation);
    if (!of) continue;
    of->unused = unused.how;
    of->lost_by = unused.by;
    of->conditions |= unused.conditions;
  }
  for (const UnusedPart& part : judge.unused_parts())
    if (Evidence* of = evidence(part.operation))
      of->unused_percent =
          static_cast<uint8_t>(100.0 * static_cast<double>(part.unused) / static_cast<double>(part.all));
  for (OperationId release : judge.in_use())
    if (Evidence* of = evidence(release)) of->conditions |= kConditionInUse;
  for (const RepeatedCopies::Found& found : judge.repeated()) {
    Evidence* of = evidence(found.operation);
    if (!of) continue;
    of->duplicate = found.how;
    of->first = found.first;
  }
}

}  // namespace diogenes::necessity
