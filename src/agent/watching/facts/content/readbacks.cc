#include "agent/watching/facts/content/readbacks.h"

#include <atomic>
#include <cstring>

#include "agent/core/calls/driver_calls.h"
#include "agent/core/lock.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/thread_state.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

namespace {

constexpr uint64_t kStagingBytes = 64 << 20;
constexpr uint32_t kThere = 1 << 16;
constexpr uint64_t kForADriverCall = 32 << 10;  // of the thread's stack
constexpr uint32_t kReadbacks = 256, kDownloads = 512;

// What a place of the device held once.
struct There {
  Content content;
  uint64_t device, bytes;
  bool used;
};

struct Readback {
  enum : uint8_t { unused, enqueued, named, taken } state;
  uint32_t stream;
  uint16_t context;
  unsigned char* at;  // in the staging memory
  uint64_t bytes;
  Content content;  // what the program's copy brings
  OperationId id;
};

struct Download {
  bool used;
  uint32_t stream;
  uint16_t context;
  Rows rows;
  uint64_t source;
  Content held;
  OperationId id;
};

constinit Lock lock;
constinit There there[kThere] = {};  // zero pages, touched as used
uint32_t there_count = 0;
std::atomic<uint32_t> fetched[1 << 14];  // by destination
constinit Readback readbacks[kReadbacks] = {};
uint32_t readback_count = 0;  // in use
uint64_t staging_used = 0;    // taken again from the start when no readback is in use
constinit Download downloads[kDownloads] = {};
uint32_t download_count = 0;
unsigned char* staging = nullptr;
uint16_t staging_context = 0;  // it goes with this one
uint32_t stagings_lost = 0;
constexpr uint32_t kMostStagings = 4;
bool staging_failed = false;

uint64_t mix(uint64_t content, uint64_t address, uint64_t bytes) {
  return (content ^ address * 0x9e3779b97f4a7c15 ^ bytes) * 0xff51afd7ed558ccd >> 40;
}

std::atomic<uint32_t>& fetched_at(const TransferArguments& copy) {
  return fetched[mix(0, copy.destination, copy.bytes()) % std::size(fetched)];
}

// Made at the first suspicion: most programs never need it. Under no lock.
bool have_staging() {
  {
    LockGuard guard(lock);
    if (staging || staging_failed) return staging != nullptr;
    staging_failed = true;  // until it is there: one thread makes it
  }
  void* memory = nullptr;
  PassThrough pass;
  if (!driver_calls.mem_host_alloc ||
      driver_calls.mem_host_alloc(&memory, kStagingBytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
    return false;
  LockGuard guard(lock);
  staging = static_cast<unsigned char*>(memory);
  staging_context = thread_state.context.number;
  staging_failed = false;
  return true;
}

void release(Readback& readback) {
  readback.state = Readback::unused;
  if (--readback_count == 0) staging_used = 0;
}

// Does a wait in this call cover what was given to that stream before?
bool covers(const Call& call, const DecodedCall& decoded, uint32_t stream, uint16_t context) {
  if (decoded.context != context || context == 0) return false;
  if (call.driver->stream_of == StreamOf::context) return call.driver->role == Role::synchronize;
  return decoded.names_stream && call.stream == stream && stream != kPerThreadStream;
}

}  // namespace

void append_content(OperationId id, const Content& content, Held held) {
  HashRecord record{};
  record.type = RecordType::hash;
  record.held = held;
  record.thread = id.thread;
  record.sequence = id.sequence;
  record.hash[0] = content.low;
  record.hash[1] = content.high;
  record.pattern = content.pattern.value;
  record.pattern_bytes = content.pattern.bytes;
  append(record);
}

Held compare(const Content& held, const Content& content) {
  if (held == Content{}) return Held::unknown;
  return held == content ? Held::same : Held::other;
}

bool was_there_before(const Content& content, uint64_t device, uint64_t bytes) {
  LockGuard guard(lock);
  for (uint64_t at = mix(content.low, device, bytes) % kThere; there[at].used; at = (at + 1) % kThere)
    if (there[at].content == content && there[at].device == device && there[at].bytes == bytes) return true;
  return false;
}

void remember_there(const Content& content, uint64_t device, uint64_t bytes) {
  LockGuard guard(lock);
  if (there_count >= kThere / 4 * 3) return;  // full: what comes is not found again
  uint64_t at = mix(content.low, device, bytes) % kThere;
  for (; there[at].used; at = (at + 1) % kThere)
    if (there[at].content == content && there[at].device == device && there[at].bytes == bytes) return;
  there[at] = {content, device, bytes, true};
  ++there_count;
}

uint32_t last_fetched(const TransferArguments& copy) { return fetched_at(copy).load(); }

void note_fetched(const TransferArguments& copy) { fetched_at(copy).store(state().launches + 1); }

uint32_t read_back(const Call& call, const DecodedCall& decoded, const Content& content) {
  const TransferArguments& copy = decoded.transfer;
  bool contiguous = copy.height <= 1 || copy.destination_pitch == copy.width;
  uint64_t handle = 0;
  bool per_thread = false;
  if (!contiguous || copy.bytes() > kStagingBytes || state().captures > 0 || decoded.context == 0 ||
      !read_stream(call, &handle, &per_thread) || per_thread || !driver_calls.memcpy_dtoh_async)
    return 0;
  // The driver takes some 18 KiB below us, where the program's own call may just have had room.
  if (stack_left() < kForADriverCall) {
    count_drop(Drop::verification_full);
    return 0;
  }
  if (!have_staging()) return 0;
  uint32_t number = 0;
  unsigned char* at = nullptr;
  {
    LockGuard guard(lock);
    uint64_t bytes = (copy.bytes() + 63) & ~63ull;
    if (!staging || staging_used + bytes > kStagingBytes) {
      count_drop(Drop::verification_full);
      return 0;
    }
    for (uint32_t i = 0; i < kReadbacks && number == 0; ++i)
      if (readbacks[i].state == Readback::unused) number = i + 1;
    if (number == 0) {
      count_drop(Drop::verification_full);
      return 0;
    }
    at = staging + staging_used;
    staging_used += bytes;
    ++readback_count;
    readbacks[number - 1] = {Readback::enqueued, call.stream, decoded.context, at, copy.bytes(), content, {}};
  }
  CUresult result;
  {
    PassThrough pass;
    result = driver_calls.memcpy_dtoh_async(at, copy.destination, copy.bytes(),
                                            reinterpret_cast<CUstream>(handle));
  }
  if (result == CUDA_SUCCESS) return number;
  cancel_readback(number);
  return 0;
}

void name_readback(uint32_t readback, OperationId id) {
  LockGuard guard(lock);
  readbacks[readback - 1].id = id;
  readbacks[readback - 1].state = Readback::named;
}

void cancel_readback(uint32_t readback) {
  LockGuard guard(lock);
  release(readbacks[readback - 1]);
}

void await_download(const Call& call, const DecodedCall& decoded, const Content& held) {
  const TransferArguments& copy = decoded.transfer;
  LockGuard guard(lock);
  for (Download& download : downloads) {
    if (download.used) continue;
    download = {true,
                call.stream,
                decoded.context,
                {copy.destination, copy.width, copy.height, copy.destination_pitch},
                copy.source,
                held,
                call.id};
    ++download_count;
    return;
  }
}

void forget_downloads(AddressRange range) {
  if (download_count == 0) return;
  LockGuard guard(lock);
  for (Download& download : downloads)
    if (download.used && download.rows.span().overlaps(range)) download.used = false, --download_count;
}

// Slots are looked at without the lock first: what other threads put there meanwhile, this call does not
// cover.
void look_at_covered(const Call& call, const DecodedCall& decoded) {
  for (uint32_t i = 0; download_count > 0 && i < kDownloads; ++i) {
    if (!__atomic_load_n(&downloads[i].used, __ATOMIC_RELAXED)) continue;
    Download download;
    {
      LockGuard guard(lock);
      if (!downloads[i].used || !covers(call, decoded, downloads[i].stream, downloads[i].context)) continue;
      download = downloads[i];
      downloads[i].used = false;
      --download_count;
    }
    Content content;
    if (!content_if_there(download.rows, &content, nullptr, nullptr, copy_watched_if_there)) continue;
    remember_there(content, download.source, download.rows.bytes());
    append_content(download.id, content, compare(download.held, content));
  }
  for (uint32_t i = 0; readback_count > 0 && i < kReadbacks; ++i) {
    Readback& readback = readbacks[i];
    if (__atomic_load_n(&readback.state, __ATOMIC_RELAXED) != Readback::named) continue;
    {
      LockGuard guard(lock);
      if (readback.state != Readback::named || !covers(call, decoded, readback.stream, readback.context))
        continue;
      readback.state = Readback::taken;
    }
    const Content held = content_of(readback.at, readback.bytes);
    append_content(readback.id, readback.content, compare(held, readback.content));
    LockGuard guard(lock);
    release(readback);
  }
}

void give_up_readbacks() {
  for (Readback& readback : readbacks) {
    {
      LockGuard guard(lock);
      if (readback.state != Readback::named) continue;
      readback.state = Readback::taken;
    }
    append_content(readback.id, readback.content, Held::unknown);
    LockGuard guard(lock);
    release(readback);
  }
}

void end_readbacks_in(uint16_t context) {
  give_up_readbacks();
  LockGuard guard(lock);
  if (!staging || (context != 0 && context != staging_context)) return;
  staging = nullptr;  // not freed: where the context lives on after all, copies may still come there
  if (++stagings_lost == kMostStagings) staging_failed = true;
}

void forget_readbacks() {
  for (There& one : there) one.used = false;
  for (std::atomic<uint32_t>& number : fetched) number = 0;
  for (Readback& one : readbacks) one.state = Readback::unused;
  for (Download& one : downloads) one.used = false;
  there_count = readback_count = download_count = 0;
  staging_used = 0;
  staging = nullptr;
  stagings_lost = 0;
  staging_failed = false;
}

}  // namespace diogenes::agent::facts
