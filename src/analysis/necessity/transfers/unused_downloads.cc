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
  download.all = destination->range.size();
  download.operation = event.operation;
  download.stream = event.stream;
  download.tick = point.tick;
  if (downloads_.size() == kMostOpen) downloads_.erase(downloads_.begin());
  downloads_.push_back(download);
}

void UnusedDownloads::covered(const Event& event, const Clock& possible) {
  for (size_t i = 0; i < downloads_.size(); ++i) {
    Download& download = downloads_[i];
    bool own = download.operation.thread == event.operation.thread &&
               download.operation.sequence == event.operation.sequence;
    if (download.known || !(own || possible.covers(download.stream, download.tick))) continue;
    download.known = true;
    download.during = event.thread;
    // What nobody has touched since an earlier copy is watched still.
    const auto index = watched_.find(download.memory);
    if (index == watched_.end()) continue;
    still_.clear();
    index->second.each_overlapping(download.range, [&](WatchNumber watch) { still_.push_back(watch); });
    const size_t next = downloads_.size();  // from there on: parts of this one
    for (WatchNumber watch : still_) {
      watched_by(i, watch, watches_.at(watch).range);
      for (size_t part = next; part < downloads_.size(); ++part)
        watched_by(part, watch, watches_.at(watch).range);
    }
  }
}

// Between a successful query and the next wait nothing is watched.
void UnusedDownloads::asked(const Event& event) {
  if (event.succeeded) std::erase_if(downloads_, [](const Download& download) { return !download.known; });
}

void UnusedDownloads::watch(const Event& event) {
  if (event.read_only) return;
  watches_[event.watch] = {event.memory, event.range};
  watched_[event.memory].add(event.range, event.watch);
  for (size_t i = 0; i < downloads_.size(); ++i)
    if (downloads_[i].memory == event.memory && downloads_[i].known) watched_by(i, event.watch, event.range);
}

// What of it is not watched becomes a part of its own.
void UnusedDownloads::watched_by(size_t at, WatchNumber watch, AddressRange range) {
  const Download whole = downloads_[at];
  const AddressRange inside = whole.range.intersection(range);
  if (inside.empty() || (inside != whole.range && whole.watch.valid())) return;
  for (const AddressRange rest :
       {AddressRange{whole.range.begin, inside.begin}, AddressRange{inside.end, whole.range.end}}) {
    if (rest.empty()) continue;
    downloads_.push_back(whole);
    downloads_.back().range = rest;
  }
  downloads_[at].range = inside;
  downloads_[at].watch = watch;
  downloads_[at].during = {};
}

void UnusedDownloads::end_watch(WatchNumber watch) {
  const auto ended = watches_.find(watch);
  if (ended == watches_.end()) return;
  const auto index = watched_.find(ended->second.memory);
  index->second.remove(ended->second.range, watch);
  if (index->second.empty()) watched_.erase(index);
  watches_.erase(ended);
}

void UnusedDownloads::close(const Download& download, Unused how, OperationId by) {
  if (download.range.size() < download.all) {
    UnusedPart& part = parts_[key_of(download.operation)];
    part = {download.operation, part.unused + download.range.size(), download.all};
    if (part.unused < part.all) return;
    parts_.erase(key_of(download.operation));
  }
  out_.push_back({download.operation, how, by, 0});
}

std::vector<UnusedPart> UnusedDownloads::parts() const {
  std::vector<UnusedPart> parts;
  for (const auto& [key, part] : parts_) parts.push_back(part);
  return parts;
}

void UnusedDownloads::touch(const Event& event) {
  end_watch(event.watch);
  const bool by_program = event.kind == EventKind::touch && event.by != Toucher::driver;
  std::erase_if(downloads_, [&](const Download& download) {
    // Who looks there while a copy may be under way may ask for what it brings.
    const bool early = by_program && !download.known && download.memory == event.memory &&
                       download.range.overlaps(event.range);
    return download.watch == event.watch || early;
  });
}

void UnusedDownloads::unwatch(const Event& event) {
  if (event.lost) return touch(event);
  end_watch(event.watch);
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
