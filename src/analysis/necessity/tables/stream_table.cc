#include "analysis/necessity/tables/stream_table.h"

#include <algorithm>

namespace diogenes::necessity {

StreamTable::Stream& StreamTable::add(const Key& key, const StreamFacts* facts, bool is_default) {
  auto [found, fresh] = by_key_.try_emplace(key);
  if (!fresh) return *found->second;
  Stream& stream = streams_[next_];
  found->second = &stream;
  stream.number = {next_++};
  stream.legacy = std::get<0>(key) == kLegacyStream;
  // A default stream is known by its context alone.
  stream.context = is_default ? std::get<1>(key) : facts ? facts->context : uint16_t{0};
  stream.blocking = is_default || !facts || (facts->flags & kBlockingStream);
  stream.certain = stream.context != 0 && (is_default || (facts && (facts->flags & kCertainStream)));
  stream.page_tables = facts && (facts->flags & kReadsPageTables);
  return stream;
}

StreamTable::Stream* StreamTable::find(uint32_t stream, uint16_t context, uint32_t thread) {
  if (stream == kNoStream) return nullptr;
  bool is_default = stream == kLegacyStream || stream == kPerThreadStream;
  // The default stream of an unknown context would be several streams in one.
  if (is_default && context == 0) return nullptr;
  Key key{stream, is_default ? context : uint16_t{0}, stream == kPerThreadStream ? thread : 0};
  if (auto found = by_key_.find(key); found != by_key_.end()) return found->second;
  return &add(key,
              stream == kLegacyStream      ? survey_.legacy_stream(context)
              : stream == kPerThreadStream ? survey_.per_thread_stream(context, thread)
                                           : survey_.stream(stream),
              is_default);
}

StreamTable::Stream& StreamTable::unknown() {
  Stream& stream = add({kNoStream, 0, 0}, nullptr, false);
  stream.blocking = false;
  return stream;
}

void StreamTable::before_next_in(const Stream& stream, std::vector<StreamNumber>& out) const {
  out.clear();
  if (!stream.certain || !stream.blocking) return;
  for (const auto& [number, other] : streams_)
    if (&other != &stream && other.last_action > 0 && other.certain && other.blocking &&
        other.context == stream.context && (stream.legacy || other.legacy))
      out.push_back(other.number);
}

bool StreamTable::others_are_ahead(const Stream& stream) const {
  if (stream.certain && !stream.blocking) return false;
  for (const auto& [number, other] : streams_) {
    if (other.last_action <= stream.last_action) continue;
    if (stream.legacy ? is_other_blocking(other, stream) : other.legacy && is_other_blocking(stream, other))
      return true;
  }
  return false;
}

void StreamTable::cover_stream(const Stream& stream, Scope& scope) const {
  scope.certain.push_back(stream.number);
  scope.new_work = stream.last_work > stream.known;
  if (!stream.legacy) return;
  for (const auto& [number, other] : streams_) {
    if (!is_other_blocking(other, stream) || other.last_action <= stream.last_action) continue;
    scope.may.push_back(other.number);
    scope.may_cover = MayCover::streams;
    scope.new_work |= other.last_work > other.known;
  }
}

void StreamTable::cover_context(uint16_t context, bool non_blocking_too, Scope& scope) const {
  if (context == 0) return cover_everything(scope);
  for (const auto& [number, stream] : streams_) {
    if (stream.last_action == 0) continue;
    bool certain = stream.certain && stream.context == context && (stream.blocking || non_blocking_too);
    bool maybe = !stream.certain || stream.context == context;
    if (!certain && !maybe) continue;
    (certain ? scope.certain : scope.may).push_back(stream.number);
    scope.new_work |= stream.last_work > stream.known;
  }
  if (!scope.may.empty()) scope.may_cover = MayCover::streams;
}

void StreamTable::cover_everything(Scope& scope) const {
  scope.may_cover = MayCover::everything;
  for (const auto& [number, stream] : streams_) scope.new_work |= stream.last_work > stream.known;
}

void StreamTable::covered(const Scope& scope, uint64_t begin) {
  for (StreamNumber number : scope.certain) {
    Stream& stream = streams_.at(number.value);
    stream.known = std::max(stream.known, std::min(stream.last_work, begin));
  }
}

void StreamTable::destroy(Stream& stream) {
  if (stream.destroyed) return;
  stream.destroyed = true;
  ++destroyed_;
  std::erase_if(by_key_, [&stream](const auto& each) { return each.second == &stream; });
}

std::vector<StreamNumber> StreamTable::take_ended() {
  std::vector<StreamNumber> ended;
  if (destroyed_ == 0) return ended;
  for (const auto& [number, stream] : streams_)
    if (stream.destroyed && stream.last_work <= stream.known) ended.push_back(stream.number);
  for (StreamNumber number : ended) streams_.erase(number.value);
  destroyed_ -= ended.size();
  return ended;
}

}  // namespace diogenes::necessity
