#include "corrector/transfers/deliveries.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace diogenes::corrector {
namespace {

constexpr uint64_t kBytes = 3 * 4096;
bool no_files = false;

long system_call(long number, long a, long b, long c, long d, long e, long f) {
  return no_files && number == SYS_openat ? -EMFILE : syscall(number, a, b, c, d, e, f);
}

// Memory of the program's under a guard.
struct Delivered : testing::Test {
  std::unique_ptr<Deliveries> deliveries = std::make_unique<Deliveries>();
  CorrectorServices services{};
  char* program = nullptr;
  char first[kBytes], second[kBytes];

  void SetUp() override {
    no_files = false;
    services.system_call = system_call;
    ASSERT_TRUE(deliveries->start(services));
    program =
        static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(program, 0, kBytes);
    mprotect(program, kBytes, PROT_NONE);
    memset(first, 1, kBytes);
    memset(second, 2, kBytes);
  }
  void TearDown() override { munmap(program, kBytes); }
  void add(Deferral deferral, uint64_t at, uint64_t bytes, const char* from) {
    deliveries->add(deferral, reinterpret_cast<uint64_t>(program) + at, bytes, from);
  }
  Deferral to_come(uint64_t at, uint64_t bytes, bool but_inside) {
    return deliveries->to_come(reinterpret_cast<uint64_t>(program) + at, bytes, but_inside);
  }
  int at(uint64_t place) {
    mprotect(program, kBytes, PROT_READ);
    return program[place];
  }
};

TEST_F(Delivered, UnderAGuardThatStaysUp) {
  add(5, 100, 8000, first);
  EXPECT_EQ(deliveries->next(4), 0u);
  EXPECT_EQ(deliveries->next(9), 5u);
  deliveries->deliver(9, false);
  EXPECT_EQ(deliveries->next(9), 0u);
  EXPECT_EQ(at(99), 0);
  EXPECT_EQ(at(100), 1);
  EXPECT_EQ(at(8099), 1);
  EXPECT_EQ(at(8100), 0);
}

TEST_F(Delivered, InTheirOrderAndNoFurther) {
  add(1, 0, 100, first);
  add(2, 50, 100, second);
  add(7, 0, 100, first);
  deliveries->deliver(2, false);
  EXPECT_EQ(deliveries->next(~0u), 7u);
  EXPECT_EQ(at(49), 1);
  EXPECT_EQ(at(50), 2);
  EXPECT_EQ(at(149), 2);
}

TEST_F(Delivered, WhatIsOverwrittenIsDropped) {
  add(1, 100, 50, first);
  add(2, 140, 100, second);
  EXPECT_EQ(to_come(100, 60, false), 2u);
  EXPECT_EQ(to_come(100, 60, true), 2u);
  EXPECT_EQ(to_come(0, 130, true), 1u);
  EXPECT_EQ(to_come(100, 40, true), 1u);
  EXPECT_EQ(to_come(100, 140, true), 0u);
  EXPECT_EQ(to_come(300, 50, false), 0u);
  deliveries->drop_inside(reinterpret_cast<uint64_t>(program) + 90, 70);
  deliveries->deliver(2, false);
  EXPECT_EQ(at(120), 0);
  EXPECT_EQ(at(141), 2);
}

// Its staging memory serves the next one.
TEST_F(Delivered, WhatIsDroppedStandsInNobodysWay) {
  add(1, 0, 50, first);
  add(2, 60, 50, second);
  deliveries->drop_inside(reinterpret_cast<uint64_t>(program), 50);
  EXPECT_EQ(deliveries->next(1), 0u);
  EXPECT_EQ(deliveries->next(2), 2u);
  deliveries->drop_inside(reinterpret_cast<uint64_t>(program), kBytes);
  EXPECT_EQ(deliveries->next(~0u), 0u);
}

TEST_F(Delivered, NothingWhereTheWorkFailed) {
  add(1, 0, 100, first);
  deliveries->deliver(1, true);
  EXPECT_EQ(deliveries->next(1), 0u);
  EXPECT_EQ(at(0), 0);
}

TEST_F(Delivered, WithoutAFile) {
  add(1, 100, 8000, first);
  no_files = true;
  deliveries->deliver(1, false);
  EXPECT_EQ(at(99), 0);
  EXPECT_EQ(at(100), 1);
  EXPECT_EQ(at(8099), 1);
}

TEST_F(Delivered, MemoryThatIsGoneIsPassedOver) {
  add(1, 0, 2 * 4096, first);
  add(2, 2 * 4096, 100, second);
  munmap(program + 4096, 4096);
  deliveries->deliver(2, false);
  EXPECT_EQ(deliveries->next(2), 0u);
  mprotect(program + 2 * 4096, 4096, PROT_READ);
  EXPECT_EQ(program[2 * 4096], 2);
}

TEST_F(Delivered, NoMoreThanThereIsRoomFor) {
  Deferral deferral = 1;
  for (; !deliveries->full(); ++deferral) add(deferral, 0, 1, deferral % 2 ? first : second);
  EXPECT_EQ(deferral, 2049u);
  deliveries->deliver(1, false);
  EXPECT_FALSE(deliveries->full());
  add(deferral, 1, 1, first);
  EXPECT_TRUE(deliveries->full());
  deliveries->deliver(deferral, false);
  EXPECT_EQ(at(0), 2);
  EXPECT_EQ(at(1), 1);
}

}  // namespace
}  // namespace diogenes::corrector
