#include "agent/necessity/transfers/content_places.h"

#include "agent/recorder.h"

namespace diogenes::agent {

uint64_t ContentPlaces::mix(const ContentKey& key) {
  uint64_t hash = key.content.low ^ (key.bytes * 0x9e3779b97f4a7c15) ^ (key.context * 0xbf58476d1ce4e5b9);
  return hash ^ (hash >> 31) ^ key.device;
}

const ContentPlaces::Entry* ContentPlaces::find(const ContentKey& key) const {
  for (uint64_t at = mix(key);; ++at) {
    const Entry& entry = entries_[at % kEntries];
    if (!entry.used) return nullptr;
    if (entry.key == key) return &entry;
  }
}

ContentPlaces::Entry* ContentPlaces::find_or_add(const ContentKey& key) {
  uint64_t at = mix(key);
  for (;; ++at) {
    Entry& entry = entries_[at % kEntries];
    if (!entry.used) break;
    if (entry.key == key) return &entry;
  }
  if (count_ >= kEntries / 4 * 3) {
    count_drop(Drop::objects_full);
    return nullptr;
  }
  ++count_;
  Entry& entry = entries_[at % kEntries];
  entry = {};
  entry.key = key;
  entry.used = true;
  return &entry;
}

void ContentPlaces::sent(const ContentKey& key, uint64_t destination, OperationId id) {
  Entry* entry = find_or_add(key);
  if (!entry || entry->sent_count == 2 || (entry->sent_count == 1 && entry->sent[0].address == destination))
    return;
  entry->sent[entry->sent_count++] = {destination, id};
}

void ContentPlaces::fetched(const ContentKey& key, uint64_t host, uint64_t source, OperationId id) {
  Entry* entry = find_or_add(key);
  if (!entry) return;
  entry->fetched = true;
  entry->host = {host, id};
  entry->source = source;
}

bool ContentPlaces::elsewhere(const ContentKey& key, uint64_t destination, OperationId* first) const {
  const Entry* entry = find(key);
  for (int i = 0; entry && i < entry->sent_count; ++i)
    if (entry->sent[i].address != destination) {
      *first = entry->sent[i].id;
      return true;
    }
  return false;
}

bool ContentPlaces::returned(const ContentKey& key, uint64_t host, OperationId* first,
                             uint64_t* source) const {
  const Entry* entry = find(key);
  if (!entry || !entry->fetched || entry->host.address != host) return false;
  *first = entry->host.id;
  *source = entry->source;
  return true;
}

void ContentPlaces::reset() {
  if (count_ == 0) return;
  for (Entry& entry : entries_) entry.used = false;
  count_ = 0;
}

}  // namespace diogenes::agent
