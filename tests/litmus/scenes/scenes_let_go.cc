// Scenes with work that is given before the wait and let go by the CPU behind it; and with calls that wait
// for nothing, or fail without a wait.
#include <functional>
#include <thread>

#include "hand_over.h"
#include "shared.h"

namespace scenes {
namespace {

using Action = std::function<void()>;

void set_flag() { *shared->flag = 1; }
void poll() { shared->spin(shared->second); }
void wait_for_value() {
  CHECK(cuStreamWaitValue32(shared->second, shared->flag_address(), 1, CU_STREAM_WAIT_VALUE_GEQ));
}

// The first stream writes, the second copies behind `gate`; then the tested wait, and the gate opens.
uint64_t play_gate(uint32_t value, const Action& gate, const Action& wait, const Action& let_go,
                   bool elsewhere = false) {
  Shared& s = *shared;
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  gate();
  s.gpu.copy(s.result, elsewhere ? s.other : s.device, kWords, 10, s.second);
  wait();
  let_go();
  CHECK(cuStreamSynchronize(s.second));
  finish();
  return device_sum(s.result, kWords);
}

}  // namespace

uint64_t let_go_spin(uint32_t value) {
  return play_gate(
      value, poll, [] { TESTED(let_go_spin, cuStreamSynchronize, shared->first); }, set_flag);
}

uint64_t let_go_spin_download(uint32_t value) {
  Shared& s = *shared;
  Pinned pinned;
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  s.spin(s.second);
  CHECK(cuMemcpyDtoHAsync(pinned.words, s.device, kBytes, s.second));
  TESTED(let_go_spin_download, cuStreamSynchronize, s.first);
  set_flag();
  CHECK(cuStreamSynchronize(s.second));
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}

uint64_t let_go_spin_upload(uint32_t value) {
  Shared& s = *shared;
  Pinned pinned;
  download(pinned.words, value, s.first);
  s.spin(s.second);
  CHECK(cuMemcpyHtoDAsync(s.result, pinned.words, kBytes, s.second));
  TESTED(let_go_spin_upload, cuStreamSynchronize, s.first);
  set_flag();
  finish();
  return device_sum(s.result, kWords);
}

uint64_t let_go_value32(uint32_t value) {
  return play_gate(
      value, wait_for_value, [] { TESTED(let_go_value32, cuStreamSynchronize, shared->first); }, set_flag);
}

uint64_t let_go_value64(uint32_t value) {
  constexpr uint64_t kLarge = uint64_t{1} << 40;
  return play_gate(
      value,
      [] {
        CHECK(cuStreamWaitValue64(shared->second, shared->flag_address(), kLarge, CU_STREAM_WAIT_VALUE_GEQ));
      },
      [] { TESTED(let_go_value64, cuStreamSynchronize, shared->first); }, [] { *shared->flag = kLarge; });
}

uint64_t let_go_host_function(uint32_t value) {
  static sem_t opened;
  sem_init(&opened, 0, 0);
  const uint64_t seen = play_gate(
      value,
      [] {
        auto block = [](void*) {
          while (sem_wait(&opened) != 0) {
          }
        };
        CHECK(cuLaunchHostFunc(shared->second, block, nullptr));
      },
      [] { TESTED(let_go_host_function, cuStreamSynchronize, shared->first); }, [] { sem_post(&opened); });
  sem_destroy(&opened);
  return seen;
}

uint64_t let_go_by_thread(uint32_t value) {
  Baton baton(How::semaphore);
  std::thread second([&] {
    baton.take();
    set_flag();
  });
  const uint64_t seen = play_gate(
      value, poll, [] { TESTED(let_go_by_thread, cuStreamSynchronize, shared->first); },
      [&] { baton.give(); });
  second.join();
  return seen;
}

uint64_t let_go_by_fill(uint32_t value) {
  static CUstream third = nullptr;
  if (!third) CHECK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  Shared& s = *shared;
  CHECK(cuMemsetD32(s.other, 0, 1));
  CHECK(cuCtxSynchronize());
  return play_gate(
      value,
      [&] {
        void* parameters[] = {&s.other};
        CHECK(cuLaunchKernel(s.spin_until, 1, 1, 1, 1, 1, 1, 0, s.second, parameters, nullptr));
      },
      [] { TESTED(let_go_by_fill, cuStreamSynchronize, shared->first); },
      [&] {
        CHECK(cuMemsetD32Async(s.other, 1, 1, third));
        CHECK(cuStreamSynchronize(third));
      });
}

uint64_t let_go_late(uint32_t value) {
  return play_gate(
      value, poll, [] { TESTED(let_go_late, cuStreamSynchronize, shared->first); },
      [] {
        example::host_work(kLateUs, 1);
        set_flag();
      });
}

uint64_t let_go_elsewhere(uint32_t value) {
  return play_gate(
      value, poll, [] { TESTED(let_go_elsewhere, cuStreamSynchronize, shared->first); }, set_flag, true);
}

uint64_t let_go_value_elsewhere(uint32_t value) {
  return play_gate(
      value, wait_for_value, [] { TESTED(let_go_value_elsewhere, cuStreamSynchronize, shared->first); },
      set_flag, true);
}

namespace {

struct Written {
  volatile uint32_t cell;
  uint32_t value;
};

// The first stream: a kernel, and a host function that writes.
uint64_t play_host_function(uint32_t value, const Action& wait, bool reads) {
  Shared& s = *shared;
  Written* const written = new Written{0, value};
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  auto write = [](void* data) {
    auto* to = static_cast<Written*>(data);
    to->cell = to->value;
  };
  CHECK(cuLaunchHostFunc(s.first, write, written));
  wait();
  const uint64_t seen = reads ? written->cell : 0;
  finish();
  delete written;
  return seen;
}

}  // namespace

uint64_t host_function_result(uint32_t value) {
  return play_host_function(
      value, [] { TESTED(host_function_result, cuStreamSynchronize, shared->first); }, true);
}
uint64_t host_function_result_late(uint32_t value) {
  return play_host_function(
      value,
      [] {
        TESTED(host_function_result_late, cuStreamSynchronize, shared->first);
        example::host_work(kLateUs, 1);
      },
      true);
}
uint64_t host_function_unread(uint32_t value) {
  return play_host_function(
      value, [] { TESTED(host_function_unread, cuStreamSynchronize, shared->first); }, false);
}

// ---- copies of 0 bytes
uint64_t zero_copy_before(uint32_t value) {
  Shared& s = *shared;
  Pinned pinned;
  download(pinned.words, value, nullptr);
  CHECK(cuMemcpyDtoH(pinned.words, s.device, 0));
  TESTED(zero_copy_before, cuStreamSynchronize, static_cast<CUstream>(nullptr));
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}
uint64_t zero_copy_after(uint32_t value) {
  Shared& s = *shared;
  Pinned pinned;
  download(pinned.words, value, nullptr);
  TESTED(zero_copy_after, cuStreamSynchronize, static_cast<CUstream>(nullptr));
  CHECK(cuMemcpyDtoH(pinned.words, s.device, 0));
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}
uint64_t zero_async_before(uint32_t value) {
  Shared& s = *shared;
  Pinned pinned;
  uint32_t pageable[kSmallWords] = {};
  download(pinned.words, value, s.first);
  CHECK(cuMemcpyDtoHAsync(pageable, s.device, 0, s.first));
  TESTED(zero_async_before, cuStreamSynchronize, s.first);
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}
uint64_t zero_upload_before(uint32_t value) {
  Shared& s = *shared;
  Pinned pinned;
  download(pinned.words, value, nullptr);
  CHECK(cuMemcpyHtoD(s.result, pinned.words, 0));
  TESTED(zero_upload_before, cuStreamSynchronize, static_cast<CUstream>(nullptr));
  const uint64_t seen = sum(pinned.words, kWords);
  finish();
  return seen;
}

// ---- the time between two events
namespace {

uint64_t play_elapsed(uint32_t value, const Action& wait) {
  Shared& s = *shared;
  CHECK(cuEventRecord(s.start, s.first));
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  CHECK(cuEventRecord(s.end, s.first));
  wait();
  float milliseconds = 0;
  const CUresult asked = cuEventElapsedTime(&milliseconds, s.start, s.end);
  finish();
  return value + static_cast<uint64_t>(asked);
}

// All work of the stream is done when the end is recorded there, but for what it waits for in another. `then`: another
// wait, or none.
uint64_t play_elapsed_idle(uint32_t value, const Action& wait, const Action& then) {
  Shared& s = *shared;
  CHECK(cuEventRecord(s.start, s.first));
  s.gpu.fill(s.device, value, kWords, kBusyUs, s.first);
  CHECK(cuStreamSynchronize(s.first));
  s.gpu.fill(s.other, value, kWords, kBusyUs, s.second);
  CHECK(cuEventRecord(s.event, s.second));
  CHECK(cuStreamWaitEvent(s.first, s.event, 0));
  CHECK(cuEventRecord(s.end, s.first));
  wait();
  then();
  float milliseconds = 0;
  const CUresult asked = cuEventElapsedTime(&milliseconds, s.start, s.end);
  finish();
  return value + static_cast<uint64_t>(asked);
}

}  // namespace

uint64_t elapsed_idle(uint32_t value) {
  return play_elapsed_idle(
      value, [] { TESTED(elapsed_idle, cuEventSynchronize, shared->end); }, [] {});
}
uint64_t elapsed_idle_stream(uint32_t value) {
  return play_elapsed_idle(
      value, [] { TESTED(elapsed_idle_stream, cuStreamSynchronize, shared->first); }, [] {});
}
uint64_t elapsed_covered(uint32_t value) {
  return play_elapsed_idle(
      value, [] { TESTED(elapsed_covered, cuEventSynchronize, shared->end); },
      [] { CHECK(cuStreamSynchronize(shared->first)); });
}
uint64_t elapsed(uint32_t value) {
  return play_elapsed(value, [] { TESTED(elapsed, cuEventSynchronize, shared->end); });
}
uint64_t elapsed_stream(uint32_t value) {
  return play_elapsed(value, [] { TESTED(elapsed_stream, cuStreamSynchronize, shared->first); });
}
uint64_t elapsed_late(uint32_t value) {
  return play_elapsed(value, [] {
    TESTED(elapsed_late, cuEventSynchronize, shared->end);
    example::host_work(kLateUs, 1);
  });
}

}  // namespace scenes
