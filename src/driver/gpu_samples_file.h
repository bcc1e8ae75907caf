// Samples of the GPU's instruction pointers, summed, in a file of its own in a process's folder: written by the plug-in that
// samples (gpu_times/pc_sampling.cc) and by the simulated driver, read by trace/gpu_samples.h. The file is mapped and only
// grows, and sums are counted up in place: whatever kills the process, what was counted is there.
//
// Layout: SamplesHeader, then records of 32 bytes, which begin with their type; type 0 is the end. The text of a name follows
// its record and fills up whole records. Reasons, functions and modules are numbered in the order in which they come, each
// from 1; a sum names those that came before it.
#pragma once
#include <sys/mman.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/mapped_file.h"

namespace diogenes {

inline constexpr const char* kGpuSamplesFile = "gpu-samples";
inline constexpr char kGpuSamplesMagic[9] = "diosmpl2";
inline constexpr const char* kKeptCodeFile = "cubin-%016llx";  // by SampledModule::code
inline constexpr size_t kLongestSampledName = 16 << 10;        // longer ones are cut
inline constexpr uint32_t kMostReasons = 256;

// What did not work.
enum class SamplingStep : uint32_t {
  none,
  library,
  counters_library,
  callbacks,
  enable,
  reasons,
  configure,
  drain
};

// [gpu_times, sim -> trace/gpu_samples] The first step that failed is kept, and counts are of all contexts.
struct SamplesHeader {
  char magic[8];
  uint64_t period_cycles;  // of the GPU's clock; 0: not known
  uint64_t total;          // samples that the driver told of, with those below
  uint64_t dropped;        // by hardware or driver
  uint64_t foreign;        // in modules that are not known
  uint64_t full_buffers;   // drains that found the hardware's buffer full
  uint64_t left_out;       // for which there was no room here
  SamplingStep failed_step;
  int32_t failed_result;  // CUPTI's
  int64_t
      ended_ns;  // CLOCK_MONOTONIC: nothing was sampled from then on, as the program makes too many calls; 0: to its end
  uint64_t reserved[3];
};
static_assert(sizeof(SamplesHeader) == 96);

enum class SampledType : uint32_t { none, reason, function, module, sum, device };

struct SampledName {
  SampledType type;  // reason or function
  uint32_t number;   // of its type
  uint32_t bytes;    // of the text that follows; no zero at the end
  uint32_t reserved[5];
};

enum class WhyNoCode : uint32_t { kept, no_lines, unreadable, no_room, not_written };

struct SampledModule {
  SampledType type;
  WhyNoCode why_none;
  uint64_t code;  // of kKeptCodeFile, a hash of the content; 0: none
  uint64_t reserved[2];
};

struct SampledSum {
  SampledType type;
  uint32_t module, function, reason;  // numbers
  uint64_t offset;                    // bytes from where the function's code starts
  uint64_t samples;
};

// That is sampled. Its place on the bus.
struct SampledDevice {
  SampledType type;
  uint32_t multiprocessors, domain, bus, device;
  uint32_t reserved[3];
};
static_assert(sizeof(SampledName) == 32 && sizeof(SampledModule) == 32 && sizeof(SampledSum) == 32 &&
              sizeof(SampledDevice) == 32);

// One caller at a time. Nothing is allocated but by open(). A number of 0: there was no room.
class SamplesFile {
 public:
  static constexpr size_t kMostBytes = 24 << 20;

  // False: there is no memory for it, or the file cannot be made.
  bool open(const char* folder) {
    if (memory_) return true;
    snprintf(path_, sizeof path_, "%s/%s", folder, kGpuSamplesFile);
    if (!slots_) slots_ = static_cast<uint32_t*>(reserve(kSlots * sizeof *slots_, PROT_READ | PROT_WRITE));
    if (!slots_ || !(memory_ = static_cast<uint8_t*>(reserve(kMostBytes, PROT_NONE)))) return false;
    if (!room_for(1)) {
      munmap(memory_, kMostBytes);
      memory_ = nullptr;
      return false;
    }
    memcpy(header().magic, kGpuSamplesMagic, sizeof header().magic);
    return true;
  }

  // After open().
  SamplesHeader& header() { return *reinterpret_cast<SamplesHeader*>(memory_); }

