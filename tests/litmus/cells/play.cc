// How a cell is played (scene.h).
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "scene.h"

namespace litmus {
namespace {

constexpr int kLateUs = 1000;

void host_function(void*) {}

// Work of the other context, and an event behind it.
void give_there(const Cell& cell, Scene& scene, CUstream stream) {
  const Within there(foreign().context);
  give_work(cell, scene, stream);
}
void record_there() {
  const Within there(foreign().context);
  CHECK(cuEventRecord(foreign().event, foreign().stream));
}

void synchronize(const Cell& cell, Scene& scene, CUstream stream) {
  World& w = *world;
  switch (cell.row->ordering) {
    case Ordering::context:
      CHECK(cuCtxSynchronize());
      break;
    case Ordering::stream:
    case Ordering::legacy:
    case Ordering::per_thread:
    case Ordering::graph:
    case Ordering::nodes:
    case Ordering::done:
    case Ordering::linked:
    case Ordering::beside:
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::apart:
      CHECK(cuStreamSynchronize(stream));
      w.gpu.fill(w.other, 1, 16, 100, w.second);
      break;
    case Ordering::query:
      while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) usleep(20);
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::event_query:
      CHECK(cuEventRecord(w.event, stream));
      while (cuEventQuery(w.event) == CUDA_ERROR_NOT_READY) usleep(20);
      CHECK(cuEventSynchronize(w.event));
      break;
    case Ordering::foreign:
    case Ordering::foreign_busy: {
      const Within there(foreign().context);
      if (cell.row->ordering == Ordering::foreign_busy) foreign().fill(foreign().device, 1, 16, kBusyUs);
      CHECK(cuCtxSynchronize());
    }
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::in_foreign: {
      const Within there(foreign().context);
      CHECK(cuStreamSynchronize(stream));
      break;
    }
    case Ordering::event_across:
      record_there();
      CHECK(cuEventSynchronize(foreign().event));
      break;
    case Ordering::stream_across:
      record_there();
      CHECK(cuStreamWaitEvent(w.second, foreign().event, 0));
      CHECK(cuStreamSynchronize(w.second));
      break;
    case Ordering::thread_busy:
      w.helper.run(std::exchange(scene.in_helper, nullptr));
      CHECK(cuCtxSynchronize());
      break;
    case Ordering::host_function:
      CHECK(cuLaunchHostFunc(stream, host_function, nullptr));
      CHECK(cuStreamSynchronize(stream));
      break;
    case Ordering::event_done:
      CHECK(cuEventRecord(w.event, stream));
      example::host_work(kBusyUs, 1);  // the GPU gets there
      CHECK(cuEventSynchronize(w.event));
      break;
    case Ordering::event:
      CHECK(cuEventRecord(w.event, stream));
      CHECK(cuEventSynchronize(w.event));
      break;
    case Ordering::copy:
    case Ordering::async_copy:
    case Ordering::in_thread:
      break;
    case Ordering::free_:
      CHECK(cuMemFree(scene.scratch));
      scene.scratch = 0;
      break;
    case Ordering::memset:
      CHECK(cuMemsetD8(address(w.pinned), 0, 4096));
      break;
    case Ordering::unregister:
      CHECK(cuMemHostUnregister(scene.data));
      scene.unregistered = true;
      break;
    case Ordering::two_streams:
      CHECK(cuEventRecord(w.between, stream));
      CHECK(cuStreamWaitEvent(w.second, w.between, 0));
      CHECK(cuStreamSynchronize(w.second));
      break;
    case Ordering::two_waits:
      CHECK(cuStreamSynchronize(stream));
      CHECK(cuCtxSynchronize());
      break;
    case Ordering::unrelated:
      w.gpu.fill(w.other, 1, 16, 100, w.second);
      CHECK(cuStreamSynchronize(w.second));
      CHECK(cuCtxSynchronize());
      break;
  }
}

void consume(const Cell& cell, Scene& scene) {
  World& w = *world;
  switch (cell.consumer) {
    case Consumer::late:
      example::host_work(kLateUs, 1);
      [[fallthrough]];
    case Consumer::same:
      scene.seen = sum(scene.data, scene.words);
      break;
    case Consumer::other:
      w.reader.run([&] { scene.seen = sum(scene.data, scene.words); });
      break;
    case Consumer::call: {
      const size_t bytes = scene.words * 4 < 4096 ? scene.words * 4 : 4096;
      uint32_t back[1024] = {};
      if (write(w.pipe[1], scene.data, bytes) != static_cast<ssize_t>(bytes) ||
          read(w.pipe[0], back, bytes) != static_cast<ssize_t>(bytes))
        perror("pipe");
      scene.seen = sum(back, bytes / 4);
      break;
    }
    case Consumer::next:
      CHECK(cuMemcpyHtoDAsync(w.result, scene.data, scene.words * 4, w.second));
      break;
    case Consumer::reuse:
      for (size_t i = 0; i < scene.words; ++i) scene.data[i] = 0xdead;
      break;
    case Consumer::stream:
      w.gpu.copy(w.result, scene.device, scene.words, 10, w.second);
      break;
    case Consumer::free_:
    case Consumer::source:
      release(cell, scene);
      break;
    default:
      break;
  }
}

// The part of another thread.
void play_in_helper(const Cell& cell, Scene& scene) {
  if (cell.row->ordering == Ordering::in_thread)
    give_work(cell, scene, CU_STREAM_PER_THREAD);
  else
    world->gpu.fill(world->other, 1, 16, kBusyUs, CU_STREAM_PER_THREAD);
  CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

void play_here(const Cell& cell, Scene& scene) {
  CUstream stream = stream_of(cell.row->ordering);
  alignas(8) uint32_t on_stack[kSmallWords] = {};
  if (cell.row->memory == Memory::stack) {
    scene.data = on_stack;
    if (cell.is_source())
      for (uint32_t& word : on_stack) word = scene.value;
  }
  if (cell.row->ordering == Ordering::in_thread) {
    world->helper.run(std::exchange(scene.in_helper, nullptr));
    return consume(cell, scene);
  }
  if (scene.graph)
    CHECK(cuGraphLaunch(scene.graph, stream));
  else if (is_in_foreign(cell.row->ordering))
    give_there(cell, scene, stream);
  else
    give_work(cell, scene, stream);
  synchronize(cell, scene, stream);
  consume(cell, scene);
  if (cell.row->memory == Memory::stack) {
    tell_gone(scene.data, scene.words);
    scene.data = nullptr;
  }
}

}  // namespace

void play(const Cell& cell, Scene& scene) {
  const bool threads =
      cell.row->ordering == Ordering::thread_busy || cell.row->ordering == Ordering::in_thread;
  if (threads && !scene.in_helper)
    play_in_helper(cell, scene);
  else
    play_here(cell, scene);
}

}  // namespace litmus
