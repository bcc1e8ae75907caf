// System calls over guarded memory: they succeed byte for byte, and count as uses.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "agent/watching/guard/system_calls/syscall_memory.h"
#include "agent/watching/guard/testing/child.h"

extern char** environ;

namespace diogenes::agent {
namespace {

GuardHandle guard_over(const void* begin, size_t bytes, Protection protection = Protection::no_access) {
  GuardHandle guard = raise_guard(range_of(begin, bytes), protection);
  CHECK(guard != kNoGuard);
  return guard;
}

struct Pipe {
  int ends[2];
  Pipe() { CHECK(pipe(ends) == 0); }
  ~Pipe() { close(ends[0]), close(ends[1]); }
};

TEST(Syscalls, WriteAndReadOfGuardedBuffers) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(4);
    for (int i = 0; i < 10000; ++i) memory[i] = static_cast<char>(i * 7);
    Pipe pipe;
    GuardHandle out = guard_over(memory, 10000);
    CHECK(write(pipe.ends[1], memory, 10000) == 10000);
    Touch touch = lower_guard(out);
    CHECK(touch.by == TouchBy::system_call && touch.access == Access::read &&
          touch.address == address_of(memory));
    CHECK(touch.stack != 0);
    char* back = pages(4);
    GuardHandle in = guard_over(back + 1000, 5000);
    CHECK(read(pipe.ends[0], back, 10000) == 10000);
    touch = lower_guard(in);
    CHECK(touch.by == TouchBy::system_call && touch.access == Access::write);
    CHECK(touch.address == address_of(back + 1000));
    CHECK(memcmp(memory, back, 10000) == 0);
  });
}

TEST(Syscalls, ReadingASourceIsNoUse) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    Pipe pipe;
    GuardHandle source = guard_over(memory, 4096, Protection::read_only);
    CHECK(write(pipe.ends[1], memory, 100) == 100);
    CHECK(collect(source).by == TouchBy::nobody);
    CHECK(read(pipe.ends[0], memory, 100) == 100);
    CHECK(lower_guard(source).by == TouchBy::system_call);
  });
}

TEST(Syscalls, ANeighbourInACallExposes) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    Pipe pipe;
    GuardHandle guard = guard_over(memory, 100);
    CHECK(write(pipe.ends[1], memory + 200, 100) == 100);
    CHECK(lower_guard(guard).by == TouchBy::exposed);
  });
}

TEST(Syscalls, VectorsAndMessages) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(8);
    auto* vectors = reinterpret_cast<iovec*>(memory);
    vectors[0] = {memory + 4096, 3};
    vectors[1] = {memory + 3 * 4096, 4};
    memcpy(memory + 4096, "abc", 3);
    memcpy(memory + 3 * 4096, "defg", 4);
    Pipe pipe;
    GuardHandle array = guard_over(vectors, 2 * sizeof(iovec));
    GuardHandle first = guard_over(memory + 4096, 3);
    GuardHandle second = guard_over(memory + 3 * 4096, 4);
    CHECK(writev(pipe.ends[1], vectors, 2) == 7);
    CHECK(lower_guard(array).by == TouchBy::system_call && lower_guard(first).by == TouchBy::system_call);
    CHECK(lower_guard(second).by == TouchBy::system_call);
    char text[8] = {};
    CHECK(read(pipe.ends[0], text, 7) == 7 && strcmp(text, "abcdefg") == 0);

    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = 2;
    first = guard_over(memory + 4096, 3);
    CHECK(sendmsg(ends[0], &message, 0) == 7);
    CHECK(lower_guard(first).by == TouchBy::system_call);
    memset(memory + 4096, 0, 3);
    first = guard_over(memory + 4096, 3);
    array = guard_over(vectors, 2 * sizeof(iovec));
    CHECK(recvmsg(ends[1], &message, 0) == 7);
    CHECK(lower_guard(first).by == TouchBy::system_call && lower_guard(array).by == TouchBy::system_call);
    CHECK(memcmp(memory + 4096, "abc", 3) == 0 && memcmp(memory + 3 * 4096, "defg", 4) == 0);
  });
}

TEST(Syscalls, PathsAcrossGuardedPages) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(3);
    // The text begins on an open page and ends on a guarded one.
    char* at = memory + 4090;
    strcpy(at, "/dev//null");
    GuardHandle guard = guard_over(memory + 4096, 8);
    int file = open(at, O_RDWR);
    CHECK(file >= 0);
    CHECK(lower_guard(guard).by == TouchBy::system_call);
    struct stat* status = reinterpret_cast<struct stat*>(memory + 8192);
    guard = guard_over(status, sizeof *status);
    CHECK(fstat(file, status) == 0 && S_ISCHR(status->st_mode));
    CHECK(lower_guard(guard).by == TouchBy::system_call);
    guard = guard_over(memory, 4096);
    errno = 0;
    CHECK(open(memory, O_RDONLY) == -1 && errno == ENOENT);  // an empty path
    CHECK(lower_guard(guard).by == TouchBy::system_call);
  });
}

