#include "agent/proving/unwritten_sources.h"

namespace diogenes::agent::facts {

uint32_t UnwrittenSources::watch(AddressRange pages, bool own_pages) {
  for (uint32_t i = 0; i < kSources; ++i) {
    Source& source = sources_[i];
    if (source.guard != kNoGuard) continue;
    Watching how;
    how.own_pages = own_pages;
    source = {pages, raise_guard(pages, Protection::read_only, how), false};
    return source.guard == kNoGuard ? 0 : i + 1;
  }
  return 0;
}

bool UnwrittenSources::is_unwritten(uint32_t watch) const {
  const Source& source = sources_[watch - 1];
  return !source.written && collect(source.guard).by == TouchBy::nobody;
}

void UnwrittenSources::end(uint32_t watch) {
  lower_guard(sources_[watch - 1].guard);
  sources_[watch - 1] = {};
}

void UnwrittenSources::note_work(AddressRange written) {
  for (Source& source : sources_)
    if (source.guard != kNoGuard) source.written |= source.pages.overlaps(written);
}

}  // namespace diogenes::agent::facts
