// Ranges by their beginning, each with a number. Those that begin at the same address stay in the order in which
// they came. They lie in pieces of some dozens: a search looks at few places in memory, and no change moves many.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/range.h"

namespace diogenes::necessity {

template <typename Number>
class SortedRanges {
 public:
  bool empty() const { return pieces_.empty(); }

  void add(AddressRange range, Number number) {
    if (pieces_.empty()) pieces_.emplace_back();
    auto piece = std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& one) {
      return !one.empty() && one.back().begin <= range.begin;
    });
    if (piece == pieces_.end()) --piece;
    const auto at = std::partition_point(piece->begin(), piece->end(),
                                         [&](const Entry& entry) { return entry.begin <= range.begin; });
    piece->insert(at, {range.begin, range.end, number});
    if (piece->size() > kMost) split(piece);
  }

  void remove(AddressRange range, Number number) {
    for (auto piece = first_piece(range.begin); piece != pieces_.end(); ++piece) {
      for (auto at = first_in(*piece, range.begin); at != piece->end(); ++at) {
        if (at->begin != range.begin) return;
        if (at->number != number) continue;
        piece->erase(at);
        if (piece->empty()) pieces_.erase(piece);
        return;
      }
    }
  }

  // Calls visit(end, number) for those that begin in [begin, end), in order.
  template <typename Visit>
  void each_from(uintptr_t begin, uintptr_t end, Visit visit) const {
    for (auto piece = first_piece(begin); piece != pieces_.end(); ++piece) {
      for (auto at = first_in(*piece, begin); at != piece->end(); ++at) {
        if (at->begin >= end) return;
        visit(at->end, at->number);
      }
    }
  }

 private:
  static constexpr size_t kMost = 64;  // in a piece
  struct Entry {
    uintptr_t begin, end;
    Number number;
  };
  using Piece = std::vector<Entry>;  // none is empty

  auto first_piece(uintptr_t begin) const {
    return std::partition_point(pieces_.begin(), pieces_.end(),
                                [&](const Piece& piece) { return piece.back().begin < begin; });
  }
  auto first_piece(uintptr_t begin) {
    return std::partition_point(pieces_.begin(), pieces_.end(),
                                [&](const Piece& piece) { return piece.back().begin < begin; });
  }
  template <typename OnePiece>
  static auto first_in(OnePiece& piece, uintptr_t begin) {
    return std::partition_point(piece.begin(), piece.end(),
                                [&](const Entry& entry) { return entry.begin < begin; });
  }

  void split(typename std::vector<Piece>::iterator piece) {
    const auto middle = piece->begin() + kMost / 2;
    Piece behind(middle, piece->end());
    piece->erase(middle, piece->end());
    pieces_.insert(piece + 1, std::move(behind));
  }

  std::vector<Piece> pieces_;
};

}  // namespace diogenes::necessity
