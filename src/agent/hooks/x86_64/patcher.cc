#include "agent/hooks/x86_64/patcher.h"

#include <sys/mman.h>

#include <array>
#include <cstring>

#include "agent/hooks/x86_64/near_memory.h"
#include "agent/hooks/x86_64/thunk.h"

namespace diogenes::agent {

namespace {

// A stub: mov r11, imm64 (hook); jmp [rip] (thunk); then the moved instructions and the jump back.
constexpr size_t kStubBytes = 192;
static_assert(10 + 14 + sizeof(HookSite::moved) + 14 <= kStubBytes);
constinit Hook hooks[kMaximumHooks] = {};  // filled by a constructor, before others may run

class CodeWriter {
 public:
  explicit CodeWriter(uint8_t* at) : at_(at) {}
  uint8_t* at() const { return at_; }
  void bytes(const void* data, size_t count) {
    memcpy(at_, data, count);
    at_ += count;
  }
  void load_r11(const void* value) {
    bytes("\x49\xbb", 2);
    bytes(&value, 8);
  }
  void jump_to(uintptr_t target) {  // jmp [rip + 0]; the address follows
    bytes("\xff\x25\0\0\0\0", 6);
    bytes(&target, 8);
  }

 private:
  uint8_t* at_;
};

bool write_stub(const HookSite& site, Hook& hook, uint8_t* stub, uintptr_t base) {
  CodeWriter code(stub);
  code.load_r11(&hook);
  code.jump_to(reinterpret_cast<uintptr_t>(&diogenes_thunk));
  uint8_t* moved = code.at();
  code.bytes(site.moved, site.moved_length);
  for (int i = 0; i < site.fixup_count; ++i) {
    const HookFixup& fixup = site.fixups[i];
    if (fixup.at + 4u > site.moved_length) return false;
    int64_t displacement = static_cast<int64_t>(base + fixup.target) -
                           static_cast<int64_t>(reinterpret_cast<uintptr_t>(moved) + fixup.at + 4) -
                           fixup.trailing;
    auto narrow = static_cast<int32_t>(displacement);
    if (narrow != displacement) return false;
    memcpy(moved + fixup.at, &narrow, 4);
  }
  if (!site.returns) code.jump_to(base + site.entry + site.displaced);
  hook.original = moved;
  hook.function = site.function;
  return true;
}

bool well_formed(const HookSite& site, AddressRange code, uintptr_t base) {
  return site.displaced >= 5 && site.displaced <= sizeof site.expected &&
         site.moved_length <= sizeof site.moved && site.fixup_count <= 6 &&
         code.contains(AddressRange::of(base + site.entry, site.displaced));
}

using Jump = std::array<uint8_t, 5>;

// Both are near each other.
Jump jump(uintptr_t from, uintptr_t to) {
  const auto displacement = static_cast<int32_t>(static_cast<int64_t>(to) - static_cast<int64_t>(from + 5));
  Jump bytes{0xe9};
  memcpy(&bytes[1], &displacement, 4);
  return bytes;
}

size_t round_to_pages(size_t bytes) { return (bytes + kPageSize - 1) & ~(kPageSize - 1); }

}  // namespace

void install_hooks(const HookSite* sites, uint32_t count, uintptr_t base, AddressRange code,
                   bool (*always)(uint16_t function), CallCount* calls, uint8_t* states) {
  if (count > kMaximumHooks) count = kMaximumHooks;
  size_t bytes = round_to_pages(count * kStubBytes);
  uint8_t* stubs = count ? allocate_near(code, bytes) : nullptr;
  auto state_of = [states](uint32_t i, HookState state) { states[i] = static_cast<uint8_t>(state); };
  if (!stubs) {
    for (uint32_t i = 0; i < count; ++i) state_of(i, HookState::no_memory_near);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const HookSite& site = sites[i];
    hooks[i].always = always(site.function);
    if (calls && site.function < kMostCounted) hooks[i].calls = &calls[site.function];
    bool usable = well_formed(site, code, base) &&
                  memcmp(reinterpret_cast<void*>(base + site.entry), site.expected, site.displaced) == 0;
    if (!usable)
      state_of(i, HookState::bytes_differ);
    else if (!write_stub(site, hooks[i], stubs + i * kStubBytes, base))
      state_of(i, HookState::no_memory_near);
    else
      state_of(i, HookState::installed);
  }
  bool executable = make_executable(stubs, bytes);
  // One change of protection for all of the driver's code, not one a hook.
  auto* pages = reinterpret_cast<void*>(code.pages().begin);
  AddressRange kept[32];  // writable before: they stay so
  int kept_count = writable_parts(code.pages(), kept, 32);
  bool writable = executable && mprotect(pages, code.pages().size(), PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (states[i] != static_cast<uint8_t>(HookState::installed)) continue;
    if (!writable) {
      state_of(i, HookState::protected_);
      continue;
    }
    const uintptr_t entry = base + sites[i].entry;
    const Jump to_stub = jump(entry, reinterpret_cast<uintptr_t>(stubs + i * kStubBytes));
    store_code(entry, to_stub.data(), to_stub.size());
  }
  if (!writable) return;
  uintptr_t begin = code.pages().begin;
  for (int i = 0; i <= kept_count; ++i) {
    uintptr_t end = i < kept_count ? kept[i].begin : code.pages().end;
    if (begin < end) mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_EXEC);
    if (i < kept_count) begin = kept[i].end;
  }
}

void count_no_calls() {
  for (Hook& hook : hooks) hook.calls = nullptr;
}

bool hook_empty_function(uintptr_t function, AddressRange code, void (*target)()) {
  auto* bytes = reinterpret_cast<const uint8_t*>(function);
  if (function % 16 != 0 || !code.contains(AddressRange::of(function, 16))) return false;
  size_t length = memcmp(bytes, "\xf3\x0f\x1e\xfa\xc3", 5) == 0 ? 5 : bytes[0] == 0xc3 ? 1 : 0;
  if (length == 0) return false;
  // What follows a one-byte function up to the next multiple of 16 must be padding: multi-byte nops or int3.
  for (size_t i = length; i < 5; ++i)
    if (!memchr("\x66\x2e\x0f\x1f\x84\x00\x40\x44\x80\x90\xcc", bytes[i], 11)) return false;
  uint8_t* stub = allocate_near(code, kPageSize);
  if (!stub) return false;
  CodeWriter writer(stub);
  writer.jump_to(reinterpret_cast<uintptr_t>(target));
  const Jump to_stub = jump(function, reinterpret_cast<uintptr_t>(stub));
  return make_executable(stub, kPageSize) && overwrite_code(function, to_stub.data(), to_stub.size());
}

}  // namespace diogenes::agent
