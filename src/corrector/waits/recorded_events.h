// The last mark behind each event's record, by event. Under the corrector's lock.
#pragma once
#include "corrector/waits/marks.h"

namespace diogenes::corrector {

class RecordedEvents {
 public:
  // Null: it was not recorded, or there is no room.
  Mark* find(uint64_t event) { return at(event, false); }
  Mark* find_or_make(uint64_t event) { return at(event, true); }

 private:
  struct Event {
    uint64_t event;
    Mark mark;
  };
  static constexpr uint32_t kEvents = 1024, kLooks = 16;

  Mark* at(uint64_t event, bool make) {
    for (uint32_t i = 0, first = static_cast<uint32_t>(event * 0x9e3779b97f4a7c15 >> 40); i < kLooks; ++i) {
      Event& place = events_[(first + i) % kEvents];
      if (place.event == 0 && make) place.event = event;
      if (place.event == event) return &place.mark;
    }
    return nullptr;
  }

  Event events_[kEvents];
};

}  // namespace diogenes::corrector
