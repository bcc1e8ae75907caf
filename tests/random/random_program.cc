// random-program FIRST COUNT [WHICH]: plays COUNT random programs, from the seed FIRST on, and prints what
// each saw. WHICH: --host-functions, only those that have some; --no-host-functions, only the others;
// --hand-over, the programs with hand-overs; --again, those that often release memory and allocate it again; --again-kept, the
// same, in which it is allocated once and used again, with a list PROGRAM:OPERATION,... of releases whose wait can go. Every operation of every program has call sites of its own: it
// is played through a frame for the program and one for its position.
//
//   random-program --frames
//       offsets of the frames' code: "program N offset", "operation N offset"
//   random-program --truth FIRST COUNT [WHICH]
//       "program operation kind needed|needless|unsure" of what waits
//   random-program --show SEED [WHICH]
//       the program, for people
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "borrower.h"
#include "gpu.h"
#include "kernels_ptx.h"
#include "program.h"

namespace random_program {
namespace {

constexpr size_t kPrograms = 300;  // of one process
constexpr size_t kBytes = 16384, kLargeBytes = 96 * 1024, kMostSmallBytes = 64;

const char* const kKindNames[] = {
    "fill",         "copy",           "upload",        "download",     "upload_now",   "download_now",
    "set",          "set_now",        "read",          "write",        "call",         "context",
    "stream",       "record",         "event",         "query_event",  "query_stream", "wait_event",
    "graph",        "host_function",  "alloc_ordered", "free_ordered", "free_other",   "free_again",
    "pinned_again", "register_again", "lend",          "take_in",      "poll",         "open"};
static_assert(sizeof kKindNames / sizeof kKindNames[0] == static_cast<size_t>(Kind::count));

// What a host function is given; kept to the program's end.
struct HostWork {
  const uint32_t* from;
  uint32_t* to;
  uint32_t value;
};

struct World {
  example::Gpu gpu;
  CUcontext context = nullptr;
  CUdeviceptr device[kDevice] = {};
  void* host[kBuffers] = {};
  std::array<uint32_t, 3> small_bytes{};
  CUstream streams[kStreams] = {}, capture = nullptr;
  CUevent events[kEvents] = {}, start = nullptr;
  std::vector<CUgraphExec> graphs;
  std::vector<std::unique_ptr<HostWork>> host_work;
  int pipe[2] = {-1, -1};
  uint64_t seen = 0;
  bool keeps = false;  // --again-kept:
  std::array<bool, kBuffers> renewed{};
  size_t program = 0, frame = 0;                 // that play
  std::set<std::pair<size_t, size_t>> needless;  // releases without whose wait the program would do
  Borrower* borrower = nullptr;                  // with hand-overs:
  CUfunction spin_until = nullptr;
  volatile uint32_t* flags = nullptr;  // mapped; one for each operation of the program, never used again
};
World* world;
alignas(64) uint32_t global_data[kMostSmallBytes / 4];

CUdeviceptr address(int buffer) {
  return buffer < kDevice ? world->device[buffer] : reinterpret_cast<CUdeviceptr>(world->host[buffer]);
}
// Of host buffers all, of the device's as much as the other side has, or what kernels work on.
size_t bytes_of(int buffer) {
  if (buffer < kDevice) return kLargeBytes;
  if (buffer == kLarge) return kLargeBytes;
  return buffer >= kHeap && buffer <= kGlobal ? world->small_bytes[static_cast<size_t>(buffer - kHeap)]
                                              : kBytes;
}

uint64_t mixed(uint64_t seen, const void* data, size_t bytes) {
  const auto* words = static_cast<const volatile uint32_t*>(data);
  for (size_t i = 0; i < bytes / 4; ++i) seen = (seen ^ words[i]) * 0x100000001b3;
  return seen;
}
void mix(const void* data, size_t bytes) { world->seen = mixed(world->seen, data, bytes); }
void write_words(void* to, size_t bytes, uint32_t value) {
  for (size_t i = 0; i < bytes / 4; ++i)
    static_cast<volatile uint32_t*>(to)[i] = value + static_cast<uint32_t>(i);
}

// What the borrower does with a buffer; what it saw.
uint64_t use_lent(const Operation& o) {
  const int buffer = o.to >= 0 ? o.to : o.from;
  if (o.to < 0) return mixed(1, world->host[buffer], bytes_of(buffer));
  write_words(world->host[buffer], bytes_of(buffer), o.value);
  return 0;
}

void poll_flag(const Operation& o) {
  CUdeviceptr flag = reinterpret_cast<CUdeviceptr>(world->flags + o.event);
  void* parameters[] = {&flag};
  CHECK(
      cuLaunchKernel(world->spin_until, 1, 1, 1, 1, 1, 1, 0, world->streams[o.stream], parameters, nullptr));
}

void run_on_host(void* data) {
  const HostWork& work = *static_cast<HostWork*>(data);
  uint32_t sum = work.value;
  for (size_t i = 0; i < kBytes / 4; ++i) sum = sum * 31 + work.from[i];
  for (size_t i = 0; i < kBytes / 4; ++i) work.to[i] = sum + static_cast<uint32_t>(i);
}

void* new_pinned(int buffer, size_t bytes) {
  void* data = nullptr;
  CHECK(cuMemAllocHost(&data, bytes));
  memset(data, buffer, bytes);
  return data;
}

// One piece of asynchronous work, alone or as a graph's node.
void give(Kind kind, int to, int from, uint32_t value, uint32_t busy_us, CUstream stream) {
  World& w = *world;
  const size_t bytes =
      std::min(to >= 0 ? bytes_of(to) : kLargeBytes, from >= 0 ? bytes_of(from) : kLargeBytes);
  switch (kind) {
    case Kind::fill:
      w.gpu.fill(address(to), value, kBytes / 4, busy_us, stream);
      break;
    case Kind::copy:
      w.gpu.copy(address(to), address(from), kBytes / 4, busy_us, stream);
      break;
    case Kind::upload:
      CHECK(cuMemcpyHtoDAsync(address(to), w.host[from], bytes, stream));
      break;
    case Kind::download:
      CHECK(cuMemcpyDtoHAsync(w.host[to], address(from), bytes, stream));
      break;
    default:
      CHECK(cuMemsetD32Async(address(to), value, bytes / 4, stream));
      break;
  }
}

void play_graph(const Operation& o) {
  World& w = *world;
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CHECK(cuStreamBeginCapture(w.capture, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < o.node_count; ++i) {
    const Node& node = o.nodes[static_cast<size_t>(i)];
    give(node.kind, node.to, node.from, o.value + static_cast<uint32_t>(i), o.busy_us, w.capture);
  }
  CHECK(cuStreamEndCapture(w.capture, &graph));
  CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuGraphLaunch(made, w.streams[o.stream]));
  w.graphs.push_back(made);
}

// What its call allocated before in this program is used again. The wait in the release is made elsewhere, unless it can go.
bool is_kept(int buffer) {
  World& w = *world;
  if (!w.keeps || !std::exchange(w.renewed[static_cast<size_t>(buffer)], true)) return false;
  if (!w.needless.contains({w.program, w.frame})) CHECK(cuCtxSynchronize());
  return true;
}

template <typename Query>
void ask_until_done(Query query) {
  CUresult result;
  while ((result = query()) == CUDA_ERROR_NOT_READY) sched_yield();
  CHECK(result);
}

void play(const Operation& o) {
  World& w = *world;
  CUstream stream = w.streams[o.stream];
  const size_t bytes =
      std::min(o.to >= 0 ? bytes_of(o.to) : kLargeBytes, o.from >= 0 ? bytes_of(o.from) : kLargeBytes);
  switch (o.kind) {
    case Kind::fill:
    case Kind::copy:
    case Kind::upload:
    case Kind::download:
    case Kind::set:
      give(o.kind, o.to, o.from, o.value, o.busy_us, stream);
      break;
    case Kind::upload_now:
      CHECK(cuMemcpyHtoD(address(o.to), w.host[o.from], bytes));
      break;
    case Kind::download_now:
      CHECK(cuMemcpyDtoH(w.host[o.to], address(o.from), bytes));
      break;
    case Kind::set_now:
      CHECK(cuMemsetD32(address(o.to), o.value, bytes / 4));
      break;
    case Kind::read:
      mix(w.host[o.from], bytes);
      break;
    case Kind::write:
      write_words(w.host[o.to], bytes, o.value);
      break;
    case Kind::call: {
      char back[4096];
      const size_t part = std::min(bytes, sizeof back);
      if (write(w.pipe[1], w.host[o.from], part) != static_cast<ssize_t>(part) ||
          read(w.pipe[0], back, part) != static_cast<ssize_t>(part))
        perror("pipe");
      mix(back, part);
      break;
    }
    case Kind::context:
      CHECK(cuCtxSynchronize());
      break;
    case Kind::stream:
      CHECK(cuStreamSynchronize(stream));
      break;
    case Kind::record:
      CHECK(cuEventRecord(w.events[o.event], stream));
      break;
    case Kind::event:
      CHECK(cuEventSynchronize(w.events[o.event]));
      break;
    case Kind::query_event:
      ask_until_done([&] { return cuEventQuery(w.events[o.event]); });
      break;
    case Kind::query_stream:
      ask_until_done([&] { return cuStreamQuery(stream); });
      break;
    case Kind::wait_event:
      CHECK(cuStreamWaitEvent(stream, w.events[o.event], 0));
      break;
    case Kind::graph:
      play_graph(o);
      break;
    case Kind::host_function:
      w.host_work.push_back(std::make_unique<HostWork>(HostWork{
          static_cast<const uint32_t*>(w.host[o.from]), static_cast<uint32_t*>(w.host[o.to]), o.value}));
      CHECK(cuLaunchHostFunc(stream, run_on_host, w.host_work.back().get()));
      break;
    case Kind::alloc_ordered:
      CHECK(cuMemAllocAsync(&w.device[kOrdered], kLargeBytes, stream));
      break;
    case Kind::free_ordered:
      CHECK(cuMemFreeAsync(w.device[kOrdered], stream));
      w.device[kOrdered] = 0;
      break;
    case Kind::free_other: {
      CUdeviceptr other = 0;
      CHECK(cuMemAlloc(&other, 4096));
      CHECK(cuMemFree(other));
      break;
    }
    case Kind::free_again:
      if (is_kept(o.to)) break;
      CHECK(cuMemFree(w.device[o.to]));
      CHECK(cuMemAlloc(&w.device[o.to], kLargeBytes));
      break;
    case Kind::pinned_again:
      if (is_kept(o.to)) {
        memset(w.host[o.to], o.to, kBytes);
        break;
      }
      CHECK(cuMemFreeHost(w.host[o.to]));
      w.host[o.to] = new_pinned(o.to, kBytes);
      break;
    case Kind::register_again:
      CHECK(cuMemHostUnregister(w.host[kRegistered]));
      CHECK(cuMemHostRegister(w.host[kRegistered], kBytes, 0));
      break;
    case Kind::lend:
      w.borrower->lend();
      break;
    case Kind::take_in: {
      const uint64_t seen = w.borrower->take_in();
      mix(&seen, sizeof seen);
      break;
    }
    case Kind::poll:
      poll_flag(o);
      break;
    case Kind::open:
      w.flags[o.event] = 1;
      break;
    case Kind::count:
      break;
  }
}

template <size_t N>
[[gnu::noinline]] void operation_frame(const Operation& operation) {
  play(operation);
  asm volatile("" ::"i"(N) : "memory");  // no tail call, and no two alike
}
using OperationFrame = void (*)(const Operation&);
template <size_t... N>
constexpr std::array<OperationFrame, sizeof...(N)> operations_of(std::index_sequence<N...>) {
  return {operation_frame<N>...};
}
constexpr auto kOperationFrames = operations_of(std::make_index_sequence<kOperations>{});

template <size_t N>
[[gnu::noinline]] void program_frame(size_t position, const Operation& operation) {
  kOperationFrames[position](operation);
  asm volatile("" ::"i"(N) : "memory");
}
using ProgramFrame = void (*)(size_t, const Operation&);
template <size_t... N>
constexpr std::array<ProgramFrame, sizeof...(N)> programs_of(std::index_sequence<N...>) {
  return {program_frame<N>...};
}
constexpr auto kProgramFrames = programs_of(std::make_index_sequence<kPrograms>{});

// Another thread. One of all acts at a time.
class Other {
 public:
  void start() {
    sem_init(&asked_, 0, 0);
    sem_init(&answered_, 0, 0);
    std::thread([this] {
      CHECK(cuCtxSetCurrent(world->context));
      for (;;) {
        wait(&asked_);
        kProgramFrames[program_](position_, *operation_);
        sem_post(&answered_);
      }
    }).detach();
  }
  void play(size_t program, size_t position, const Operation& operation) {
    program_ = program, position_ = position, operation_ = &operation;
    sem_post(&asked_);
    wait(&answered_);
  }

