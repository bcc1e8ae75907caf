// Programs for the accuracy of estimates: one schedule each, with synchronizations or copies that are not
// needed. --fixed leaves out or moves the calls marked FIXED, and nothing else; the work is the same. CPU
// work is time on the clock, so that it takes as long in both. What a naive estimate makes of each is said
// there.
//
//   schedule NAME [--fixed] [--iterations N]        schedule random SEED [--fixed]
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "schedule.h"

namespace {

using namespace schedules;

// The wait behind the short kernel takes up nearly all that the removed one gave.
void absorbed(Run& run) {
  const CUdeviceptr data = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    run.gpu.fill(data, 1, kWords, 300);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(20);
    run.gpu.fill(data, static_cast<uint32_t>(i), kWords, 20);
    report(data);
  }
}

// Each alone gains little, because the other one waits for the same work: only both pay.
void together(Run& run) {
  const CUdeviceptr data = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    run.gpu.fill(data, static_cast<uint32_t>(i), kWords, 400);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(15);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(400);
    if (i % 50 == 49) report(data);
  }
}

// The GPU always has work: a wait costs only what the GPU idles until it has the next kernel.
void gpu_bound(Run& run) {
  const CUdeviceptr data = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    for (int k = 0; k < 4; ++k) run.gpu.fill(data, static_cast<uint32_t>(i + k), kWords, 150);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(30);
    if (i % 50 == 49) report(data);
  }
}

// The kernels are over long before the waits: nothing but the calls is gained.
void cpu_bound(Run& run) {
  const CUdeviceptr data = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    run.gpu.fill(data, static_cast<uint32_t>(i), kWords, 20);
    work(300);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(100);
    if (i % 50 == 49) report(data);
  }
}

// Waits for one stream that hold up the launches on the others.
void many_streams(Run& run) {
  constexpr int kStreams = 4;
  CUdeviceptr data[kStreams];
  CUstream streams[kStreams];
  for (int s = 0; s < kStreams; ++s) data[s] = device_words(), streams[s] = stream();
  for (int i = 0; i < run.iterations; ++i)
    for (int s = 0; s < kStreams; ++s) {
      run.gpu.fill(data[s], static_cast<uint32_t>(i), kWords, 200, streams[s]);
      if (!run.fixed) CHECK(cuStreamSynchronize(streams[s]));  // FIXED
      work(60);
    }
  CHECK(cuCtxSynchronize());
  for (const CUdeviceptr each : data) report(each);
}

// Two threads, each on its stream. One of them waits without need, and is the one that takes longer.
void many_threads(Run& run) {
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CUdeviceptr data[2] = {device_words(), device_words()};
  CUstream streams[2] = {stream(), stream()};
  const auto body = [&](int t) {
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < run.iterations; ++i) {
      run.gpu.fill(data[t], static_cast<uint32_t>(i), kWords, 150, streams[t]);
      if (t == 0 && !run.fixed) CHECK(cuStreamSynchronize(streams[t]));  // FIXED
      work(t == 0 ? 250 : 120);
    }
    CHECK(cuStreamSynchronize(streams[t]));
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  for (const CUdeviceptr each : data) report(each);
}

// More launches than the queue holds: the CPU waits for a place instead.
void deep_queue(Run& run) {
  const CUdeviceptr data = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    for (int k = 0; k < 1500; ++k) run.gpu.fill(data, static_cast<uint32_t>(k), kWords, 40);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
    work(2000);
  }
  report(data);
}

// The engine that copies is busy: waits for a kernel are worth what it idles.
void copy_bound(Run& run) {
  constexpr size_t kBytes = 4 << 20;
  const CUdeviceptr data = device_words(kBytes / 4), result = device_words();
  float* host = example::pinned_floats(kBytes / 4);
  for (int i = 0; i < run.iterations; ++i) {
    host[i % 1024] = static_cast<float>(i);
    CHECK(cuMemcpyHtoDAsync(data, host, kBytes, nullptr));
    run.gpu.copy(result, data, kWords, 30);
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED: what is needed before the source changes is the next
    work(40);
    CHECK(cuCtxSynchronize());
  }
  report(result);
}

