#include "analysis/necessity/transfers/unused_downloads.h"

namespace diogenes::necessity {

void UnusedDownloads::use(MemoryNumber memory, AddressRange range) {
  std::erase_if(downloads_, [&](const Download& download) {
    return !memory.valid() || (download.memory == memory && download.range.overlaps(range));
  });
}

void UnusedDownloads::work(const Event& event, const Point& point, bool downloads, bool copies) {
  const Access* destination = nullptr;
  bool reaches_host = false;
  for (const Access& access : event.accesses) {
    if (!access.on_host) continue;
    reaches_host = true;
    if (!access.writes || !access.memory.valid()) {
      use(access.memory, access.range);
      continue;
    }
    if (access.whole) destination = destination ? nullptr : &access;
    std::erase_if(downloads_, [&](const Download& download) {
      if (download.memory != access.memory || !download.range.overlaps(access.range)) return false;
      bool over =
          access.whole && access.range.contains(download.range) && download.untouched() &&
          (download.stream == event.stream || point.known->certain.covers(download.stream, download.tick));
      if (over) close(download, Unused::overwritten, event.operation);
      return true;  // used, for all that is known, where it is not over
    });
  }
  // What the CPU polls may tell it that a copy is done: from now on, each would have to be watched.
  if (reaches_host && !copies)
    std::erase_if(downloads_, [](const Download& download) { return !download.known; });
  if (!downloads || !destination || event.blind != 0) return;
  Download download;
  download.memory = destination->memory;
  download.range = destination->range;
  download.operation = event.operation;
  download.stream = event.stream;
  download.tick = point.tick;
  if (downloads_.size() == kMostOpen) downloads_.erase(downloads_.begin());
  downloads_.push_back(download);
}

void UnusedDownloads::covered(const Event& event, const Clock& possible) {
  for (Download& download : downloads_) {
    bool own = download.operation.thread == event.operation.thread &&
               download.operation.sequence == event.operation.sequence;
    if (download.known || !(own || possible.covers(download.stream, download.tick))) continue;
    download.known = true;
    download.during = event.thread;
  }
}

// Between a successful query and the next wait nothing is watched.
void UnusedDownloads::asked(const Event& event) {
  if (event.succeeded) std::erase_if(downloads_, [](const Download& download) { return !download.known; });
}

void UnusedDownloads::watch(const Event& event) {
  if (event.read_only) return;
  for (Download& download : downloads_) {
    if (download.memory != event.memory || !event.range.contains(download.range)) continue;
    download.watch = event.watch;
    download.during = {};
  }
}

void UnusedDownloads::touch(const Event& event) {
  std::erase_if(downloads_, [&](const Download& download) { return download.watch == event.watch; });
}

void UnusedDownloads::unwatch(const Event& event) {
  if (event.lost) return touch(event);
  for (Download& download : downloads_) {
    if (download.watch != event.watch) continue;
    download.watch = {};
    download.during = event.thread;
    lowered_outside_ += !in_call_.contains(event.thread);
  }
}

void UnusedDownloads::anything_else() {
  if (lowered_outside_ == 0) return;
  std::erase_if(downloads_, [&](const Download& download) {
    return download.known && !download.watch.valid() && !in_call_.contains(download.during);
  });
  lowered_outside_ = 0;
}

void UnusedDownloads::call_begin(const Event& event) { in_call_.insert(event.thread); }

void UnusedDownloads::released(const Event& event) {
  std::erase_if(downloads_, [&](const Download& download) {
    if (download.memory != event.memory || !download.range.overlaps(event.range)) return false;
    if (event.range.contains(download.range) && download.known && download.untouched())
      close(download, Unused::released, event.operation);
    return true;
  });
}

// Who was to be watched by now, and is not, may be touched.
void UnusedDownloads::call_end(const Event& event) {
  in_call_.erase(event.thread);
  std::erase_if(downloads_, [&](const Download& download) {
    return download.known && !download.watch.valid() && download.during == event.thread;
  });
}

void UnusedDownloads::ends() {
  for (const Download& download : downloads_)
    if (download.watch.valid()) close(download, Unused::released, {});
  downloads_.clear();
}

}  // namespace diogenes::necessity
