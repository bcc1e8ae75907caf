// The content of transfers: XXH3 of 128 bits over the rows in their order.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

struct Content {
  uint64_t low = 0, high = 0;

  bool operator==(const Content&) const = default;
};

// Rows of `width` bytes, `pitch` bytes apart.
struct Rows {
  uint64_t address = 0, width = 0, height = 1, pitch = 0;

  uint64_t bytes() const { return width * height; }
  AddressRange span() const {
    return AddressRange::of(address, height <= 1 ? width : pitch * (height - 1) + width);
  }
  bool contiguous() const { return height <= 1 || pitch == width; }
};

// Memory that is surely there: the driver is about to read it, or has just written it.
Content content_of(const Rows& rows);

// Memory that may be gone or out of reach: read through the kernel. False: it was. `look`, where given, sees
// each piece of it, too. `content` null: it is not hashed.
using LookAtPiece = void (*)(void* context, const void* piece, uint64_t bytes);
bool content_if_there(const Rows& rows, Content* content, LookAtPiece look = nullptr,
                      void* context = nullptr);

}  // namespace diogenes::agent
