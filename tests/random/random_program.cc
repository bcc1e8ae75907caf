// random-program FIRST COUNT: plays COUNT random programs, from the seed FIRST on, and prints what each saw.
// Every operation of every program has call sites of its own: it is played through a frame for the program
// and one for its position.
//
//   random-program --frames           offsets of the frames' code: "program N offset", "operation N offset"
//   random-program --truth FIRST COUNT   "program operation kind needed|needless|unsure" of everything that
//   waits random-program --show SEED        the program, for people
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <thread>
#include <utility>

#include "gpu.h"
#include "program.h"

namespace random_program {
namespace {

constexpr size_t kPrograms = 300;  // of one process
constexpr size_t kBytes = 16384, kSmallBytes = 64;

const char* const kKindNames[] = {"fill",         "copy",          "upload", "download", "upload_now",
                                  "download_now", "set",           "read",   "write",    "call",
                                  "context",      "stream",        "record", "event",    "wait_event",
                                  "free_other",   "register_again"};

struct World {
  example::Gpu gpu;
  CUcontext context = nullptr;
  CUdeviceptr device[kDevice] = {};
  void* host[kBuffers] = {};
  CUstream streams[kStreams] = {};
  CUevent events[kEvents] = {};
  int pipe[2] = {-1, -1};
  uint64_t seen = 0;
};
World* world;

CUdeviceptr address(int buffer) {
  return buffer < kDevice ? world->device[buffer] : reinterpret_cast<CUdeviceptr>(world->host[buffer]);
}
size_t bytes_of(int buffer) { return buffer == kSmall ? kSmallBytes : kBytes; }

void mix(const void* data, size_t bytes) {
  const auto* words = static_cast<const volatile uint32_t*>(data);
  for (size_t i = 0; i < bytes / 4; ++i) world->seen = (world->seen ^ words[i]) * 0x100000001b3;
}

void play(const Operation& o) {
  World& w = *world;
  CUstream stream = w.streams[o.stream];
  const size_t bytes = std::min(o.to >= 0 ? bytes_of(o.to) : kBytes, o.from >= 0 ? bytes_of(o.from) : kBytes);
  switch (o.kind) {
    case Kind::fill:
      w.gpu.fill(address(o.to), o.value, bytes / 4, o.busy_us, stream);
      break;
    case Kind::copy:
      w.gpu.copy(address(o.to), address(o.from), bytes / 4, o.busy_us, stream);
      break;
    case Kind::upload:
      CHECK(cuMemcpyHtoDAsync(address(o.to), w.host[o.from], bytes, stream));
      break;
    case Kind::download:
      CHECK(cuMemcpyDtoHAsync(w.host[o.to], address(o.from), bytes, stream));
      break;
    case Kind::upload_now:
      CHECK(cuMemcpyHtoD(address(o.to), w.host[o.from], bytes));
      break;
    case Kind::download_now:
      CHECK(cuMemcpyDtoH(w.host[o.to], address(o.from), bytes));
      break;
    case Kind::set:
      CHECK(cuMemsetD32Async(address(o.to), o.value, bytes / 4, stream));
      break;
    case Kind::read:
      mix(w.host[o.from], bytes);
      break;
    case Kind::write:
      for (size_t i = 0; i < bytes / 4; ++i)
        static_cast<volatile uint32_t*>(w.host[o.to])[i] = o.value + static_cast<uint32_t>(i);
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
    case Kind::wait_event:
      CHECK(cuStreamWaitEvent(stream, w.events[o.event], 0));
      break;
    case Kind::free_other: {
      CUdeviceptr other = 0;
      CHECK(cuMemAlloc(&other, 4096));
      CHECK(cuMemFree(other));
      break;
    }
    case Kind::register_again:
      CHECK(cuMemHostUnregister(w.host[kRegistered]));
      CHECK(cuMemHostRegister(w.host[kRegistered], kBytes, 0));
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

// The other thread. One of the two acts at a time.
class Other {
 public:
  void start() {
    std::thread([this] {
      CHECK(cuCtxSetCurrent(world->context));
      for (;;) {
        asked_.acquire();
        kProgramFrames[program_](position_, *operation_);
        answered_.release();
      }
    }).detach();
  }
  void play(size_t program, size_t position, const Operation& operation) {
    program_ = program, position_ = position, operation_ = &operation;
    asked_.release();
    answered_.acquire();
  }

 private:
  std::binary_semaphore asked_{0}, answered_{0};
  size_t program_ = 0, position_ = 0;
  const Operation* operation_ = nullptr;
};

void prepare() {
  world = new World;
  World& w = *world;
  CHECK(cuCtxGetCurrent(&w.context));
  for (CUdeviceptr& device : w.device) CHECK(cuMemAlloc(&device, kBytes));
  CHECK(cuMemAllocHost(&w.host[kPinnedA], kBytes));
  CHECK(cuMemAllocHost(&w.host[kPinnedB], kBytes));
  for (const int buffer : {kRegistered, kPageable})
    w.host[buffer] = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(cuMemHostRegister(w.host[kRegistered], kBytes, 0));
  w.host[kSmall] = malloc(kSmallBytes);
  CUdeviceptr managed = 0;
  CHECK(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  w.host[kManaged] = reinterpret_cast<void*>(managed);
  CHECK(cuMemHostAlloc(&w.host[kMapped], kBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuStreamCreate(&w.streams[1], CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&w.streams[2], CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&w.streams[3], CU_STREAM_DEFAULT));
  for (CUevent& event : w.events) CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (pipe(w.pipe) != 0) perror("pipe");
}

// The same start for each program, and at its end all that it left behind.
void begin() {
  for (const CUdeviceptr device : world->device) CHECK(cuMemsetD32(device, 11, kBytes / 4));
  CHECK(cuCtxSynchronize());
  for (int buffer = kDevice; buffer < kBuffers; ++buffer)
    memset(world->host[buffer], buffer, bytes_of(buffer));
  world->seen = 0xcbf29ce484222325;
}
void end() {
  static char back[kBytes];
  CHECK(cuCtxSynchronize());
  for (int buffer = 0; buffer < kBuffers; ++buffer) {
    if (buffer < kDevice) CHECK(cuMemcpyDtoH(back, world->device[buffer], kBytes));
    mix(buffer < kDevice ? back : world->host[buffer], bytes_of(buffer));
  }
}

extern "C" char __executable_start;
template <typename Frame>
size_t offset_of(Frame frame) {
  return reinterpret_cast<size_t>(frame) - reinterpret_cast<size_t>(&__executable_start);
}

int show(uint64_t seed) {
  int position = 0;
  for (const Operation& o : generate(seed))
    printf("%2d %-14s stream %d event %d to %2d from %2d%s%s\n", position++,
           kKindNames[static_cast<int>(o.kind)], o.stream, o.event, o.to, o.from,
           o.other_thread ? " other thread" : "",
           !o.waits   ? ""
           : o.needed ? " NEEDED"
           : o.guess  ? " unsure"
                      : " needless");
  return 0;
}

int run(uint64_t first, uint64_t count) {
  prepare();
  Other other;
  other.start();
  for (uint64_t i = 0; i < count; ++i) {
    const std::vector<Operation> program = generate(first + i);
    begin();
    for (size_t position = 0; position < program.size(); ++position)
      if (program[position].other_thread)
        other.play(i, position, program[position]);
      else
        kProgramFrames[i](position, program[position]);
    end();
    printf("%lu %016lx\n", static_cast<unsigned long>(first + i), static_cast<unsigned long>(world->seen));
  }
  fflush(stdout);
  _exit(0);  // the other thread still looks at what is on this stack
}

}  // namespace
}  // namespace random_program

int main(int argc, char** argv) {
  using namespace random_program;
  auto number = [&](int i) { return i < argc ? strtoull(argv[i], nullptr, 10) : 0; };
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--frames") {
    for (size_t i = 0; i < kPrograms; ++i) printf("program %zu %#zx\n", i, offset_of(kProgramFrames[i]));
    for (size_t i = 0; i < kOperations; ++i)
      printf("operation %zu %#zx\n", i, offset_of(kOperationFrames[i]));
    return 0;
  }
  if (what == "--show") return show(number(2));
  if (what == "--truth") {
    for (uint64_t i = 0; i < number(3); ++i) {
      const auto program = generate(number(2) + i);
      for (size_t k = 0; k < program.size(); ++k)
        if (program[k].waits)
          printf("%lu %zu %s %s\n", static_cast<unsigned long>(i), k,
                 kKindNames[static_cast<int>(program[k].kind)],
                 program[k].needed  ? "needed"
                 : program[k].guess ? "unsure"
                                    : "needless");
    }
    return 0;
  }
  if (argc != 3 || number(2) < 1 || number(2) > kPrograms) {
    fprintf(stderr,
            "random-program FIRST COUNT (at most %zu), --truth FIRST COUNT, --show SEED or --frames\n",
            kPrograms);
    return 2;
  }
  return run(number(1), number(2));
}
