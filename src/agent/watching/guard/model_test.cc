// Random guards and random touches against a model that knows every access. And what things cost, as
// information.
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "agent/watching/guard/testing/child.h"

namespace diogenes::agent {
namespace {

struct Access1 {
  uintptr_t address;
  uint32_t bytes;
  bool write;
};

struct Raised {
  GuardHandle handle;
  AddressRange range;
  Protection protection;
};

bool conflicts(const Raised& guard, const Access1& access) {
  return guard.range.overlaps(AddressRange::of(access.address, access.bytes)) &&
         (guard.protection == Protection::no_access || access.write);
}

constexpr size_t kPages = 16;

Access1 random_access(std::mt19937& random, const char* memory) {
  uint32_t bytes = 1u << random() % 4;
  return {address_of(memory) + random() % (kPages * 4096 - 8), bytes, random() % 2 == 0};
}

// Every byte holds what its address says, so that all orders of writers give the same memory.
void perform(const Access1& access) {
  auto* at = reinterpret_cast<volatile char*>(access.address);
  char pattern[8];
  for (uint32_t i = 0; i < access.bytes; ++i) pattern[i] = static_cast<char>((access.address + i) * 31);
  uint64_t value = 0;
  memcpy(&value, pattern, access.bytes);
  if (access.write) {
    switch (access.bytes) {
      case 1:
        *at = pattern[0];
        break;
      case 2:
        *reinterpret_cast<volatile uint16_t*>(at) = static_cast<uint16_t>(value);
        break;
      case 4:
        *reinterpret_cast<volatile uint32_t*>(at) = static_cast<uint32_t>(value);
        break;
      default:
        *reinterpret_cast<volatile uint64_t*>(at) = value;
        break;
    }
    return;
  }
  switch (access.bytes) {
    case 1:
      CHECK(*at == pattern[0]);
      break;
    case 2:
      CHECK(*reinterpret_cast<volatile uint16_t*>(at) == static_cast<uint16_t>(value));
      break;
    case 4:
      CHECK(*reinterpret_cast<volatile uint32_t*>(at) == static_cast<uint32_t>(value));
      break;
    default:
      CHECK(*reinterpret_cast<volatile uint64_t*>(at) == value);
      break;
  }
}

char* patterned_memory() {
  char* memory = pages(kPages);
  for (size_t i = 0; i < kPages * 4096; ++i) memory[i] = static_cast<char>((address_of(memory) + i) * 31);
  return memory;
}

std::vector<Raised> raise_some(std::mt19937& random, const char* memory, size_t most) {
  std::vector<Raised> raised;
  for (size_t count = 1 + random() % most; raised.size() < count;) {
    size_t begin = random() % (kPages * 4096 - 1);
    size_t bytes = 1 + random() % (random() % 3 ? 300 : 20000);
    AddressRange range = range_of(memory + begin, std::min(bytes, kPages * 4096 - begin));
    auto protection = random() % 3 ? Protection::no_access : Protection::read_only;
    GuardHandle handle = raise_guard(range, protection);
    if (handle == kNoGuard) usleep(100);
    if (handle != kNoGuard) raised.push_back({handle, range, protection});
  }
  return raised;
}

TEST(Model, OneThreadExactly) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    std::mt19937 random(20260101);
    char* memory = patterned_memory();
    int touched = 0, untouched = 0, exposed = 0;
    for (int round = 0; round < 1500; ++round) {
      auto raised = raise_some(random, memory, 12);
      std::vector<Access1> done;
      size_t count = random() % 60;
      for (size_t i = 0; i < count; ++i) {
        done.push_back(random_access(random, memory));
        perform(done.back());
      }
      for (const Raised& guard : raised) {
        Touch touch = lower_guard(guard.handle);
        auto first =
            std::find_if(done.begin(), done.end(), [&](const Access1& a) { return conflicts(guard, a); });
        if (first == done.end()) {
          CHECK(touch.by == TouchBy::nobody || touch.by == TouchBy::exposed);
        } else {
          CHECK(touch.by == TouchBy::program || touch.by == TouchBy::exposed);
          if (touch.by == TouchBy::program) {
            // Within the access that came first; a page boundary in it may make its second half the fault.
            CHECK(touch.address >= first->address && touch.address < first->address + first->bytes);
            CHECK(touch.access == (first->write ? Access::write : Access::read));
          }
        }
        ++(touch.by == TouchBy::nobody ? untouched : touch.by == TouchBy::exposed ? exposed : touched);
      }
    }
    printf("  one thread: %d touched, %d untouched, %d exposed\n", touched, untouched, exposed);
    CHECK(touched > 1000 && untouched > 1000 && exposed < 100);
  });
}