 private:
  static void wait(sem_t* semaphore) {
    while (sem_wait(semaphore) != 0) continue;
  }

  // Each is posted by one thread alone, so their order is that of every run, and the tool sees it. That of
  // atomics nobody sees: there the first wait of each thread is needed by rule.
  // On a page of their own: a page on which a thread waits has no guard, and this heap's layout is not the
  // same each time.
  alignas(4096) sem_t asked_ = {};
  sem_t answered_ = {};
  size_t program_ = 0, position_ = 0;
  const Operation* operation_ = nullptr;
};

void prepare() {
  world = new World;
  World& w = *world;
  CHECK(cuCtxGetCurrent(&w.context));
  for (int i = 0; i < kOrdered; ++i) CHECK(cuMemAlloc(&w.device[i], kLargeBytes));
  for (const int buffer : {kPinnedA, kPinnedB}) w.host[buffer] = new_pinned(buffer, kBytes);
  for (const int buffer : {kRegistered, kPageable, kLarge, kCell})
    w.host[buffer] =
        mmap(nullptr, bytes_of(buffer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(cuMemHostRegister(w.host[kRegistered], kBytes, 0));
  w.host[kHeap] = malloc(kMostSmallBytes);
  w.host[kGlobal] = global_data;
  CUdeviceptr managed = 0;
  CHECK(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  w.host[kManaged] = reinterpret_cast<void*>(managed);
  CHECK(cuMemHostAlloc(&w.host[kMapped], kBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuStreamCreate(&w.streams[1], CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&w.streams[2], CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&w.streams[3], CU_STREAM_DEFAULT));
  CHECK(cuStreamCreate(&w.capture, CU_STREAM_NON_BLOCKING));
  for (CUevent& event : w.events) CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&w.start, CU_EVENT_DISABLE_TIMING));
  if (pipe(w.pipe) != 0) perror("pipe");
}

// With hand-overs. Each kernel runs once before any polls: a driver may load a kernel at its first launch,
// and wait for that.
void prepare_hand_overs() {
  World& w = *world;
  static Borrower borrower(use_lent);
  w.borrower = &borrower;
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&w.spin_until, module, "spin_until"));
  void* memory = nullptr;
  CHECK(cuMemHostAlloc(&memory, (kPrograms + 1) * kOperations * sizeof *w.flags, CU_MEMHOSTALLOC_DEVICEMAP));
  memset(memory, 0, (kPrograms + 1) * kOperations * sizeof *w.flags);
  w.flags = static_cast<volatile uint32_t*>(memory);
  w.flags[0] = 1;
  poll_flag({});
  w.gpu.fill(w.device[0], 1, 16, 1);
  w.gpu.copy(w.device[1], w.device[0], 16, 1);
  CHECK(cuMemsetD32(w.device[0], 1, 16));
  CHECK(cuCtxSynchronize());
}

// The same start for each program, and at its end all that it left behind.
void begin(const Program& program) {
  World& w = *world;
  w.small_bytes = program.small_bytes;
  // The GPU itself puts all of this program behind all that came before it, the first contents of its buffers
  // included: else a wait in here would be the latest to cover that, too, which the generator does not know.
  for (const CUstream stream : w.streams) {
    CHECK(cuEventRecord(w.start, stream));
    CHECK(cuStreamWaitEvent(nullptr, w.start, 0));
  }
  for (int i = 0; i < kOrdered; ++i) CHECK(cuMemsetD32(w.device[i], 11, kLargeBytes / 4));
  CHECK(cuEventRecord(w.start, nullptr));
  for (const CUstream stream : w.streams) CHECK(cuStreamWaitEvent(stream, w.start, 0));
  CHECK(cuCtxSynchronize());
  for (int buffer = kDevice; buffer < kBuffers; ++buffer) memset(w.host[buffer], buffer, bytes_of(buffer));
  w.seen = 0xcbf29ce484222325;
  w.renewed = {};
  if (!w.borrower) return;
  w.flags += kOperations;
  w.borrower->begin(program);
}
void end() {
  static char back[kBytes];
  World& w = *world;
  CHECK(cuCtxSynchronize());
  for (int buffer = 0; buffer < kBuffers; ++buffer) {
    if (buffer >= kDevice) {
      mix(w.host[buffer], bytes_of(buffer));
    } else if (w.device[buffer]) {
      CHECK(cuMemcpyDtoH(back, w.device[buffer], kBytes));
      mix(back, kBytes);
    }
  }
  if (w.device[kOrdered]) CHECK(cuMemFreeAsync(w.device[kOrdered], nullptr));
  w.device[kOrdered] = 0;
  for (CUgraphExec graph : w.graphs) CHECK(cuGraphExecDestroy(graph));
  w.graphs.clear();
  w.host_work.clear();
}

// Those that release a buffer and allocate it again do it by one call.
size_t frame_of(const Program& program, size_t position) {
  const Operation& operation = program.operations[position];
  if (operation.kind != Kind::free_again && operation.kind != Kind::pinned_again) return position;
  const auto same = std::find_if(
      program.operations.begin(), program.operations.end(),
      [&](const Operation& other) { return other.kind == operation.kind && other.to == operation.to; });
  return static_cast<size_t>(same - program.operations.begin());
}

// All of one program: what is on the stack here lives as long as it runs.
[[gnu::noinline]] void play_program(size_t number, const Program& program, Other* others) {
  alignas(64) uint32_t on_stack[kMostSmallBytes / 4];
  world->host[kStack] = on_stack;
  begin(program);
  for (size_t position = 0; position < program.operations.size(); ++position) {
    const Operation& operation = program.operations[position];
    const size_t frame = frame_of(program, position);
    world->program = number, world->frame = frame;
    if (operation.thread > 0)
      others[operation.thread - 1].play(number, frame, operation);
    else
      kProgramFrames[number](frame, operation);
  }
  end();
}

extern "C" char __executable_start;
template <typename Frame>
size_t offset_of(Frame frame) {
  return reinterpret_cast<size_t>(frame) - reinterpret_cast<size_t>(&__executable_start);
}

const char* truth_of(const Operation& o) { return o.needed ? "needed" : o.guess ? "unsure" : "needless"; }

constexpr std::string_view kHandOver = "--hand-over", kAgain = "--again", kAgainKept = "--again-kept";
Variety variety_of(std::string_view which) {
  return which == kHandOver                       ? Variety::hand_over
         : which == kAgain || which == kAgainKept ? Variety::again
                                                  : Variety::usual;
}

int show(uint64_t seed, std::string_view which) {
  int position = 0;
  const Program program = generate(seed, variety_of(which));
  printf("small ones: %u bytes on the heap, %u on the stack, %u global\n", program.small_bytes[0],
         program.small_bytes[1], program.small_bytes[2]);
  for (const Operation& o : program.operations) {
    printf("%2d %-14s stream %d event %d to %2d from %2d thread %d %s\n", position++,
           kKindNames[static_cast<int>(o.kind)], o.stream, o.event, o.to, o.from, o.thread,
           o.waits ? truth_of(o) : "");
    for (int i = 0; i < o.node_count; ++i) {
      const Node& node = o.nodes[static_cast<size_t>(i)];
      printf("     node %-8s to %2d from %2d\n", kKindNames[static_cast<int>(node.kind)], node.to, node.from);
    }
  }
  return 0;
}

bool is_wanted(uint64_t seed, std::string_view which) {
  if (which == "--host-functions") return has_host_functions(seed);
  if (which == "--no-host-functions") return !has_host_functions(seed);
  return true;
}

int show_truth(uint64_t first, uint64_t count, std::string_view which) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!is_wanted(first + i, which)) continue;
    const Program program = generate(first + i, variety_of(which));
    for (size_t k = 0; k < program.operations.size(); ++k)
      if (const Operation& o = program.operations[k]; o.waits)
        printf("%lu %zu %s %s\n", static_cast<unsigned long>(i), k, kKindNames[static_cast<int>(o.kind)],
               truth_of(o));
  }
  return 0;
}

