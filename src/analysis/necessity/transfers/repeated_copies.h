// Copies that moved what was there already. The agent says what each copy brought and what its destination
// held before (HashRecord); here that is put together with what the memory is and what the GPU did with it.
//
//   verified       the same content went to the same place before, and the destination still held it
//   returned       to the device: it came from the device to this place of the host, and goes back
//   returned_held  the same, to where it came from, which still holds it
//   elsewhere      to the device: the same was sent to another place of the same context's memory
//
// To the host: a duplicate only where no GPU work wrote the source since; else it is a result that had the
// same value. To the device: its readers must be ordered behind the copy that it repeats. Content that was
// read while GPU work may still have written there counts as not known.
// In: work with what it is ordered after. Out: findings.
#pragma once
#include <tsl/robin_map.h>

#include <deque>
#include <unordered_map>
#include <vector>

#include "analysis/necessity/containers/seen_twice.h"
#include "analysis/necessity/order/order_states.h"
#include "analysis/necessity/tables/access_history.h"
#include "analysis/runs/run.h"

namespace diogenes::necessity {

// Where a copy goes; neither: it is none, or on one side only.
struct CopyDirection {
  bool to_device = false, to_host = false;
};

class RepeatedCopies {
 public:
  RepeatedCopies(const Process& process, const AccessHistory& history);

  // Before the history has it. `known`: what is certainly done for the thread that gives it.
  void work(const Event& event, const Point& point, const Clock& known, CopyDirection copy);

  struct Found {
    OperationId operation;
    Duplicate how = Duplicate::none;
    OperationId first;  // that it repeats, or that brought the content to the host
  };
  const std::vector<Found>& found() const { return found_; }

 private:
  struct Place {
    MemoryNumber memory;
    AddressRange range;
    bool operator==(const Place&) const = default;
  };
  struct Content {
    uint64_t low = 0, high = 0;
    uint16_t context = 0;
    bool operator==(const Content&) const = default;
  };
  struct HashOfContent {
    size_t operator()(const Content& content) const noexcept {
      const uint64_t both =
          (content.low ^ (content.high + content.context) * 0x9e3779b97f4a7c15) * 0x9e3779b97f4a7c15;
      return both ^ both >> 32;
    }
  };
  static uint64_t hash_of(const CopyContent& content);  // in no context
  // A copy that later ones may repeat.
  struct Copied {
    OperationId operation;
    Place from, to;
    StreamNumber stream;
    uint32_t tick = 0;
  };
  // A list in copies_: most have few copies, and there can be millions.
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Listed {
    Copied copy;
    uint32_t next = kNone;
  };
  struct Known {
    uint32_t sent = kNone;     // to the device, the first to each of a few places
    uint32_t brought = kNone;  // to the host, the latest to each place
    uint32_t fetched = kNone;  // to the host, the latest: one of `brought`, or `alone`
    uint32_t alone = kNone;
  };
  static constexpr size_t kMostPlaces = 64;
  // The first of the list that is so; kNone: none.
  template <typename Is>
  uint32_t find(uint32_t list, Is is) const {
    while (list != kNone && !is(copies_[list].copy)) list = copies_[list].next;
    return list;
  }
  const Copied* at(uint32_t index) const { return index == kNone ? nullptr : &copies_[index].copy; }
  // At the end of the list. kNone: it has kMostPlaces.
  uint32_t append(uint32_t& list, const Copied& copy);
  void fetched_alone(const Copied& copy, Known& known);

  const CopyContent* content_of(OperationId operation);
  void to_device(const Copied& copy, Held held, const Clock& certain, Known& known);
  void to_host(const Copied& copy, Held held, bool source_is_stable, Known& known);
  void forget_overwritten(const Event& event);
  void forget_unwritten(const Place& source);
  bool is_stable(const Clock& known, const Place& place) const;

  const AccessHistory& history_;
  // Those that several copies brought; most bring what no other does.
  tsl::robin_map<Content, Known, HashOfContent> contents_;
  SeenTwice repeated_;  // by hash_of()
  struct OfThread {
    const Thread* thread;
    size_t near = 0;  // of content_of()
  };
  std::unordered_map<uint32_t, OfThread> threads_;  // by ordinal
  // Copies to the host whose source no GPU work has written since, by the source.
  std::unordered_map<MemoryNumber, std::vector<std::pair<OperationId, AddressRange>>> unwritten_;
  std::deque<Listed> copies_;
  std::vector<Found> found_;
};

}  // namespace diogenes::necessity
