#include "kernels.h"

#include <algorithm>
#include <cstring>

#include "costs.h"
#include "late/late.h"
#include "memory/memory_map.h"
#include "prints.h"

namespace diogenes::sim {
namespace {

template <typename T>
T read(const char* parameters, size_t offset) {
  T value;
  memcpy(&value, parameters + offset, sizeof value);
  return value;
}

Effect checked(bool possible) { return possible ? Effect::done : Effect::illegal_address; }

// `memories`: how many times `words` are read or written.
Work lasting(uint64_t ns, uint64_t words, unsigned memories = 1) {
  Work work;
  work.duration_ns = static_cast<int64_t>(
      std::max<uint64_t>({static_cast<uint64_t>(kShortestKernel), std::min<uint64_t>(ns, INT64_MAX / 4),
                          static_cast<uint64_t>(device_copy_ns(words * 4))}));
  work.bytes = words * 4 * memories;
  return work;
}

// What the program may look at, too.
void reaches(Work* work, uint64_t begin, uint64_t words, bool written) {
  if (!late_mode) return;
  const auto found = memory_map().find(begin);
  if (found && found->kind != MemoryKind::device) work->host.push_back({begin, begin + words * 4, written});
}

Work spin_until(const char* parameters) {
  Work work;
  work.kind = Kind::polled;
  work.effect = [flag = read<uint64_t>(parameters, 0)] {
    uint32_t word;
    if (!memory_map().read(&word, flag, sizeof word)) return Effect::illegal_address;
    return word != 0 ? Effect::done : Effect::not_yet;
  };
  return work;
}

Work busy_for(const char* parameters) { return lasting(read<uint64_t>(parameters, 0), 0); }

Work fill(const char* parameters) {
  const auto dst = read<uint64_t>(parameters, 0), words = read<uint64_t>(parameters, 16);
  const auto value = read<uint32_t>(parameters, 8);
  Work work = lasting(read<uint64_t>(parameters, 24), words);
  work.effect = [=] { return checked(words == 0 || memory_map().fill(dst, value, 4, words)); };
  reaches(&work, dst, words, true);
  return work;
}

Work copy(const char* parameters) {
  const auto dst = read<uint64_t>(parameters, 0), src = read<uint64_t>(parameters, 8);
  const auto words = read<uint64_t>(parameters, 16);
  Work work = lasting(read<uint64_t>(parameters, 24), words, 2);
  work.effect = [=] { return checked(words == 0 || memory_map().copy(dst, src, words * 4)); };
  reaches(&work, dst, words, true);
  reaches(&work, src, words, false);
  return work;
}

Work copy_as_told(const char* parameters) {
  const auto told = read<uint64_t>(parameters, 0), words = read<uint64_t>(parameters, 8);
  Work work = lasting(read<uint64_t>(parameters, 16), words);
  work.effect = [=] {
    uint64_t sides[2];
    return checked(memory_map().read(sides, told, sizeof sides) &&
                   (words == 0 || memory_map().copy(sides[0], sides[1], words * 4)));
  };
  // A program that has its waits moved says so before the launch.
  uint64_t sides[2];
  reaches(&work, told, 4, false);
  if (memory_map().read(sides, told, sizeof sides)) {
    reaches(&work, sides[0], words, true);
    reaches(&work, sides[1], words, false);
  }
  return work;
}

bool add_words(uint64_t dst, uint64_t a, uint64_t b, uint64_t words) {
  constexpr size_t kPiece = 4096;
  float x[kPiece], y[kPiece];
  for (uint64_t at = 0; at < words; at += kPiece) {
    const size_t count = std::min<uint64_t>(kPiece, words - at);
    if (!memory_map().read(x, a + at * 4, count * 4) || !memory_map().read(y, b + at * 4, count * 4))
      return false;
    for (size_t i = 0; i < count; ++i) x[i] += y[i];
    if (!memory_map().write(dst + at * 4, x, count * 4)) return false;
  }
  return true;
}

Work add(const char* parameters) {
  const auto dst = read<uint64_t>(parameters, 0), a = read<uint64_t>(parameters, 8),
             b = read<uint64_t>(parameters, 16);
  const auto words = read<uint64_t>(parameters, 24);
  Work work = lasting(read<uint64_t>(parameters, 32), words, 3);
  work.effect = [=] { return checked(add_words(dst, a, b, words)); };
  reaches(&work, dst, words, true);
  reaches(&work, a, words, false);
  reaches(&work, b, words, false);
  return work;
}

// Of a program's own module: printf in it would make every module that has it slower on a real device.
Work say(const char* parameters) {
  Work work = lasting(0, 0);
  work.effect = [number = read<uint64_t>(parameters, 0)] {
    print_later(number);
    return Effect::done;
  };
  return work;
}

}  // namespace

const Kernel* find_kernel(const PtxEntry& entry) {
  static const auto* kernels = new std::vector<Kernel>{
      {"spin_until", {{0, 8}}, spin_until},
      {"busy_for", {{0, 8}}, busy_for},
      {"fill", {{0, 8}, {8, 4}, {16, 8}, {24, 8}}, fill},
      {"copy", {{0, 8}, {8, 8}, {16, 8}, {24, 8}}, copy},
      {"copy_as_told", {{0, 8}, {8, 8}, {16, 8}}, copy_as_told},
      {"add", {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}}, add},
      {"say", {{0, 8}}, say},
  };
  for (const Kernel& kernel : *kernels) {
    const bool same = std::equal(kernel.parameters.begin(), kernel.parameters.end(), entry.parameters.begin(),
                                 entry.parameters.end(), [](const PtxParameter& a, const PtxParameter& b) {
                                   return a.offset == b.offset && a.bytes == b.bytes;
                                 });
    if (kernel.name == entry.name && same) return &kernel;
  }
  return nullptr;
}

}  // namespace diogenes::sim
