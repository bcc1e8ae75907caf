#include "analysis/necessity/transfers/unused_uploads.h"

namespace diogenes::necessity {

uint8_t UnusedUploads::conditions(bool rests, uint64_t kernels_before) const {
  return rests || history_.kernels() > kernels_before ? kConditionArguments : 0;
}

void UnusedUploads::close(const Upload& upload, Unused how, OperationId by) {
  out_.push_back({upload.operation, how, by, conditions(upload.rests, upload.kernels)});
}

void UnusedUploads::close(const Memory& memory, OperationId by) {
  if (!is_named(memory))
    out_.push_back({memory.operation, Unused::released, by, conditions(false, memory.kernels)});
}

void UnusedUploads::allocated(const Event& event, const Clock& host) {
  if (given_up_) return;
  Memory memory;
  memory.range = event.range;
  memory.operation = event.operation;
  memory.kernels = history_.kernels();
  // A kernel that runs already may be told of it.
  memory.unknown = unknown_;
  memory.named = !history_.unknown_work_is_before(host, {});
  memories_[event.memory] = std::move(memory);
}

void UnusedUploads::read(Memory& memory, AddressRange range, const Clock& certain) {
  std::erase_if(memory.uploads, [&](const Upload& upload) {
    bool behind = upload.overwritten && certain.covers(upload.over_stream, upload.over_tick);
    return upload.range.overlaps(range) && !behind;
  });
}

// Only what is surely there before it is overwritten has lost its chance; of two in no order either may win.
void UnusedUploads::overwrite(Memory& memory, const Access& access, const Event& event, const Point& point) {
  const AddressRange range = access.range;
  std::erase_if(memory.uploads, [&](const Upload& upload) {
    return !upload.overwritten && range.contains(upload.range) &&
           !(upload.stream == event.stream || point.known->certain.covers(upload.stream, upload.tick));
  });
  for (Upload& upload : memory.uploads) {
    if (upload.overwritten || !range.contains(upload.range)) continue;
    upload.overwritten = true;
    upload.over_stream = event.stream;
    upload.over_tick = point.tick;
    upload.by = event.operation;
    closing_.insert(access.memory);
  }
}

void UnusedUploads::work(const Event& event, const Point& point, bool uploads, bool releases,
                         bool allocates) {
  if (given_up_) return;
  // What a stream does later is behind its own work.
  Clock certain = point.known->certain;
  certain.raise(key_of(event.stream), point.tick - 1);
  for (const Access& access : event.accesses) {
    if (!access.memory.valid()) {
      ++unknown_;
      std::erase_if(uploaded_, [&](MemoryNumber number) {
        auto of = memories_.find(number);
        if (of != memories_.end()) read(of->second, of->second.range, certain);
        return of == memories_.end() || of->second.uploads.empty();
      });
      continue;
    }
    auto found = memories_.find(access.memory);
    if (found == memories_.end()) continue;
    Memory& memory = found->second;
    if (allocates) continue;
    if (!access.writes) read(memory, access.range, certain);
    if (access.writes && access.whole) overwrite(memory, access, event, point);
    if (releases) close(memory, event.operation);
    memory.named = true;
    memory.released |= releases;
    // What was released in the order of a stream goes when its last copy is closed.
    if (releases && memory.uploads.empty()) memories_.erase(found);
  }
  if (!uploads) return;
  for (const Access& access : event.accesses) {
    auto found = memories_.find(access.memory);
    bool whole = access.writes && access.whole && !access.on_host;
    if (!whole || found == memories_.end() || !found->second.range.contains(access.range)) continue;
    // Nothing runs beside it that may read what it brings.
    if (!history_.reads_are_before(certain, access.memory, event.stream)) continue;
    Upload upload;
    upload.range = access.range;
    upload.operation = event.operation;
    upload.stream = event.stream;
    upload.tick = point.tick;
    upload.rests = !history_.kernels_are_before(certain, event.stream);
    upload.kernels = history_.kernels();
    auto& uploads_there = found->second.uploads;
    if (uploads_there.size() == kMostOfMemory) uploads_there.erase(uploads_there.begin());
    uploads_there.push_back(upload);
    uploaded_.insert(access.memory);
  }
}

void UnusedUploads::covered(const Clock& certain) {
  std::erase_if(closing_, [&](MemoryNumber number) {
    auto found = memories_.find(number);
    if (found == memories_.end()) return true;
    bool open = false;
    std::erase_if(found->second.uploads, [&](const Upload& upload) {
      bool over = upload.overwritten && certain.covers(upload.over_stream, upload.over_tick);
      if (over) close(upload, Unused::overwritten, upload.by);
      open |= upload.overwritten && !over;
      return over;
    });
    if (found->second.released && found->second.uploads.empty()) memories_.erase(found);
    return !open;
  });
}

void UnusedUploads::released(const Event& event) {
  auto found = memories_.find(event.memory);
  if (found == memories_.end()) return;
  for (const Upload& upload : found->second.uploads)
    upload.overwritten ? close(upload, Unused::overwritten, upload.by)
                       : close(upload, Unused::released, event.operation);
  close(found->second, event.operation);
  memories_.erase(found);
}

void UnusedUploads::give_up() {
  given_up_ = true;
  memories_.clear();
  uploaded_.clear();
  closing_.clear();
}

}  // namespace diogenes::necessity
