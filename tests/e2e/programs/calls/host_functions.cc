// host_functions: the program's code on threads of the driver: functions and callbacks in a stream, functions
// in a graph that is launched again and again. They read results that nobody has read yet, and hand them to
// the kernel.
#include <signal.h>

#include <atomic>
#include <cstring>

#include "cuda_user.h"

static uint32_t* result;
static std::atomic<int> ran{0};
static CUstream stream;

static void read_it(void* data) {
  say("function %s: %lu\n", static_cast<const char*>(data), static_cast<unsigned long>(sum(result)));
  ++ran;
}

static void write_it(void*) {
  const ssize_t written = write(1, result, 8);
  say("write %zd\n", written);
  memset(result, 0, kBytes);
  ++ran;
}

static void ask(void*) {
  sigset_t before, now;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR1);
  sigaddset(&some, SIGSEGV);
  pthread_sigmask(SIG_BLOCK, &some, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, &now);
  say("blocked %d %d, then %d %d\n", sigismember(&before, SIGUSR1), sigismember(&before, SIGSEGV),
      sigismember(&now, SIGUSR1), sigismember(&now, SIGSEGV));
  say("a call of the driver: %d\n", static_cast<int>(cuCtxSynchronize() != CUDA_SUCCESS));
  ++ran;
}

static void call_back(CUstream where, CUresult status, void* data) {
  say("callback %s: %d %d %lu\n", static_cast<const char*>(data), where == stream, static_cast<int>(status),
      static_cast<unsigned long>(sum(result)));
  ++ran;
}

static void wait_for(int count) {
  while (ran != count) usleep(100);
}

// The driver tells the program what the program gave it.
static void tell(const char* what, CUgraphNode node, CUhostFn function, void* data) {
  CUDA_HOST_NODE_PARAMS told = {};
  CHECK(cuGraphHostNodeGetParams(node, &told));
  say("%s: its own %d\n", what, told.fn == function && told.userData == data);
}

static void build_graph(CudaUser& user, char* name) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  CUDA_HOST_NODE_PARAMS host = {};
  host.fn = read_it;
  host.userData = name;
  CHECK(cuGraphAddHostNode(&node, graph, nullptr, 0, &host));
  say("not changed: %d\n", host.fn == read_it && host.userData == name);
  tell("added", node, read_it, name);
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  auto launch = [&](uint32_t value) {
    user.compute_pinned(result, value);
    CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuStreamSynchronize(stream));
  };
  launch(6);
  host.fn = write_it;
  CHECK(cuGraphExecHostNodeSetParams(executable, node, &host));
  tell("the graph's", node, read_it, name);
  launch(0x0a434343);
  host.userData = nullptr;
  CHECK(cuGraphHostNodeSetParams(node, &host));
  tell("changed", node, write_it, nullptr);
  CHECK(cuGraphExecDestroy(executable));
  CHECK(cuGraphDestroy(graph));
}

// Nobody reads behind these waits. They use memory that is gone when guarding ends: the driver's thread may read unseen
// what is still there, and nothing orders that thread behind earlier waits, so they would count as needed.
#define TWENTY_WAITS(name)                                                 \
  __attribute__((noinline)) static void name(CudaUser& user) {             \
    uint32_t* unread = CudaUser::pinned();                                 \
    for (uint32_t i = 0; i < 20; ++i) user.compute_pinned(unread, i);      \
    CHECK(cuMemFreeHost(unread));                                          \
    asm volatile("# " #name); /* else they are the same to the compiler */ \
  }
TWENTY_WAITS(after_functions)
TWENTY_WAITS(after_graphs)

int main() {
  CudaUser user;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  result = CudaUser::pinned();
  char name[] = "one";
  user.compute_pinned(result, 0x0a414141);
  CHECK(cuLaunchHostFunc(stream, read_it, name));
  wait_for(1);
  user.compute_pinned(result, 0x0a424242);
  CHECK(cuLaunchHostFunc(stream, write_it, nullptr));
  wait_for(2);
  user.compute_pinned(result, 3);
  CHECK(cuStreamAddCallback(stream, call_back, name, 0));
  wait_for(3);
  CHECK(cuLaunchHostFunc(stream, ask, nullptr));
  wait_for(4);
  say("refused: %d\n", static_cast<int>(cuLaunchHostFunc(stream, nullptr, nullptr) != CUDA_SUCCESS));

  // Until the functions are known to be done, any wait may be what lets them go on, and counts as needed.
  CHECK(cuStreamSynchronize(stream));
  after_functions(user);

  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuLaunchHostFunc(stream, read_it, name));
  CHECK(cuLaunchHostFunc(stream, read_it, name));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  for (uint32_t i = 0; i < 5; ++i) {
    user.compute_pinned(result, i);
    CHECK(cuGraphLaunch(executable, stream));
    CHECK(cuStreamSynchronize(stream));
  }
  build_graph(user, name);
  say("ran %d\n", ran.load());
  after_graphs(user);
  return 0;
}