  uint32_t reason(const char* name) { return named(SampledType::reason, name, reasons_); }
  uint32_t function(const char* name) { return named(SampledType::function, name, functions_); }
  uint32_t module(WhyNoCode why_none, uint64_t code) {
    return add(SampledModule{SampledType::module, why_none, code, {}}, nullptr, 0) ? ++modules_ : 0;
  }
  uint32_t modules() const { return modules_; }
  void device(const SampledDevice& device) {
    uint32_t& slot = slot_of(XXH3_64bits(&device, sizeof device), [&](const uint8_t* record) {
      return memcmp(record, &device, sizeof device) == 0;
    });
    if (slot == 0) slot = add(device, nullptr, 0);
  }

  // `key.samples` more.
  void count(const SampledSum& key) {
    constexpr size_t kKeyBytes = offsetof(SampledSum, samples);
    uint32_t& slot = slot_of(XXH3_64bits(&key, kKeyBytes),
                             [&](const uint8_t* record) { return memcmp(record, &key, kKeyBytes) == 0; });
    if (slot != 0)
      reinterpret_cast<SampledSum*>(memory_ + size_t{slot} * kRecord)->samples += key.samples;
    else if ((slot = add(key, nullptr, 0)) == 0)
      header().left_out += key.samples;
  }

 private:
  static constexpr size_t kRecord = 32, kPart = 512 << 10, kSlots = 1 << 20;
  static_assert(kMostBytes / kRecord < kSlots && kMostBytes % kPart == 0);

  static void* reserve(size_t bytes, int access) {
    void* memory = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }

  bool room_for(size_t bytes) {
    while (used_ + bytes > mapped_) {
      if (full_ || mapped_ == kMostBytes ||
          !map_part_of_file(path_, O_CREAT, mapped_, kPart, memory_ + mapped_))
        return full_ = true, false;
      mapped_ += kPart;
    }
    return true;
  }

  // Of the record that is the same, or 0 where it belongs. Slots never run out: there are more than records.
  template <typename Same>
  uint32_t& slot_of(uint64_t hash, const Same& same) {
    size_t at = hash % kSlots;
    while (slots_[at] != 0 && !same(memory_ + size_t{slots_[at]} * kRecord)) at = (at + 1) % kSlots;
    return slots_[at];
  }

  // Its place, in records; 0: there is no room.
  template <typename Record>
  uint32_t add(const Record& record, const char* text, size_t text_bytes) {
    const size_t bytes = sizeof record + (text_bytes + kRecord - 1) / kRecord * kRecord;
    if (!room_for(bytes)) return 0;
    uint8_t* place = memory_ + used_;
    constexpr size_t kType = sizeof record.type;
    memcpy(place + kType, reinterpret_cast<const uint8_t*>(&record) + kType, sizeof record - kType);
    if (text_bytes > 0) memcpy(place + sizeof record, text, text_bytes);
    // release: the rest is there before, wherever the process is killed.
    __atomic_store_n(reinterpret_cast<uint32_t*>(place), static_cast<uint32_t>(record.type),
                     __ATOMIC_RELEASE);
    used_ += bytes;
    return static_cast<uint32_t>((used_ - bytes) / kRecord);
  }

  uint32_t named(SampledType type, const char* name, uint32_t& count) {
    const auto bytes = static_cast<uint32_t>(strnlen(name, kLongestSampledName));
    uint32_t& slot =
        slot_of(XXH3_64bits_withSeed(name, bytes, static_cast<uint64_t>(type)), [&](const uint8_t* record) {
          const auto& known = *reinterpret_cast<const SampledName*>(record);
          return known.type == type && known.bytes == bytes &&
                 memcmp(record + sizeof known, name, bytes) == 0;
        });
    if (slot == 0) {
      const uint32_t place = add(SampledName{type, count + 1, bytes, {}}, name, bytes);
      if (place == 0) return 0;
      ++count;
      slot = place;
    }
    return reinterpret_cast<const SampledName*>(memory_ + size_t{slot} * kRecord)->number;
  }

  char path_[600] = {};
  uint8_t* memory_ = nullptr;
  uint32_t* slots_ = nullptr;  // places of names and sums
  size_t mapped_ = 0, used_ = sizeof(SamplesHeader);
  uint32_t reasons_ = 0, functions_ = 0, modules_ = 0;
  bool full_ = false;
};

}  // namespace diogenes