TEST(Syscalls, StreamsOfTheCLibrary) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(100);
    for (int i = 0; i < 100 * 4096; ++i) memory[i] = static_cast<char>(i >> 3);
    FILE* file = tmpfile();
    GuardHandle guard = guard_over(memory, 100 * 4096);
    CHECK(fwrite(memory, 1, 100 * 4096, file) == 100 * 4096);
    TouchBy by = lower_guard(guard).by;
    CHECK(by == TouchBy::system_call || by == TouchBy::program);
    rewind(file);
    char* back = pages(100);
    guard = guard_over(back, 100 * 4096);
    CHECK(fread(back, 1, 100 * 4096, file) == 100 * 4096);
    CHECK(memcmp(back, memory, 100 * 4096) == 0);
    CHECK(lower_guard(guard).by != TouchBy::nobody);
    guard = guard_over(back, 4096);
    char copy[100];
    memcpy(copy, back + 50, 100);
    CHECK(lower_guard(guard).by == TouchBy::program && memcmp(copy, memory + 50, 100) == 0);
  });
}

TEST(Syscalls, BadPointersStayErrors) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 8);
    errno = 0;
    CHECK(syscall(SYS_write, 1, 8, 10) == -1);
    CHECK(syscall(SYS_openat, AT_FDCWD, 16, 0) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_writev, 1, 24, 2) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, nullptr, 8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigprocmask, 77, &guard, nullptr, 8) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, 8, nullptr, 8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigaction, SIGKILL, nullptr, &guard, 4) == -1 && errno == EINVAL);
    CHECK(read(-1, memory + 100, 1) == -1 && errno == EBADF);
    CHECK(syscall(100000) == -1 && errno == ENOSYS);
  });
}

TEST(Syscalls, AnUnknownCallTakesEverythingDown) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 8);
    Pipe pipe;
    ioctl(pipe.ends[0], 0xabcd, 5);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    guard = guard_over(memory, 8);
    int available = 0;
    CHECK(ioctl(pipe.ends[0], FIONREAD, &available) == 0);  // this one is known
    CHECK(collect(guard).by == TouchBy::nobody);
    lower_guard(guard);
  });
}

TEST(Syscalls, MemoryThatOthersReachIsNotGuarded) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    char byte = 0;
    GuardHandle guard = guard_over(memory, 8);
    iovec here{&byte, 1};
    iovec there{memory, 1};
    CHECK(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1);
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    CHECK(raise_guard(range_of(memory, 8), Protection::no_access) == kNoGuard);
  });
}

TEST(Syscalls, MemoryWithASecondMappingIsNotGuarded) {
  const auto maps_twice = [](int how, char* memory) {
    switch (how) {
      case 0:
        return mremap(memory, 0, 4096, MREMAP_MAYMOVE) != MAP_FAILED;
      case 1:
        return mremap(memory, 4096, 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) != MAP_FAILED;
      default:
        return remap_file_pages(memory + 4096, 4096, 0, 0, 0) == 0;
    }
  };
  for (int how = 0; how < 3; ++how) {
    RUN_IN_CHILD({
      CHECK(start_guards());
      const int flags = MAP_ANONYMOUS | (how == 1 ? MAP_PRIVATE : MAP_SHARED);
      auto* memory = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, flags, -1, 0));
      GuardHandle guard = guard_over(memory, 8);
      CHECK(maps_twice(how, memory));
      CHECK(lower_guard(guard).by == TouchBy::given_up);
      CHECK(raise_guard(range_of(memory, 8), Protection::no_access) == kNoGuard);
    });
  }
}

TEST(Syscalls, AdviceIsNoReleaseUnlessItCertainlyDestroys) {
  constexpr int kDontNeedLocked = 24;
  for (int advice = 0; advice < 128; ++advice) {
    const bool destroys =
        advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == kDontNeedLocked;
    EXPECT_EQ(advice_destroys(advice), destroys) << advice;
    EXPECT_LE(destroys, advice_reaches_pages(advice)) << advice;
  }
  RUN_IN_CHILD({
    constexpr int kNotKnown = 90;
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 4096);
    CHECK(madvise(memory, 4096, MADV_WIPEONFORK) == 0 && madvise(memory, 4096, MADV_KEEPONFORK) == 0);
    CHECK(collect(guard).by == TouchBy::nobody);
    CHECK(madvise(memory, 4096, kNotKnown) == -1);
    CHECK(lower_guard(guard).by == TouchBy::exposed);
  });
}

