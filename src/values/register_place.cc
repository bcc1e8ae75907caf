#include "values/register_place.h"

namespace diogenes::values {

Place place_of(ZydisRegister name) {
  auto within = [name](ZydisRegister first, ZydisRegister last) { return name >= first && name <= last; };
  auto number = [name](ZydisRegister first) { return static_cast<uint8_t>(name - first); };
  if (within(ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R15))
    return {Place::general, number(ZYDIS_REGISTER_RAX), 0, 8};
  if (within(ZYDIS_REGISTER_EAX, ZYDIS_REGISTER_R15D))
    return {Place::general, number(ZYDIS_REGISTER_EAX), 0, 4};
  if (within(ZYDIS_REGISTER_AX, ZYDIS_REGISTER_R15W))
    return {Place::general, number(ZYDIS_REGISTER_AX), 0, 2};
  if (within(ZYDIS_REGISTER_AL, ZYDIS_REGISTER_BL)) return {Place::general, number(ZYDIS_REGISTER_AL), 0, 1};
  if (within(ZYDIS_REGISTER_AH, ZYDIS_REGISTER_BH)) return {Place::general, number(ZYDIS_REGISTER_AH), 1, 1};
  if (within(ZYDIS_REGISTER_SPL, ZYDIS_REGISTER_R15B))
    return {Place::general, static_cast<uint8_t>(number(ZYDIS_REGISTER_SPL) + 4), 0, 1};
  if (within(ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_XMM31))
    return {Place::vector, number(ZYDIS_REGISTER_XMM0), 0, 16};
  if (within(ZYDIS_REGISTER_YMM0, ZYDIS_REGISTER_YMM31))
    return {Place::vector, number(ZYDIS_REGISTER_YMM0), 0, 32};
  if (within(ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_ZMM31))
    return {Place::vector, number(ZYDIS_REGISTER_ZMM0), 0, 64};
  if (within(ZYDIS_REGISTER_K0, ZYDIS_REGISTER_K7)) return {Place::opmask, number(ZYDIS_REGISTER_K0), 0, 8};
  if (within(ZYDIS_REGISTER_ST0, ZYDIS_REGISTER_ST7) || within(ZYDIS_REGISTER_MM0, ZYDIS_REGISTER_MM7) ||
      name == ZYDIS_REGISTER_X87STATUS)
    return {Place::x87, 0, 0, 8};
  return {};
}

int general_number(ZydisRegister name) {
  const Place place = place_of(name);
  return place.kind == Place::general ? place.number : -1;
}

uint64_t general_register(const mcontext_t& context, int number) {
  static constexpr int kInContext[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                         REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                         REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uint64_t>(context.gregs[kInContext[number & 15]]);
}

}  // namespace diogenes::values
