#include "analysis/necessity/transfers/repeated_copies.h"

#include <algorithm>

namespace diogenes::necessity {
namespace {

size_t number_of_contents(const Process& process) {
  size_t number = 0;
  for (const Thread& thread : process.threads) number += thread.contents.size();
  return number;
}

}  // namespace

RepeatedCopies::RepeatedCopies(const Process& process, const AccessHistory& history)
    : history_(history), repeated_(number_of_contents(process)) {
  for (const Thread& thread : process.threads) {
    threads_[thread.ordinal] = {&thread};
    for (const CopyContent& content : thread.contents) repeated_.see(hash_of(content));
  }
}

uint64_t RepeatedCopies::hash_of(const CopyContent& content) {
  return HashOfContent()({content.hash[0], content.hash[1]});
}

const CopyContent* RepeatedCopies::content_of(OperationId operation) {
  auto found = threads_.find(operation.thread);
  if (found == threads_.end()) return nullptr;
  auto& [thread, near] = found->second;
  return diogenes::content_of(*thread, operation.sequence, near);
}

void RepeatedCopies::work(const Event& event, const Point& point, const Clock& known, CopyDirection copy) {
  const CopyContent* content = copy.to_device || copy.to_host ? content_of(event.operation) : nullptr;
  Copied copied{event.operation, {event.memory, event.range}, {}, event.stream, point.tick};
  bool whole = false;
  for (const Access& access : event.accesses) {
    (access.writes ? copied.to : copied.from) = {access.memory, access.range};
    whole |= access.writes && access.whole;
  }
  const bool is_known = content && whole && copied.from.memory.valid();
  // What the agent looked at lies on the host: the source, or what the destination held.
  const bool staged = copy.to_device && event.memory.valid();
  bool stable = is_known && (staged ? history_.staged_source_is_stable(known, copied.from.memory)
                                    : is_stable(known, copy.to_device ? copied.from : copied.to));
  bool source_is_stable = is_known && copy.to_host &&
                          history_.writes_are_before(point.known->certain, copied.from.memory, event.stream);
  forget_overwritten(event);
  if (!is_known || (copy.to_device && !stable)) return;
  if (!repeated_.maybe(hash_of(*content))) {
    if (copy.to_host && source_is_stable) forget_unwritten(copied.from);
    return;
  }
  Known& about = contents_[{content->hash[0], content->hash[1], event.context}];
  if (copy.to_device)
    to_device(copied, content->held, point.known->certain, about);
  else
    to_host(copied, stable ? content->held : Held::unknown, source_is_stable, about);
}

bool RepeatedCopies::is_stable(const Clock& known, const Place& place) const {
  return history_.writes_are_before(known, place.memory, {});
}

uint32_t RepeatedCopies::append(uint32_t& list, const Copied& copy) {
  uint32_t* last = &list;
  for (size_t length = 0; *last != kNone; last = &copies_[*last].next)
    if (++length == kMostPlaces) return kNone;
  const auto added = static_cast<uint32_t>(copies_.size());
  *last = added;
  copies_.push_back({copy});
  return added;
}

void RepeatedCopies::to_device(const Copied& copy, Held held, const Clock& certain, Known& known) {
  const Copied* same = at(find(known.sent, [&](const Copied& each) { return each.to == copy.to; }));
  const Copied* other = at(find(known.sent, [&](const Copied& each) {
    return each.to.memory != copy.to.memory || each.to.range.begin != copy.to.range.begin;
  }));
  auto is_ordered = [&](const Copied& first) {
    return first.stream == copy.stream || certain.covers(first.stream, first.tick);
  };
  const Copied* fetched = at(known.fetched);
  bool returns = fetched && fetched->to == copy.from;
  bool is_held = held == Held::same;
  if (is_held && same) {
    if (is_ordered(*same)) found_.push_back({copy.operation, Duplicate::verified, same->operation});
  } else if (returns) {
    bool back = is_held && fetched->from == copy.to;
    found_.push_back(
        {copy.operation, back ? Duplicate::returned_held : Duplicate::returned, fetched->operation});
  } else if (other && is_ordered(*other)) {
    found_.push_back({copy.operation, Duplicate::elsewhere, other->operation});
  }
  if (!same) append(known.sent, copy);
}

void RepeatedCopies::fetched_alone(const Copied& copy, Known& known) {
  if (known.alone == kNone) {
    known.alone = static_cast<uint32_t>(copies_.size());
    copies_.emplace_back();
  }
  copies_[known.alone].copy = copy;
  known.fetched = known.alone;
}

void RepeatedCopies::to_host(const Copied& copy, Held held, bool source_is_stable, Known& known) {
  const uint32_t first =
      find(known.brought, [&](const Copied& each) { return each.to == copy.to && each.from == copy.from; });
  auto& unwritten = unwritten_[copy.from.memory];
  if (first != kNone && held == Held::same) {
    const OperationId repeated = copies_[first].copy.operation;
    bool unchanged = std::any_of(unwritten.begin(), unwritten.end(),
                                 [&](const auto& each) { return key_of(each.first) == key_of(repeated); });
    if (unchanged) {
      found_.push_back({copy.operation, Duplicate::verified, repeated});
      return fetched_alone(copy, known);
    }
  }
  // A kernel that still runs may write there behind the copy.
  if (!source_is_stable) return fetched_alone(copy, known);
  known.fetched = first != kNone ? first : append(known.brought, copy);
  if (known.fetched == kNone) return fetched_alone(copy, known);
  copies_[known.fetched].copy = copy;
  forget_unwritten(copy.from);
  unwritten.emplace_back(copy.operation, copy.from.range);
}

// Another copy brings what lies there now.
void RepeatedCopies::forget_unwritten(const Place& source) {
  if (auto found = unwritten_.find(source.memory); found != unwritten_.end())
    std::erase_if(found->second, [&](const auto& each) { return each.second == source.range; });
}

void RepeatedCopies::forget_overwritten(const Event& event) {
  for (const Access& access : event.accesses) {
    if (!access.writes) continue;
    if (!access.memory.valid()) {
      unwritten_.clear();
    } else if (auto found = unwritten_.find(access.memory); found != unwritten_.end()) {
      std::erase_if(found->second, [&](const auto& each) { return each.second.overlaps(access.range); });
      if (found->second.empty()) unwritten_.erase(found);
    }
  }
}

}  // namespace diogenes::necessity