// Waits at once, and uses the result much later.
void misplaced(Run& run) {
  const CUdeviceptr data = device_words();
  float* host = example::pinned_floats(kWords);
  double sum = 0;
  for (int i = 0; i < run.iterations; ++i) {
    run.gpu.fill(data, static_cast<uint32_t>(i), kWords, 250);
    CHECK(cuMemcpyDtoHAsync(host, data, kWords * 4, nullptr));
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED: moved
    work(200);
    if (run.fixed) CHECK(cuCtxSynchronize());
    sum += host[i % 100];
    work(30);
  }
  std::printf("%.6g\n", sum);
}

// The same with launches before the use: moved as the same call, it would wait for those as well. Fixed by an
// event.
void misplaced_launches(Run& run) {
  const CUdeviceptr data = device_words(), other = device_words();
  float* host = example::pinned_floats(kWords);
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  double sum = 0;
  for (int i = 0; i < run.iterations; ++i) {
    run.gpu.fill(data, static_cast<uint32_t>(i), kWords, 250);
    CHECK(cuMemcpyDtoHAsync(host, data, kWords * 4, nullptr));
    if (run.fixed) CHECK(cuEventRecord(event, nullptr));
    if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED: moved
    run.gpu.fill(other, static_cast<uint32_t>(i), kWords, 150);
    work(200);
    if (run.fixed) CHECK(cuEventSynchronize(event));
    sum += host[i % 100];
    work(30);
  }
  std::printf("%.6g\n", sum);
  report(other);
}

// Copies of the same content into a busy stream.
void duplicate(Run& run) {
  constexpr size_t kBytes = 1 << 20;
  const CUdeviceptr table = device_words(kBytes / 4), data = device_words();
  float* host = example::pinned_floats(kBytes / 4);
  for (size_t i = 0; i < kBytes / 4; ++i) host[i] = static_cast<float>(i % 97);
  for (int i = 0; i < run.iterations; ++i) {
    if (!run.fixed || i == 0) CHECK(cuMemcpyHtoD(table, host, kBytes));  // FIXED
    run.gpu.copy(data, table + 4 * (i % 64), kWords, 200);
    work(150);
    if (i % 50 == 49) report(data);
  }
}

// Temporary memory: the wait inside each free.
void temporary(Run& run) {
  const CUdeviceptr data = device_words(), kept = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    const CUdeviceptr scratch = run.fixed ? kept : device_words();  // FIXED
    run.gpu.fill(scratch, static_cast<uint32_t>(i), kWords, 150);
    run.gpu.copy(data, scratch, kWords, 100);
    work(100);
    if (!run.fixed) CHECK(cuMemFree(scratch));  // FIXED
    work(150);
    if (i % 50 == 49) report(data);
  }
}

// Waits with nothing to wait for.
void idle_waits(Run& run) {
  const CUdeviceptr data = device_words();
  for (int i = 0; i < run.iterations; ++i) {
    for (int k = 0; k < 20; ++k) {
      if (!run.fixed) CHECK(cuCtxSynchronize());  // FIXED
      work(2);
    }
    run.gpu.fill(data, static_cast<uint32_t>(i), kWords, 20);
    report(data);
  }
}

