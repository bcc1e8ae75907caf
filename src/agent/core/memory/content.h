// The content of transfers: XXH3 of 128 bits over the rows in their order.
#pragma once
#include <cstdint>

#include "agent/core/memory/copy.h"
#include "base/range.h"

namespace diogenes::agent {

// Bytes that repeat one value of 1, 2 or 4 bytes, from the beginning of each row.
struct Pattern {
  uint32_t value = 0;
  uint8_t bytes = 0;  // 0: they do not
};

struct Content {
  uint64_t low = 0, high = 0;
  Pattern pattern;  // of what goes to the device; follows from the content

  bool operator==(const Content& other) const { return low == other.low && high == other.high; }
};

// Finds the pattern, piece by piece. Each piece of a row but its last is a multiple of 4 bytes.
class PatternFinder {
 public:
  void look(const void* piece, uint64_t bytes);
  // Few bytes repeat some value by chance, and a single one always does: they must be 64, or one byte's value.
  Pattern found() const;

 private:
  uint32_t value_ = 0;
  uint64_t bytes_ = 0;
  bool repeats_ = true;
};

// Rows of `width` bytes, `pitch` bytes apart.
struct Rows {
  uint64_t address = 0, width = 0, height = 1, pitch = 0;

  uint64_t bytes() const { return width * height; }
  AddressRange span() const {
    return AddressRange::of(address, height <= 1 ? width : pitch * (height - 1) + width);
  }
};

// Memory that is surely there: the driver is about to read it, or has just written it.
Content content_of(const void* memory, uint64_t bytes);

// Memory that may be gone or out of reach: read by `copy`. False: it was. `look`, where given, sees each piece
// of it, too. `content` null: it is not hashed.
using LookAtPiece = void (*)(void* context, const void* piece, uint64_t bytes);
bool content_if_there(const Rows& rows, Content* content, LookAtPiece look = nullptr, void* context = nullptr,
                      CopyIfThere copy = copy_if_there);

}  // namespace diogenes::agent
