// The device of the adversarial mode: nothing runs before it is demanded (late.h).
#include <algorithm>
#include <unordered_set>

#include "device/clock.h"
#include "device/device.h"
#include "late.h"

namespace diogenes::sim {
namespace {

bool is_done(const OpPtr& op) { return op->done.load(std::memory_order_relaxed); }

}  // namespace

// Newest first: of two that no order ties, the later one runs first, so that whoever relied on the order of
// submission alone is found out.
std::vector<OpPtr> Device::needed_for(const OpPtr* ops, size_t count) {
  std::vector<OpPtr> needed;
  std::unordered_set<const Op*> seen;
  auto add = [&](const OpPtr& op) {
    if (!is_done(op) && seen.insert(op.get()).second) needed.push_back(op);
  };
  for (size_t i = 0; i < count; ++i) add(ops[i]);
  for (size_t i = 0; i < needed.size(); ++i) {
    const OpPtr op = needed[i];
    for (const OpPtr& before : op->after) add(before);
  }
  std::sort(needed.begin(), needed.end(),
            [](const OpPtr& a, const OpPtr& b) { return a->sequence > b->sequence; });
  return needed;
}

// True: it is done.
bool Device::start_late(const OpPtr& op) {
  const int64_t now = now_ns();
  switch (op->work.kind) {
    case Kind::timed:
    case Kind::polled: {
      op->begin_ns = std::max(now, op->ready_ns);
      const Effect result = op->work.effect ? op->work.effect() : Effect::done;
      if (result == Effect::not_yet) return false;
      if (result == Effect::illegal_address) fail(*op, CUDA_ERROR_ILLEGAL_ADDRESS);
      complete(op, now + 1);
      return true;
    }
    case Kind::by_host:
      op->started = true;
      op->running.store(true, std::memory_order_release);
      return false;
    case Kind::callback:
      op->started = true;
      callbacks_.push_back(op);
      start_callbacks();
      return false;
  }
  return false;
}

void Device::demand(const OpPtr* ops, size_t count) {
  std::vector<OpPtr> needed = needed_for(ops, count);
  for (bool progress = true; progress;) {
    progress = false;
    for (const OpPtr& op : needed) {
      if (is_done(op) || op->started || !std::all_of(op->after.begin(), op->after.end(), is_done)) continue;
      if (start_late(op)) {
        progress = true;
        break;  // what it was in front of may be newer
      }
    }
    std::erase_if(needed, is_done);
  }
  open_moved();
}

void Device::demand_all(int64_t submitted_by_ns) {
  std::vector<OpPtr> ops;
  for (const OpPtr& op : late_)
    if (op->submitted_ns <= submitted_by_ns && !is_done(op)) ops.push_back(op);
  if (!ops.empty()) demand(ops.data(), ops.size());
}

void Device::host_ranges(const OpPtr* ops, size_t count, std::vector<HostRange>* ranges) {
  for (const OpPtr& op : needed_for(ops, count))
    ranges->insert(ranges->end(), op->work.host.begin(), op->work.host.end());
}

}  // namespace diogenes::sim
