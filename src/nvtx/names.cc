#include "nvtx/names.h"

#include <cstring>

#include "base/memory_probe.h"

namespace diogenes::nvtx {
namespace {

bool copy_if_there(void* to, uintptr_t from, size_t bytes) {
  if (!is_there(from) ||
      (from / kProbedPage != (from + bytes - 1) / kProbedPage && !is_there(from + bytes - 1)))
    return false;
  memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return true;
}

// A string may end right before memory that is not there: read up to the next page first.
size_t up_to_page(uintptr_t from, size_t most) {
  const size_t left = kProbedPage - from % kProbedPage;
  return left < most ? left : most;
}

// Of one code point; the number of its bytes. What is none is a question mark.
uint32_t encode(uint32_t point, char (&to)[4]) {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = '?';
  if (point < 0x80) {
    to[0] = static_cast<char>(point);
    return 1;
  }
  const uint32_t bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (uint32_t i = bytes - 1; i > 0; --i, point >>= 6) to[i] = static_cast<char>(0x80 | (point & 0x3f));
  to[0] = static_cast<char>((bytes == 2 ? 0xc0 : bytes == 3 ? 0xe0 : 0xf0) | point);
  return bytes;
}

}  // namespace

bool read_name(const char* from, Name& name) {
  name.bytes = 0;
  auto at = reinterpret_cast<uintptr_t>(from);
  if (at == 0) return false;
  while (name.bytes < sizeof name.text) {
    const size_t bytes = up_to_page(at, sizeof name.text - name.bytes);
    if (!is_there(at)) return false;
    const size_t length = strnlen(reinterpret_cast<const char*>(at), bytes);
    memcpy(name.text + name.bytes, reinterpret_cast<const void*>(at), length);
    name.bytes += static_cast<uint32_t>(length);
    if (length < bytes) return true;
    at += bytes;
  }
  return true;
}

bool read_name(const wchar_t* from, Name& name) {
  static_assert(sizeof(wchar_t) == 4);
  name.bytes = 0;
  auto at = reinterpret_cast<uintptr_t>(from);
  if (at == 0 || at % sizeof(wchar_t) != 0) return false;
  for (bool known = false;; at += sizeof(wchar_t), known = at % kProbedPage != 0) {
    if (!known && !is_there(at)) return false;
    uint32_t point = 0;
    memcpy(&point, reinterpret_cast<const void*>(at), sizeof point);
    if (point == 0) return true;
    char encoded[4];
    const uint32_t length = encode(point, encoded);
    const uint32_t room = static_cast<uint32_t>(sizeof name.text) - name.bytes;
    memcpy(name.text + name.bytes, encoded, length < room ? length : room);
    name.bytes += length < room ? length : room;
    if (name.bytes == sizeof name.text) return true;
  }
}

bool read_attributes(const Attributes* from, Attributes& attributes) {
  return from && copy_if_there(&attributes, reinterpret_cast<uintptr_t>(from), sizeof attributes) &&
         attributes.bytes >= sizeof attributes;
}

uint64_t hash_of(const Name& name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < name.bytes; ++i)
    hash = (hash ^ static_cast<unsigned char>(name.text[i])) * 0x100000001b3;
  return hash ? hash : 1;
}

}  // namespace diogenes::nvtx