int run(uint64_t first, uint64_t count, std::string_view which, const char* needless) {
  prepare();
  world->keeps = which == kAgainKept;
  for (char* at = const_cast<char*>(needless); *at;) {
    const size_t program = strtoull(at, &at, 10), frame = strtoull(at + 1, &at, 10);
    world->needless.insert({program, frame});
    at += *at == ',';
  }
  static Other others[kThreads - 1];
  for (Other& other : others) other.start();
  if (which == kHandOver) prepare_hand_overs();
  for (uint64_t i = 0; i < count; ++i) {
    if (!is_wanted(first + i, which)) continue;
    play_program(i, generate(first + i, variety_of(which)), others);
    printf("%lu %016lx\n", static_cast<unsigned long>(first + i), static_cast<unsigned long>(world->seen));
  }
  fflush(stdout);
  _exit(0);  // the other threads still look at what is on this stack
}

}  // namespace
}  // namespace random_program

int main(int argc, char** argv) {
  using namespace random_program;
  auto number = [&](int i) { return i < argc ? strtoull(argv[i], nullptr, 10) : 0; };
  auto word = [&](int i) { return std::string_view(i < argc ? argv[i] : ""); };
  if (word(1) == "--frames") {
    for (size_t i = 0; i < kPrograms; ++i) printf("program %zu %#zx\n", i, offset_of(kProgramFrames[i]));
    for (size_t i = 0; i < kOperations; ++i)
      printf("operation %zu %#zx\n", i, offset_of(kOperationFrames[i]));
    return 0;
  }
  if (word(1) == "--show") return show(number(2), word(3));
  if (word(1) == "--truth") return show_truth(number(2), number(3), word(4));
  if (argc < 3 || argc > 5 || number(2) < 1 || number(2) > kPrograms) {
    fprintf(stderr,
            "random-program FIRST COUNT (at most %zu) [WHICH], --truth FIRST COUNT [WHICH],\n"
            "--show SEED [WHICH] or --frames; WHICH: --host-functions, --no-host-functions, --hand-over,\n"
            "--again, --again-kept [PROGRAM:OPERATION,...]\n",
            kPrograms);
    return 2;
  }
  return run(number(1), number(2), word(3), argc > 4 ? argv[4] : "");
}