// A loop of a few calls on some streams, made from the seed: no wait but the last is needed.
void random_schedule(Run& run) {
  std::mt19937_64 random(run.seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  struct Step {
    int kind;  // 0: kernel, 1: copy, 2: wait for the stream, 3: for all
    int stream;
    double cpu_us, gpu_us;
  };
  const auto streams = static_cast<int>(between(1, 3));
  const int64_t gpu_scale = between(20, 300), cpu_scale = between(20, 300);
  std::vector<Step> body;
  const int64_t length = between(4, 10);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t kind = between(0, 9);
    body.push_back({kind < 4   ? 0
                    : kind < 6 ? 1
                    : kind < 8 ? 2
                               : 3,
                    static_cast<int>(between(0, streams - 1)), static_cast<double>(between(5, cpu_scale)),
                    static_cast<double>(between(10, gpu_scale))});
  }
  body.push_back({0, 0, 5, static_cast<double>(gpu_scale)});
  body.push_back({3, 0, 5, 0});
  constexpr size_t kBytes = 256 << 10;
  const size_t floats = static_cast<size_t>(run.iterations) * 64 + kBytes / 4;
  std::vector<CUdeviceptr> data, copied;
  std::vector<CUstream> on;
  for (int s = 0; s < streams; ++s) {
    data.push_back(device_words());
    copied.push_back(device_words(floats));
    on.push_back(stream());
  }
  float* host = example::pinned_floats(floats);
  for (size_t i = 0; i < floats; ++i) host[i] = static_cast<float>(i);
  for (int i = 0; i < run.iterations; ++i)
    for (size_t k = 0; k < body.size(); ++k) {
      const Step& step = body[k];
      work(step.cpu_us);
      const auto s = static_cast<size_t>(step.stream);
      if (step.kind == 0)
        run.gpu.fill(data[s], static_cast<uint32_t>(i), kWords, static_cast<uint64_t>(step.gpu_us), on[s]);
      // New content each time, from memory that nobody writes, and none of it overwritten as a whole before
      // it is used at the end: the waits are the only problems.
      const size_t at = 64 * static_cast<size_t>(i) + k;
      if (step.kind == 1) CHECK(cuMemcpyHtoDAsync(copied[s] + 4 * at, host + at, kBytes, on[s]));
      if (step.kind == 2 && !run.fixed) CHECK(cuStreamSynchronize(on[s]));  // FIXED
      if (step.kind == 3 && !run.fixed) CHECK(cuCtxSynchronize());          // FIXED
    }
  for (size_t s = 0; s < on.size(); ++s) run.gpu.copy(data[s], copied[s], kWords, 5, on[s]);
  CHECK(cuCtxSynchronize());
  for (const CUdeviceptr each : data) report(each);
}

struct Entry {
  void (*run)(Run&);
  int iterations;
};
const std::map<std::string, Entry> kSchedules = {
    {"absorbed", {absorbed, 1000}},        {"together", {together, 600}},
    {"gpu_bound", {gpu_bound, 600}},       {"cpu_bound", {cpu_bound, 1000}},
    {"many_streams", {many_streams, 300}}, {"many_threads", {many_threads, 1000}},
    {"deep_queue", {deep_queue, 6}},       {"copy_bound", {copy_bound, 1000}},
    {"misplaced", {misplaced, 800}},       {"misplaced_launches", {misplaced_launches, 800}},
    {"duplicate", {duplicate, 800}},       {"temporary", {temporary, 800}},
    {"idle_waits", {idle_waits, 1000}},    {"backward", {backward, 800}},
    {"queue", {schedules::queue, 1000}},   {"pool", {pool, 800}},
    {"random", {random_schedule, 40}},
};

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: schedule NAME [--fixed] [--iterations N], schedule random SEED [--fixed]\n");
  for (const auto& [name, entry] : kSchedules) std::fprintf(stderr, "  %s\n", name.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !kSchedules.contains(argv[1])) usage();
  const Entry& entry = kSchedules.at(argv[1]);
  bool fixed = false;
  int iterations = entry.iterations;
  uint64_t seed = 1;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--fixed") == 0)
      fixed = true;
    else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc)
      iterations = std::atoi(argv[++i]);
    else if (std::isdigit(static_cast<unsigned char>(argv[i][0])) && std::strcmp(argv[1], "random") == 0)
      seed = std::strtoull(argv[i], nullptr, 10);
    else
      usage();
  }
  if (iterations <= 0) usage();
  example::Gpu gpu;
  Run run{gpu, fixed, iterations, seed};
  entry.run(run);
  return 0;
}