TEST(Model, ManyThreadsSoundly) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    constexpr int kThreads = 4;
    char* memory = patterned_memory();
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, kThreads + 1);
    std::atomic<bool> end{false};
    std::vector<Access1> done[kThreads];
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        for (;;) {
          pthread_barrier_wait(&barrier);
          if (end) return;
          done[t].clear();
          for (size_t i = random() % 20; i > 0; --i) {
            done[t].push_back(random_access(random, memory));
            if (i % 7 == 3) {
              // The same through the kernel: a write of what is there.
              auto& access = done[t].back();
              static int null = open("/dev/zero", 2);
              CHECK(write(null, reinterpret_cast<void*>(access.address), access.bytes) == access.bytes);
              access.write = false;
            } else {
              perform(done[t].back());
            }
          }
          pthread_barrier_wait(&barrier);
        }
      });
    std::mt19937 random(7);
    int touched = 0, untouched = 0, exposed = 0;
    for (int round = 0; round < 1000; ++round) {
      auto raised = raise_some(random, memory, 12);
      pthread_barrier_wait(&barrier);
      // The owner goes on raising and lowering while they touch.
      for (int i = 0; i < 5; ++i) {
        AddressRange range = range_of(memory + random() % (kPages * 4096 - 100), 100);
        if (GuardHandle handle = raise_guard(range, Protection::no_access)) lower_guard(handle);
      }
      pthread_barrier_wait(&barrier);
      for (const Raised& guard : raised) {
        Touch touch = lower_guard(guard.handle);
        bool used = false;
        for (auto& list : done)
          used |=
              std::any_of(list.begin(), list.end(), [&](const Access1& a) { return conflicts(guard, a); });
        if (used) CHECK(touch.by != TouchBy::nobody);
        if (!used) CHECK(touch.by == TouchBy::nobody || touch.by == TouchBy::exposed);
        ++(touch.by == TouchBy::nobody ? untouched : touch.by == TouchBy::exposed ? exposed : touched);
      }
    }
    end = true;
    pthread_barrier_wait(&barrier);
    for (auto& thread : threads) thread.join();
    for (size_t i = 0; i < kPages * 4096; ++i)
      CHECK(memory[i] == static_cast<char>((address_of(memory) + i) * 31));
    printf("  %d threads: %d touched, %d untouched, %d exposed\n", kThreads, touched, untouched, exposed);
  });
}

void* volatile sink;

template <typename Body>
double nanoseconds_each(int times, Body&& body) {
  Nanoseconds begin = monotonic_now();
  for (int i = 0; i < times; ++i) body(i);
  return static_cast<double>((monotonic_now() - begin).count) / times;
}

TEST(Model, WhatThingsCost) {
  RUN_IN_CHILD({
    char* memory = pages(4096);
    memset(memory, 1, 4096 * 4096);
    double call_before = nanoseconds_each(100000, [](int) { syscall(SYS_getppid); });
    double free_before = nanoseconds_each(100000, [](int) { sink = malloc(100), free(sink); });
    CHECK(start_guards());
    printf("  system call: %.0f ns; dispatched, no guard: %.0f ns\n", call_before,
           nanoseconds_each(100000, [](int) { syscall(SYS_getppid); }));
    printf("  malloc and free: %.0f ns; no guard: %.0f ns\n", free_before,
           nanoseconds_each(100000, [](int) { sink = malloc(100), free(sink); }));
    for (size_t bytes : {size_t{4096}, size_t{1} << 20, size_t{8} << 20}) {
      double pair = nanoseconds_each(
          300, [&](int) { lower_guard(raise_guard(range_of(memory, bytes), Protection::no_access)); });
      printf("  raise and lower, %zu KiB resident: %.1f us\n", bytes >> 10, pair / 1000);
    }
    double touch = nanoseconds_each(2000, [&](int) {
      GuardHandle guard = raise_guard(range_of(memory, 4096), Protection::no_access);
      memory[5] = 1;
      lower_guard(guard);
    });
    double step = nanoseconds_each(2000, [&](int) {
      GuardHandle guard = raise_guard(range_of(memory, 1024), Protection::no_access);
      memory[3000] = 1;
      lower_guard(guard);
    });
    printf("  raise, touch, lower of one page: %.1f us; with a step instead: %.1f us\n", touch / 1000,
           step / 1000);
    std::vector<GuardHandle> many;
    for (int i = 0; i < 2000; ++i)
      many.push_back(raise_guard(range_of(memory + i * 8192, 8), Protection::no_access));
    printf("  beside 2000 guards: system call %.0f ns, malloc and free %.0f ns\n",
           nanoseconds_each(100000, [](int) { syscall(SYS_getppid); }),
           nanoseconds_each(100000, [](int) { sink = malloc(100), free(sink); }));
    double pair = nanoseconds_each(
        2000, [&](int) { lower_guard(raise_guard(range_of(memory + 4096, 8), Protection::no_access)); });
    printf("  beside 2000 guards: raise and lower %.1f us\n", pair / 1000);
    open_all(TouchBy::given_up);
    for (GuardHandle guard : many) lower_guard(guard);
  });
}

}  // namespace
}  // namespace diogenes::agent
