#include "corrector/transfers/known_sources.h"

#include <string.h>

namespace diogenes::corrector {

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kSmallest = 4 * kPageBytes;  // less is read as fast as it is watched

uint64_t first_page(uint64_t host) { return (host + kPageBytes - 1) & ~(kPageBytes - 1); }
uint64_t behind_pages(uint64_t host, uint64_t bytes) { return (host + bytes) & ~(kPageBytes - 1); }

bool same(const TransferContent& one, const TransferContent& other) {
  return one.low == other.low && one.high == other.high;
}

}  // namespace

// They share their pages with other data, and are not watched. False: they cannot be read.
bool KnownSources::read_ends(const Source& source, TransferContent* content) const {
  unsigned char ends[2 * kPageBytes];
  const uint64_t head = first_page(source.host) - source.host;
  const uint64_t tail_at = behind_pages(source.host, source.bytes);
  const uint64_t tail = source.host + source.bytes - tail_at;
  *content = {};
  if (head + tail == 0) return true;
  if (!services_->copy(ends, reinterpret_cast<const void*>(source.host), head) ||
      !services_->copy(ends + head, reinterpret_cast<const void*>(tail_at), tail))
    return false;
  services_->content(ends, head + tail, false, content);
  return true;
}

bool KnownSources::is_unwritten(const Source& source) const {
  TransferContent ends;
  return services_->is_unwritten(source.watch) && read_ends(source, &ends) && same(ends, source.ends);
}

void KnownSources::end_watch(Source& source) {
  if (source.watch != 0) services_->end_watch(source.watch);
  source.watch = 0;
  source.is_known = false;
}

void KnownSources::watch(Source& source) {
  const uint64_t begin = first_page(source.host), end = behind_pages(source.host, source.bytes);
  if (source.bytes < kSmallest || source.writes >= kMostWrites) return;
  source.watch = services_->watch_source(begin, end - begin);
  source.reading = readings_;
  if (source.watch != 0 && !read_ends(source, &source.ends)) end_watch(source);
}

bool KnownSources::find(uint64_t host, uint64_t bytes, TransferContent* content, uint32_t* reading) {
  Source& source = place_of(host);
  *reading = ++readings_;
  if (source.host != host || source.bytes != bytes) {
    end_watch(source);
    source = {};
    source.host = host, source.bytes = bytes;
    return false;
  }
  if (source.is_known && is_unwritten(source)) {
    source.writes = 0;
    *content = source.content;
    return true;
  }
  if (source.is_known) {
    end_watch(source);
    ++source.writes;
  }
  // A write that comes while it is read must not be missed.
  if (source.watch == 0 && source.was_read) watch(source);
  return false;
}

void KnownSources::remember(uint64_t host, uint64_t bytes, const TransferContent& content, uint32_t reading) {
  Source& source = place_of(host);
  if (source.host != host || source.bytes != bytes) return;
  if (source.watch != 0 && reading >= source.reading) {
    if (same(content, source.content)) {
      source.is_known = true;
    } else {  // it was written since it was last read
      end_watch(source);
      ++source.writes;
    }
  }
  source.content = content;
  source.was_read = true;
}

}  // namespace diogenes::corrector
