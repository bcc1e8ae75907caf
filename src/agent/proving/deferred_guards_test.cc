// Guards that stand for a deferred wait: nobody gets past one before it is done.
#include <sched.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "agent/proving/deferred_guards.h"
#include "agent/watching/guard/testing/child.h"

namespace diogenes {

namespace {

std::atomic<bool> done{false};
std::atomic<int> awaited{0}, used{0};
constexpr int64_t kWaited = 1'000'000'000'000'000;  // ns: more than a test takes
std::atomic<int64_t> fault_ns{0};

// As the GPU would: the result is there, by another mapping of the same memory, before the work is done.
struct Work {
  char* program = nullptr;
  char* gpu = nullptr;
  void end() const {
    gpu[100] = 42;
    done = true;
  }
};
Work work;

}  // namespace

const Corrector the_corrector{nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              [](Deferral) { return done.load(); },
                              [](Deferral deferral) {
                                CHECK(deferral == 7);
                                ++awaited;
                                work.end();
                                return kWaited;
                              },
                              [](Deferral deferral) {
                                CHECK(deferral == 7);
                                ++used;
                              },
                              nullptr,
                              [](int64_t ns) { fault_ns = ns; },
                              nullptr,
                              nullptr};

namespace agent {
namespace {

GuardHandle begin(Protection protection = Protection::no_access) {
  CHECK(start_guards());
  const int file = static_cast<int>(syscall(SYS_memfd_create, "work", 0));
  CHECK(file >= 0 && ftruncate(file, 4 * 4096) == 0);
  auto map = [file] {
    return static_cast<char*>(mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  };
  work.program = map(), work.gpu = map();
  start_deferred_guards();
  Watching how;
  how.deferral = 7, how.tells = true;
  const GuardHandle guard = raise_guard(range_of(work.program, 2 * 4096), protection, how);
  CHECK(guard != kNoGuard);
  return guard;
}

char read_result() { return *static_cast<volatile char*>(work.program + 100); }

TEST(DeferredGuards, AreAwaitedByATouch) {
  RUN_IN_CHILD({
    begin();
    CHECK(read_result() == 42 && awaited == 1 && used == 1);
    CHECK(-kWaited < fault_ns && fault_ns < -kWaited / 2);  // what the fault took, without the waiting
    CHECK(read_result() == 42 && awaited == 1 && used == 1);
  });
}

TEST(DeferredGuards, AreAwaitedByASystemCall) {
  RUN_IN_CHILD({
    begin();
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], work.program + 100, 1) == 1 && awaited == 1 && used == 1);
    char sent = 0;
    CHECK(read(ends[0], &sent, 1) == 1 && sent == 42);
  });
}

TEST(DeferredGuards, AreAwaitedBeforeTheirMemoryGoes) {
  RUN_IN_CHILD({
    begin();
    CHECK(munmap(work.program, 4 * 4096) == 0 && awaited == 1);
  });
}

TEST(DeferredGuards, AreAwaitedBeforeAFork) {
  RUN_IN_CHILD({
    begin();
    const pid_t child = fork();
    if (child == 0) _exit(awaited == 1 && read_result() == 42 ? 0 : 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  });
}

TEST(DeferredGuards, AgainstWritingLetReadersPass) {
  RUN_IN_CHILD({
    begin(Protection::read_only);
    CHECK(read_result() == 0 && awaited == 0);
    await_deferred(range_of(work.program, 1), true);
    CHECK(awaited == 0);
    work.program[100] = 1;
    CHECK(awaited == 1);
  });
}

TEST(DeferredGuards, ThatAreDoneOrLoweredAreNotAwaited) {
  RUN_IN_CHILD({
    const GuardHandle guard = begin();
    work.end();
    CHECK(read_result() == 42 && awaited == 0);
    lower_guard(guard);
    done = false;
    CHECK(read_result() == 42 && awaited == 0);
  });
}

}  // namespace
}  // namespace agent
}  // namespace diogenes
