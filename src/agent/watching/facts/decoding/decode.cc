#include "agent/watching/facts/decoding/decode.h"

#include "agent/core/calls/driver_calls.h"
#include "agent/core/calls/stream_numbers.h"
#include "agent/core/memory/copy.h"
#include "agent/core/pass_through.h"
#include "agent/watching/facts/content/found_addresses.h"
#include "agent/watching/facts/context_numbers.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/decoding/kernel_operands.h"
#include "agent/watching/facts/decoding/transfer_operands.h"
#include "agent/watching/facts/facts_state.h"
#include "driver/cuda_types.h"
#include "driver/launch_attributes.h"

namespace diogenes::agent::facts {

bool is_idle(const Call& call) { return call.driver->role == Role::initialize; }

bool gives_work(const Call& call) { return diogenes::gives_work(*call.driver); }

namespace {

constexpr uint32_t kAnything = kAnyDevice | kAnyHost | kAnyPageable;

void decode_transfer(const Call& call, bool may_ask, DecodedCall& decoded) {
  TransferArguments& transfer = decoded.transfer;
  decoded.is_transfer = true;
  if (!read_transfer(call, &transfer)) transfer.decoded = false;
  Direction by_name = call.driver->direction;
  if (!transfer.decoded) {
    decoded.operands.flags |= by_name == Direction::device_to_device ? uint32_t{kAnyDevice} : kAnything;
    return;
  }
  if (transfer.bytes() == 0) return;
  auto said = [by_name](Direction one, Direction other) {
    return by_name == Direction::unknown        ? Said::nothing
           : by_name == one || by_name == other ? Said::host
                                                : Said::device;
  };
  Said to = said(Direction::device_to_host, Direction::host_to_host);
  Said from = said(Direction::host_to_device, Direction::host_to_host);
  if (transfer.fill) to = Said::device;
  bool whole = transfer.height <= 1 || transfer.destination_pitch == transfer.width;
  decoded.destination = transfer_operand(transfer.destination, transfer.destination_span(), to, true, may_ask,
                                         decoded.page_tables);
  add_transfer_operand(decoded.destination, true, whole, decoded);
  if (transfer.fill) return;
  decoded.source =
      transfer_operand(transfer.source, transfer.source_span(), from, false, may_ask, decoded.page_tables);
  add_transfer_operand(decoded.source, false, false, decoded);
}

void decode_value(const Call& call, DecodedCall& decoded) {
  uint64_t bytes = call.driver->has(Trait::value_of_8) ? 8 : 4;
  bool writes = call.driver->has(Trait::writes_value);
  if (call.driver->has(Trait::waits_for_value)) decoded.operands.flags |= kWaitsForHost;
  TransferOperand operand =
      transfer_operand(call.argument(1), bytes, Said::nothing, writes, false, decoded.page_tables);
  if (operand.kind == MemoryKind::unknown) {
    decoded.operands.flags |= kAnything;
    return;
  }
  if (writes && bytes == 8) look_at_word(call.argument(1), call.argument(2));
  add_transfer_operand(operand, writes, writes, decoded);
}

void decode_attributes(const Call& call, DecodedCall& decoded) {
  const LaunchAttributes attributes = launch_attributes(call.pointer<const void*>(0), copy_if_there);
  if (attributes.starts_early) decoded.operands.flags |= kStartsEarly;
  if (attributes.records_event) decoded.flags |= kRecordsUnknown;
}

void decode_work(const Call& call, bool may_ask, DecodedCall& decoded) {
  switch (call.driver->role) {
    case Role::launch:  // its parameters are read when the driver has (decode_launched)
      if (call.driver->arguments == Arguments::launch_list) {
        decoded.flags |= kUnlistedWork;
        decoded.operands.flags |= kAnything | kHasKernel;
      }
      if (call.driver->arguments == Arguments::launch_ex) decode_attributes(call, decoded);
      return;
    case Role::graph_launch:
      decode_graph_launch(call, decoded);
      return;
    case Role::transfer:
    case Role::fill:
      decode_transfer(call, may_ask, decoded);
      return;
    case Role::host_function:
      decoded.operands.flags |= kAnything | kRunsOnHost;
      return;
    case Role::stream_wait:
      if (call.driver->has(Trait::writes_value) || call.driver->has(Trait::waits_for_value))
        decode_value(call, decoded);
      else if (call.driver->has(Trait::batch_of_values) || call.driver->has(Trait::semaphores))
        decoded.operands.flags |= kAnything | kWaitsForHost;
      return;
    case Role::release: {
      LockGuard guard(state().lock);
      if (const Allocation* allocation = state().memory.find(call.argument(0)))
        decoded.operands.add(allocation->range, allocation->kind, kWrites | kWhole);
      else
        decoded.operands.flags |= kAnyDevice;
      return;
    }
    case Role::allocate:  // by its result
    case Role::prefetch:  // moves memory, and changes none
      return;
    default:
      decoded.operands.flags |=
          call.driver->has(Trait::foreign_memory) ? kAnything : uint32_t{kAnyDevice | kAnyHost};
  }
}

void note_sharing(const Call& call, DecodedCall& decoded) {
  if (call.driver->has(Trait::shares)) decoded.flags |= kSharesMemory;
  if (call.driver->has(Trait::hides_records)) decoded.flags |= kRecordsUnknown;
  if (call.driver->has(Trait::record_flags) && (call.argument(2) & CU_EVENT_RECORD_EXTERNAL))
    decoded.flags |= kExternalEvent;
  if (!call.driver->has(Trait::unlisted_memory)) return;
  LockGuard guard(state().lock);
  state().unlisted_memory = true;
}

}  // namespace

void decode(const Call& call, DecodedCall& decoded) {
  decoded.clear();
  bool may_ask = state().captures.load(std::memory_order_relaxed) == 0;
  name_context_and_stream(call, may_ask, decoded);
  note_sharing(call, decoded);
  if (call.driver->arguments == Arguments::elapsed_time)
    decoded.second_event = number_of_event(call.argument(2));
  if (call.driver->role == Role::synchronize && call.driver->arguments == Arguments::context)
    decoded.argument = number_of_context(call.argument(0));
  if (call.driver->arguments == Arguments::release || call.driver->arguments == Arguments::unregister_host ||
      call.driver->arguments == Arguments::register_host)
    decoded.argument = call.argument(0);
  if (gives_work(call)) {
    decoded.flags |= kGivesWork;
    decode_work(call, may_ask, decoded);
  }
}

void decode_launched(const Call& call, DecodedCall& decoded) {
  if (call.driver->role != Role::launch || call.driver->arguments == Arguments::launch_list) return;
  state().kernels.scan(call, known_memory(), state().captures.load(std::memory_order_relaxed) == 0,
                       decoded.kernel_addresses);
  add_kernel_operands(decoded);
}

}  // namespace diogenes::agent::facts
