// Which transfers moved what was already there. In: every transfer's content. Out: one HashRecord each.
//
// Suspected: the same content went to the same destination before (size, direction, device). To the device:
// the destination is read back into staging memory before the copy, in the same stream; compared once the
// program's own synchronization covers that. To the host: the destination is hashed before the copy and after
// it. Only a destination that already held the bytes makes a duplicate. Serialised by the collector's lock;
// hashing happens outside of it.
#pragma once
#include "agent/call.h"
#include "agent/necessity/order/order.h"
#include "agent/necessity/transfers/content.h"
#include "base/range.h"

namespace diogenes::agent {

struct TransferKey {
  Content content;
  uint64_t destination = 0, bytes = 0;
  uint32_t device = 0;
  bool to_device = false;
  // For ContentPlaces; no part of what makes two transfers alike here.
  uint64_t context = 0, source = 0;
};

// What a transfer to the device is where its destination still holds the bytes, and where it does not.
struct Suspicion {
  Duplicate held = Duplicate::none, otherwise = Duplicate::none;
  OperationId held_first, first;

  void append(OperationId id, const Content& content, bool still_held) const;
  void append_unverified(OperationId id, const Content& content) const;
};

// What is known of the destination before a copy to the host.
struct Held {
  enum : uint8_t { not_looked, unknown, known } state = not_looked;
  Content content;
};

void append_hash(OperationId id, const Content& content, Duplicate duplicate, OperationId first);
Duplicate judge_to_host(bool seen, const Held& held, const Content& content);

class Duplicates {
 public:
  static constexpr uint64_t kStagingBytes = 64 << 20;

  // The first transfer of this content to there. False: this is it, and is remembered (as long as there is
  // room).
  bool find(const TransferKey& key, OperationId* first) const;
  void remember(const TransferKey& key, OperationId id);
  // Was anything of this size sent there before? Sometimes yes without reason, never no.
  bool destination_seen(const TransferKey& key) const;

  // Staging memory for one destination: 0 is none, else the number of a readback.
  uint32_t reserve(uint64_t bytes);
  unsigned char* staging(uint32_t readback);
  void set_staging(unsigned char* memory) { memory_ = memory; }
  bool has_staging() const { return memory_ != nullptr; }

  // Enqueued in `stream` at `tick`; the transfer it belongs to, or none if that failed.
  void await_readback(uint32_t readback, Slot stream, Tick tick);
  // False: it was covered and taken before that was known.
  bool belongs_to(uint32_t readback, OperationId id, const Content& content, const Suspicion& suspicion);
  void cancel_readback(uint32_t readback);

  // An asynchronous copy to the host: its destination can be hashed once `tick` is covered. `site`: for
  // Ready.
  void await_copy(const TransferKey& key, const Rows& rows, const Held& held, OperationId id, Slot stream,
                  Tick tick, uint64_t site);
  // Its destination is overwritten or released: its content will never be known.
  void forget_copies(AddressRange range);

  struct Ready {
    enum : uint8_t { readback, copy } kind;
    uint32_t number;  // of the readback
    OperationId id, first;
    TransferKey key;
    Rows rows;
    Held held;
    Suspicion suspicion;
    Slot stream;  // copies: as await_copy() was told
    Tick tick;
    uint64_t site;
  };
  bool has_ready(const Clock& certain) const;
  // Takes one that `certain` covers.
  bool take_ready(const Clock& certain, Ready* ready);
  void release(uint32_t readback);
  // What was never verified; at the end.
  bool take_unverified(Ready* ready);
  // The context that owns the staging memory may be gone.
  void forget_staging();
  void reset();

 private:
  static constexpr uint32_t kSeen = 1 << 16;
  static constexpr int kReadbacks = 512;
  static constexpr int kCopies = 1024;
  struct Seen {
    TransferKey key;
    OperationId first;
    bool used;
  };
  struct Readback {
    enum : uint8_t { free, reserved, waiting, taken, done } state;
    bool wanted;
    uint64_t begin, end;  // counted on, never wrapped
    uint64_t bytes;
    Slot stream;
    Tick tick;
    OperationId id;
    Suspicion suspicion;
    Content content;
  };
  struct Copy {
    TransferKey key;
    Rows rows;
    Held held;
    OperationId id;
    Slot stream;
    Tick tick;
    uint64_t site;
  };
  static uint64_t mix(const TransferKey& key, bool with_content);

  Seen seen_[kSeen];
  uint32_t seen_count_;
  uint64_t destinations_[1 << 14];  // a bit a destination
  Readback readbacks_[kReadbacks];
  uint32_t first_readback_, next_readback_;  // counted on; the ring is [first, next)
  int waiting_;
  uint64_t staging_begin_, staging_end_;
  unsigned char* memory_;
  Copy copies_[kCopies];
  int copy_count_;
};

}  // namespace diogenes::agent