TEST(Syscalls, EveryoneElsesArgumentsAreLeftAlone) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(2);
    GuardHandle guard = guard_over(memory, 4096);
    // Registers that are no arguments of these calls hold addresses of the range.
    uint64_t in[8];
    for (int i = 0; i < 8; ++i) in[i] = address_of(memory) + static_cast<uint64_t>(i);
    uint64_t out[8] = {};
    long result = SYS_getpid;
    asm volatile(
        "mov 0(%[in]), %%rdi; mov 8(%[in]), %%rsi; mov 16(%[in]), %%rdx; mov 24(%[in]), %%r10\n\t"
        "mov 32(%[in]), %%r8; mov 40(%[in]), %%r9; mov 48(%[in]), %%r12; mov 56(%[in]), %%r13\n\t"
        "syscall\n\t"
        "mov %%rdi, 0(%[out]); mov %%rsi, 8(%[out]); mov %%rdx, 16(%[out]); mov %%r10, 24(%[out])\n\t"
        "mov %%r8, 32(%[out]); mov %%r9, 40(%[out]); mov %%r12, 48(%[out]); mov %%r13, 56(%[out])"
        : "+a"(result)
        : [in] "r"(in), [out] "r"(out)
        : "rdi", "rsi", "rdx", "r10", "r8", "r9", "r12", "r13", "rcx", "r11", "memory");
    CHECK(result == getpid());
    CHECK(memcmp(in, out, sizeof in) == 0);  // all registers but rax, rcx and r11 come back
    CHECK(collect(guard).by == TouchBy::nobody);
    lower_guard(guard);
  });
}

TEST(Syscalls, HeavyLoopsUnderGuards) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    GuardHandle guard = guard_over(memory, 4096);
    pid_t self = getpid();
    for (int i = 0; i < 20000; ++i) CHECK(syscall(SYS_getpid) == self && syscall(SYS_gettid) == self);
    Pipe pipe;
    for (int i = 0; i < 5000; ++i) {
      char byte = static_cast<char>(i), back = 0;
      CHECK(write(pipe.ends[1], &byte, 1) == 1);
      pollfd descriptor{pipe.ends[0], POLLIN, 0};
      CHECK(poll(&descriptor, 1, 1000) == 1 && descriptor.revents == POLLIN);
      CHECK(read(pipe.ends[0], &back, 1) == 1 && back == byte);
      timespec no_time{0, 1};
      CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, nullptr) == 0);
    }
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe.ends[1], &set);
    timeval no_wait{0, 0};
    CHECK(select(pipe.ends[1] + 1, nullptr, &set, nullptr, &no_wait) == 1);
    utsname name;
    CHECK(uname(&name) == 0 && strcmp(name.sysname, "Linux") == 0);
    CHECK(collect(guard).by == TouchBy::nobody);
    lower_guard(guard);
  });
}

TEST(Syscalls, ForkedChildrenSeeOpenMemoryAndTheirOwnSignals) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(2);
    strcpy(memory, "hello");
    GuardHandle guard = guard_over(memory, 8192);
    pid_t child = fork();
    if (child == 0) {
      CHECK(strcmp(memory, "hello") == 0);
      int null = open("/dev/null", O_WRONLY);
      CHECK(write(null, memory, 8192) == 8192);
      CHECK(raise_guard(range_of(memory, 10), Protection::no_access) == kNoGuard);
      struct sigaction action;
      CHECK(sigaction(SIGSEGV, nullptr, &action) == 0 && action.sa_handler == SIG_DFL);
      memory[0] = 'j';
      free(malloc(10));
      _exit(7);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(lower_guard(guard).by == TouchBy::given_up && memory[0] == 'h');
    CHECK(guard_over(memory, 10) != kNoGuard);  // guards can be raised again
  });
}

TEST(Syscalls, SpawnVforkSystemPopenWithGuardedArguments) {
  int ended = status_of([] {
    CHECK(start_guards());
    char* memory = pages(2);
    char** argv = reinterpret_cast<char**>(memory + 4096);
    strcpy(memory, "/bin/sh");
    strcpy(memory + 16, "-c");
    strcpy(memory + 32, "exit 5");
    argv[0] = memory, argv[1] = memory + 16, argv[2] = memory + 32, argv[3] = nullptr;
    int status = 0;

    GuardHandle guard = guard_over(memory, 8192);
    pid_t child = -1;
    CHECK(posix_spawn(&child, memory, nullptr, nullptr, argv, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
    CHECK(lower_guard(guard).by != TouchBy::nobody);

    guard = guard_over(memory, 8192);
    child = vfork();
    if (child == 0) {
      execv(memory, argv);
      _exit(99);
    }
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
    CHECK(lower_guard(guard).by == TouchBy::given_up);

    guard = guard_over(memory, 8192);
    CHECK(WEXITSTATUS(system(memory + 32)) == 5);
    CHECK(lower_guard(guard).by != TouchBy::nobody);

    strcpy(memory + 64, "echo popped");
    guard = guard_over(memory, 4096);
    FILE* out = popen(memory + 64, "r");
    char line[32] = {};
    CHECK(out && fgets(line, sizeof line, out) && strcmp(line, "popped\n") == 0 && pclose(out) == 0);
    CHECK(lower_guard(guard).by != TouchBy::nobody);

    guard = guard_over(memory, 8192);
    CHECK(fork() != 0 || (execv(memory, argv), false));
    CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 5);
    lower_guard(guard);

    guard = guard_over(memory, 8192);
    strcpy(line, "/nowhere");
    CHECK(execv(line, argv) == -1 && errno == ENOENT);  // and goes on
    CHECK(lower_guard(guard).by == TouchBy::given_up);
    guard = guard_over(memory, 8192);
    execv(memory, argv);
    _exit(98);
  });
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 5) << ended;  // as the shell that it became
}

}  // namespace
}  // namespace diogenes::agent
