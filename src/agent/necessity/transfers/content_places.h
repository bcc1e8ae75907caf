// Where each content lies or lay: what a copy to the device could have been spared by. In: every transfer's
// content, once it is known. Out: an earlier transfer of the same content to another place of the device, or
// the copy that brought it from the device to where it is sent from. Both are about what was sent; what the
// places still hold is for who asks. Serialised by the collector's lock.
#pragma once
#include "agent/necessity/transfers/content.h"
#include "trace/format.h"

namespace diogenes::agent {

// The same bytes in the memory of the same device, reached through the same context.
struct ContentKey {
  Content content;
  uint64_t bytes = 0, context = 0;
  uint32_t device = 0;

  bool operator==(const ContentKey&) const = default;
};

class ContentPlaces {
 public:
  // Sent to the device at `destination`. The first transfers to two places are kept of each content.
  void sent(const ContentKey& key, uint64_t destination, OperationId id);
  // Brought to the host at `host`, from `source` on the device. The latest is kept.
  void fetched(const ContentKey& key, uint64_t host, uint64_t source, OperationId id);

  bool elsewhere(const ContentKey& key, uint64_t destination, OperationId* first) const;
  bool returned(const ContentKey& key, uint64_t host, OperationId* first, uint64_t* source) const;

  void reset();

 private:
  static constexpr uint32_t kEntries = 1 << 15;
  struct Place {
    uint64_t address;
    OperationId id;
  };
  struct Entry {
    ContentKey key;
    Place sent[2];
    Place host;
    uint64_t source;
    uint8_t sent_count;
    bool fetched, used;
  };
  static uint64_t mix(const ContentKey& key);
  const Entry* find(const ContentKey& key) const;
  Entry* find_or_add(const ContentKey& key);

  Entry entries_[kEntries];
  uint32_t count_;
};

}  // namespace diogenes::agent
