// A test's body in a process of its own: guards cannot be taken out of a process again, and some bodies die.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "agent/watching/guard/guards.h"

namespace diogenes::agent {

// The wait status of a child that runs `body`; exits with 0 where the body did not fail a CHECK.
template <typename Body>
int status_of(Body&& body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(100);
    body();
    fflush(nullptr);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      dprintf(2, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      _exit(1);                                                                            \
    }                                                                                      \
  } while (false)

#define RUN_IN_CHILD(...)                                             \
  do {                                                                \
    std::string how_it_ended = ending_of(status_of([&] __VA_ARGS__)); \
    EXPECT_EQ(how_it_ended, "exit 0");                                \
  } while (false)

inline std::string ending_of(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit " + std::to_string(WEXITSTATUS(status));
}

inline char* pages(size_t count) {
  void* memory = mmap(nullptr, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<char*>(memory);
}

inline AddressRange range_of(const void* begin, size_t bytes) {
  return AddressRange::of(reinterpret_cast<uintptr_t>(begin), bytes);
}

inline uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace diogenes::agent
