#include "python/code_file.h"

#include "base/known_keys.h"
#include "python/copied_code.h"
#include "trace/growing_file.h"

namespace diogenes::python {

namespace {

constexpr size_t kMostFileBytes = 128 << 20;  // as far as a frame's index reaches

KnownKeys<1 << 16> known;  // functions that are told apart
GrowingFile file;
GrowingFile::MapPart map_file_part = nullptr;

uint32_t copy_into_file(const Interpreter& interpreter, uintptr_t code) {
  uint8_t* const record =
      map_file_part ? file.make_room("python", kMostCodeBytes, map_file_part, kMostFileBytes) : nullptr;
  CodeRecord header;
  if (!record || !copy_code<ThroughKernel>(interpreter, code, header, record)) return 0;
  return file.add(header, header.bytes);
}

}  // namespace

void set_map_part(GrowingFile::MapPart map_part) { map_file_part = map_part; }

uint32_t code_index(const Interpreter& interpreter, const PythonReading::Entry& entry) {
  if (const uint32_t index = known.find(entry.fingerprint)) return index;
  if (known.full()) return 0;
  const uint32_t index = copy_into_file(interpreter, entry.code);
  if (index) known.insert(entry.fingerprint, index);
  return index;
}

uint32_t copy_name(const Interpreter& interpreter, uintptr_t code, unsigned offset, char* to, uint32_t most) {
  uintptr_t text = 0;
  uint32_t bytes = 0;
  if (!ThroughKernel::copy(code + offset, sizeof text, &text) ||
      !copy_text<ThroughKernel>(interpreter.layout, text, most, reinterpret_cast<uint8_t*>(to), bytes))
    return 0;
  return bytes;
}

void forget_code() {
  file.forget();
  known.clear();
}

}  // namespace diogenes::python
