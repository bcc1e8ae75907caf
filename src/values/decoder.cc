#include "values/decoder.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>

namespace diogenes::values {

namespace {

ZydisDecoder decoder;
decltype(&ZydisDecoderDecodeFull) decode_full = nullptr;

}  // namespace

bool open_decoder() {
  if (decode_full) return true;
  void* zydis = dlopen(DIOGENES_ZYDIS, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!zydis) return false;
  auto version = reinterpret_cast<decltype(&ZydisGetVersion)>(dlsym(zydis, "ZydisGetVersion"));
  auto init = reinterpret_cast<decltype(&ZydisDecoderInit)>(dlsym(zydis, "ZydisDecoderInit"));
  auto full = reinterpret_cast<decltype(&ZydisDecoderDecodeFull)>(dlsym(zydis, "ZydisDecoderDecodeFull"));
  constexpr ZyanU64 kMinor = ZYDIS_VERSION & 0xffff'ffff'0000'0000u, kMask = 0xffff'ffff'0000'0000u;
  if (!version || !init || !full || (version() & kMask) != kMinor) return false;
  if (!ZYAN_SUCCESS(init(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) return false;
  decode_full = full;
  return true;
}

bool decode(const uint8_t* code, uint32_t bytes, Decoded& to) {
  return decode_full && ZYAN_SUCCESS(decode_full(&decoder, code, bytes, &to.instruction, to.operands));
}

}  // namespace diogenes::values
