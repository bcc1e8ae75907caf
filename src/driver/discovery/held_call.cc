#include "driver/discovery/held_call.h"

#include <time.h>

#include <atomic>
#include <thread>

#include "driver/discovery/stack_sampler.h"

namespace diogenes {
namespace {

constexpr Nanoseconds kLimit{300'000'000};  // of a hold, whatever happens
constexpr Nanoseconds kBetweenSamples{4'000'000};
constexpr Nanoseconds kPatience{20'000'000};  // with one sample
constexpr Nanoseconds kStuck{10'000'000};     // a launch that lasts so long waits for room
constexpr int kMostLaunches = 4096;

void pause_for(Nanoseconds time) {
  const timespec pause{0, static_cast<long>(time.count)};
  nanosleep(&pause, nullptr);
}

// What the two threads share.
struct Progress {
  std::atomic<int64_t> begun_ns{0};  // when the present call began; 0: not yet
  std::atomic<int64_t> ended_ns{0};  // when the last one returned; 0: not yet
  std::atomic<int> launches{0};
  std::atomic<int64_t> longest_ns{0};  // of one launch
  std::atomic<bool> leave{false};      // the calling thread may end; until then it can be signalled
  CUresult result = CUDA_SUCCESS;

  bool ended() const { return ended_ns.load(std::memory_order_acquire) != 0; }
};

// Samples until `until`, or until the call has returned.
void watch(const Progress& progress, pthread_t thread, Nanoseconds until, bool sample, HeldCall* out) {
  while (!progress.ended() && monotonic_now() < until) {
    pause_for(kBetweenSamples);
    if (!sample || progress.ended()) continue;
    auto stack = StackSampler::sample(thread, kPatience);
    if (!stack.empty() && !progress.ended()) out->samples.push_back(std::move(stack));
  }
}

// Starts the kernel. False, with the reason in *out, where that fails.
bool start_hold(CallMaterial& material, CUstream stream, HeldCall* out) {
  the_hold.begin(kLimit);
  const CUresult launched = material.driver->launch_spin(stream);
  if (launched == CUDA_SUCCESS) return true;
  the_hold.release();
  out->error = "the kernel was not launched: " + material.driver->name_of(launched);
  return false;
}

}  // namespace

HeldCall hold_and_call(CallMaterial& material, const WaitingCall& call, const HoldOptions& options) {
  HeldCall out;
  DriverSession& driver = *material.driver;
  if (!call.available(driver.api())) {
    out.error = "this driver does not export it";
    return out;
  }
  if (call.prepare != nullptr)
    if (const CUresult result = call.prepare(material); result != CUDA_SUCCESS) {
      out.error = "not prepared: " + driver.name_of(result);
      return out;
    }
  if (!start_hold(material, stream_of(material, call.held_on), &out)) return out;
  CUresult result = call.launched != nullptr ? call.launched(material) : CUDA_SUCCESS;
  if (result != CUDA_SUCCESS) {
    the_hold.release();
    out.error = "not prepared behind the kernel: " + driver.name_of(result);
    return out;
  }
  Progress progress;
  std::thread thread([&] {
    driver.api().cuCtxSetCurrent(driver.context());
    if (options.before_call) options.before_call(pthread_self());
    progress.begun_ns.store(monotonic_now().count, std::memory_order_release);
    progress.result = call.call(material);
    progress.ended_ns.store(monotonic_now().count, std::memory_order_release);
    while (!progress.leave.load(std::memory_order_acquire)) pause_for({1'000'000});
  });
  while (progress.begun_ns.load(std::memory_order_acquire) == 0) pause_for({100'000});
  const Nanoseconds begun{progress.begun_ns.load(std::memory_order_relaxed)};
  watch(progress, thread.native_handle(), begun + options.hold, options.sample, &out);
  out.waited = !progress.ended();
  out.held = monotonic_now() - begun;
  the_hold.release();
  progress.leave.store(true, std::memory_order_release);
  thread.join();
  out.lasted = Nanoseconds{progress.ended_ns.load(std::memory_order_relaxed)} - begun;
  driver.api().cuCtxSynchronize();
  if (progress.result != CUDA_SUCCESS) out.error = "failed: " + driver.name_of(progress.result);
  if (call.clean != nullptr) call.clean(material);
  return out;
}

HeldCall hold_and_fill_queue(CallMaterial& material, const HoldOptions& options) {
  HeldCall out;
  DriverSession& driver = *material.driver;
  if (!start_hold(material, material.stream, &out)) return out;
  Progress progress;
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    driver.api().cuCtxSetCurrent(driver.context());
    if (options.before_call) options.before_call(pthread_self());
    while (progress.launches.load(std::memory_order_relaxed) < kMostLaunches &&
           !stop.load(std::memory_order_acquire)) {
      const int64_t begin = monotonic_now().count;
      progress.begun_ns.store(begin, std::memory_order_release);
      progress.result = driver.launch_empty(material.stream);
      const int64_t lasted = monotonic_now().count - begin;
      if (lasted > progress.longest_ns.load(std::memory_order_relaxed))
        progress.longest_ns.store(lasted, std::memory_order_relaxed);
      if (progress.result != CUDA_SUCCESS) break;
      progress.launches.fetch_add(1, std::memory_order_relaxed);
    }
    progress.ended_ns.store(monotonic_now().count, std::memory_order_release);
    while (!progress.leave.load(std::memory_order_acquire)) pause_for({1'000'000});
  });
  const auto present = [&] { return Nanoseconds{progress.begun_ns.load(std::memory_order_acquire)}; };
  Nanoseconds begun;
  // A launch may also last because others have the processor: then the next one that lasts is looked at.
  for (bool stuck = false; !out.waited && !progress.ended(); stuck = false) {
    while (!stuck && !progress.ended()) {
      pause_for({2'000'000});
      begun = present();
      stuck = begun.count != 0 && monotonic_now() - begun > kStuck;
    }
    out.samples.clear();
    if (stuck) watch(progress, thread.native_handle(), begun + options.hold, options.sample, &out);
    out.waited = stuck && !progress.ended() && present() == begun;
  }
  out.held = monotonic_now() - begun;
  stop.store(true, std::memory_order_release);
  the_hold.release();
  while (!progress.ended()) pause_for({1'000'000});
  progress.leave.store(true, std::memory_order_release);
  thread.join();
  out.lasted = {progress.longest_ns.load(std::memory_order_relaxed)};
  driver.api().cuCtxSynchronize();
  if (progress.result != CUDA_SUCCESS) out.error = "failed: " + driver.name_of(progress.result);
  return out;
}

}  // namespace diogenes
