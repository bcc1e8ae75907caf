// What is said of a value that is only copied, and of each thing that can depend on one; and that the program which is
// single-stepped does what it does without.
#include "values/follower.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "base/watchpoints_fire.h"
#include "values/testing/stepped.h"

namespace diogenes::values {
namespace {

// It finds its way back from calls, and to copies, by debug registers.
class Follower : public testing::Test {
 protected:
  void SetUp() override {
    if (watchpoints_never_fire()) GTEST_SKIP() << "watchpoints do not fire on this machine";
  }
};

[[gnu::noipa]] void use(double) {}
[[gnu::noipa]] void pass_time(int turns) {
  for (int i = 0; i < turns; ++i) asm volatile("");
}
[[gnu::noipa]] int opaque(int value) { return value; }
volatile int decided = 0;
double kept[16];

ValueRecord the_one(const Followed& followed) {
  EXPECT_EQ(followed.status, 0);
  EXPECT_EQ(followed.records.size(), 1u);
  return followed.records.size() == 1 ? followed.records[0] : ValueRecord{};
}

void expect(const Followed& followed, ValueUse use, int flags) {
  const ValueRecord record = the_one(followed);
  EXPECT_EQ(static_cast<int>(record.use), static_cast<int>(use)) << "after " << record.steps << " steps";
  EXPECT_EQ(record.flags & ~kValueElsewhere, flags) << "after " << record.steps << " steps";
  EXPECT_EQ(record.touch_stack, 8u);
  EXPECT_GE(record.at_ns, record.touched_ns);
}

// ---- Copies

TEST_F(Follower, AValueThatIsStoredIsOnlyCopied) {
  expect(follow([](volatile double* value) { kept[3] = *value; }), ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, MemcpyCopies) {
  expect(follow([](volatile double* value) { memcpy(kept, const_cast<double*>(value), opaque(8)); }),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, AStringInstructionCopies) {
  expect(follow([](volatile double* value) {
           const void* from = const_cast<double*>(value);
           void* to = kept;
           size_t count = 8;
           asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
         }),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, AppendingToAVectorCopies) {
  expect(follow([](volatile double* value) {
           auto* values = new std::vector<double>;
           values->push_back(double{*value});
           asm volatile("" : : "r"(values) : "memory");
         }),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, AFloatOfADoubleIsACopyOfAnotherType) {
  expect(follow([](volatile double* value) {
           static float single;
           single = static_cast<float>(*value);
           asm volatile("" : : "r"(&single) : "memory");
         }),
         ValueUse::untouched, kValueCopied | kValueConverted);
}

TEST_F(Follower, PushAndPopCopy) {
  expect(follow([](volatile double* value) {
           asm volatile("push (%0); pop %%rax; mov %%rax, (%1)" : : "r"(value), "r"(kept) : "rax", "memory");
         }),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, AValueThatIsOverwrittenIsUsedByNothing) {
  expect(follow([](volatile double* value) {
           use(*value);
           asm volatile("xorps %%xmm0, %%xmm0" : : : "xmm0");
           *value = 0;
         }),
         ValueUse::nothing, 0);
}

// Behind thousands of instructions, and a call into the driver.
AS_DRIVER void some_driver_call(const void*) {
  for (int i = 0; i < 10; ++i) asm volatile("");
}
AS_AGENT void some_agent_call() {
  // A signal that is blocked kills who single-steps: nobody may be here.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(Follower, ACopyIsFollowedToItsUseLater) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           pass_time(100'000);
           some_agent_call();
           if (*const_cast<volatile double*>(&kept[3]) > 0.5) decided = 1;
         }),
         ValueUse::branch, kValueCopied | kValueWatched);
}

TEST_F(Follower, ACopyThatIsOverwrittenLaterIsUsedByNothing) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           asm volatile("xorps %%xmm0, %%xmm0" : : : "xmm0");  // else it might be used from there
           pass_time(100'000);
           *const_cast<volatile double*>(&kept[3]) = 4;
         }),
         ValueUse::nothing, kValueCopied);
}

TEST_F(Follower, ACopyOfACopyIsFollowed) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           pass_time(100'000);
           kept[5] = *const_cast<volatile double*>(&kept[3]);
           pass_time(100'000);
           if (*const_cast<volatile double*>(&kept[5]) > 0.5) decided = 1;
         }),
         ValueUse::branch, kValueCopied | kValueWatched);
}

// ---- Consequences

TEST_F(Follower, AComparisonDecidesABranch) {
  expect(follow([](volatile double* value) {
           if (*value > 0.5) decided = 1;
         }),
         ValueUse::branch, 0);
}

TEST_F(Follower, AChoiceBetweenTwoIsABranch) {
  expect(follow([](volatile double* value) {
           long result = 4;
           asm volatile("cmpq $0, (%1); cmovneq %2, %0" : "+r"(result) : "r"(value), "r"(7L) : "cc");
           decided = static_cast<int>(result);
         }),
         ValueUse::branch, 0);
}

TEST_F(Follower, ArithmeticIsFollowedToItsBranch) {
  expect(follow([](volatile double* value) {
           const double sum = *value * 3 + 1;
           if (sum > 2) decided = 1;
         }),
         ValueUse::branch, kValueComputed);
}

// As compilers write it: the value in xmm0, `negative` the way to sqrt().
#define ROOT_GUARD(compare, jump)                                      \
  "movsd (%0), %%xmm0\n\txorpd %%xmm1, %%xmm1\n\t" compare "\n\t" jump \
  " 1f\n\tsqrtsd %%xmm0, %%xmm0\n1:\n\t"                               \
  "movsd %%xmm0, (%1)"

TEST_F(Follower, TheGuardOfASquareRootDecidesNothing) {
  expect(follow([](volatile double* value) {
           asm volatile(ROOT_GUARD("ucomisd %%xmm0, %%xmm1", "ja")
                        :
                        : "r"(value), "r"(kept)
                        : "xmm0", "xmm1", "cc", "memory");
         }),
         ValueUse::untouched, kValueCopied | kValueComputed);
  expect(follow([](volatile double* value) {
           asm volatile(ROOT_GUARD("ucomisd %%xmm1, %%xmm0", "jb")
                        :
                        : "r"(value), "r"(kept)
                        : "xmm0", "xmm1", "cc", "memory");
         }),
         ValueUse::untouched, kValueCopied | kValueComputed);
  expect(follow([](volatile double* value) { kept[3] = std::sqrt(*value); }), ValueUse::untouched,
         kValueCopied | kValueComputed);
}

TEST_F(Follower, OtherBranchesBeforeASquareRootDecide) {
  // The program's own comparison is another instruction; one with another number than zero is no guard, either.
  expect(follow([](volatile double* value) {
           asm volatile(ROOT_GUARD("comisd %%xmm0, %%xmm1", "ja")
                        :
                        : "r"(value), "r"(kept)
                        : "xmm0", "xmm1", "cc", "memory");
         }),
         ValueUse::branch, 0);
  expect(follow([](volatile double* value) {
           asm volatile(ROOT_GUARD("pcmpeqd %%xmm1, %%xmm1; psrlq $2, %%xmm1; ucomisd %%xmm0, %%xmm1", "ja")
                        :
                        : "r"(value), "r"(kept)
                        : "xmm0", "xmm1", "cc", "memory");
         }),
         ValueUse::branch, 0);
  expect(follow([](volatile double* value) {
           const double number = *value;
           if (number < 0) decided = 1;
           kept[3] = std::sqrt(number);
         }),
         ValueUse::branch, 0);
}

// Single steps take a microsecond each and more; the branch comes at once without them.
TEST_F(Follower, TheTimeOfAUseIsThatWithoutSingleSteps) {
  const ValueRecord record = the_one(follow([](volatile double* value) {
    const double number = *value;
    pass_time(1000);
    if (number > 0.5) decided = 1;
  }));
  EXPECT_EQ(record.use, ValueUse::branch);
  EXPECT_GT(record.steps, 1000u);
  EXPECT_EQ(record.at_ns, record.touched_ns);
}

TEST_F(Follower, TheTimeUntilACopyIsUsedCounts) {
  const ValueRecord record = the_one(follow([](volatile double* value) {
    kept[3] = *value;
    pass_time(100'000);
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
    if (*const_cast<volatile double*>(&kept[3]) > 0.5) decided = 1;
  }));
  EXPECT_EQ(record.use, ValueUse::branch);
  EXPECT_GE(record.at_ns - record.touched_ns, 5'000'000);
}

TEST_F(Follower, AFlagThatIsStoredDecidesLater) {
  expect(follow([](volatile double* value) {
           volatile bool large = *value > 0.5;
           if (large) decided = 1;
         }),
         ValueUse::branch, kValueComputed | kValueCopied);
}

TEST_F(Follower, AnIndexIsAnAddress) {
  expect(follow([](volatile double* value) { use(kept[static_cast<int>(*value * 4)]); }), ValueUse::address,
         kValueComputed | kValueConverted);
}

TEST_F(Follower, BytesAreWritten) {
  expect(follow([](volatile double* value) {
           double copy = *value;
           int pipes[2];
           if (pipe(pipes) != 0 || write(pipes[1], &copy, sizeof copy) != sizeof copy) _exit(1);
         }),
         ValueUse::system_call, kValueCopied);
}

TEST_F(Follower, PrintingLooksAtTheValue) {
  const Followed followed = follow([](volatile double* value) {
    char text[32];
    snprintf(text, sizeof text, "%f", *value);
    if (strcmp(text, "0.750000") != 0) _exit(1);
  });
  const ValueRecord record = the_one(followed);
  EXPECT_TRUE(record.use == ValueUse::branch || record.use == ValueUse::address)
      << static_cast<int>(record.use);
}

TEST_F(Follower, AnArgumentOfTheDriverIsSeen) {
  expect(follow([](volatile double* value) {
           double argument = *value;
           void* arguments[] = {&argument, nullptr};
           some_driver_call(arguments);
         }),
         ValueUse::driver, kValueCopied);
}

TEST_F(Follower, ACallIntoTheDriverWithoutItIsPassedOver) {
  expect(follow([](volatile double* value) {
           long copy;
           asm volatile("mov (%1), %0" : "=r"(copy) : "r"(value));
           register long held asm("rbx") = copy;
           asm volatile("" : "+r"(held));
           some_driver_call(nullptr);
           some_agent_call();
           asm volatile("test %0, %0; jz 1f; movl $1, %1; 1:" : : "r"(held), "m"(decided) : "cc");
         }),
         ValueUse::branch, 0);
}

// ---- By watchpoints: the instruction that touched has been executed

constexpr Setting kBehind{.by_watchpoint = true};

// As free() does: the allocator's own data come to lie where a copy was.
AS_AGENT void agent_overwrites(double* copy) { *copy = 3; }
TEST_F(Follower, ACopyThatIsOverwrittenInACallIsNone) {
  expect(follow([](volatile double* value) {
           kept[3] = kept[5] = *value;
           asm volatile("" : : : "memory");
           agent_overwrites(&kept[3]);
           asm volatile("" : : : "memory");
           if (kept[3] > 2) decided = 1;
         }),
         ValueUse::untouched, kValueCopied);
  expect(follow([](volatile double* value) {
           kept[3] = kept[5] = *value;
           asm volatile("" : : : "memory");
           agent_overwrites(&kept[3]);
           asm volatile("" : : : "memory");
           if (kept[5] > 2) decided = 1;
         }),
         ValueUse::branch, kValueCopied);
}

TEST_F(Follower, BehindAWatchpointTheInstructionIsFound) {
  expect(follow([](volatile double* value) { kept[3] = *value; }, kBehind), ValueUse::untouched,
         kValueCopied);
  expect(follow(
             [](volatile double* value) {
               if (*value > 0.5) decided = 1;
             },
             kBehind),
         ValueUse::branch, 0);
  expect(follow(
             [](volatile double* value) {
               const double sum = *value * 3 + 1;
               if (sum > 2) decided = 1;
             },
             kBehind),
         ValueUse::branch, kValueComputed);
}

TEST_F(Follower, BehindAWatchpointTheAddressMayBeOverwritten) {
  expect(follow(
             [](volatile double* value) {
               asm volatile("mov %0, %%rax; mov (%%rax), %%rax; mov %%rax, (%1)"
                            :
                            : "r"(value), "r"(kept)
                            : "rax", "memory");
             },
             kBehind),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, BehindAWatchpointAStringInstructionCopies) {
  expect(follow(
             [](volatile double* value) {
               const void* from = const_cast<double*>(value);
               void* to = kept;
               size_t count = 8;
               asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
             },
             kBehind),
         ValueUse::untouched, kValueCopied);
}

// ---- What the program does beside it

TEST_F(Follower, FlagsOnTheStackDoNotShowTheTrapFlag) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           uint64_t flags = 0;
           asm volatile("pushfq; pop %0" : "=r"(flags));
           if (flags & 0x100) _exit(1);
           asm volatile("pushfq; popfq" : : : "cc");
           for (int i = 0; i < 10; ++i) use(i);
         }),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, AHandlerInBetweenEndsIt) {
  expect(follow([](volatile double* value) {
           static volatile int handled = 0;
           signal(SIGUSR1, [](int) {
             interrupted(nullptr);
             handled = 1;
           });
           kept[3] = *value;
           raise(SIGUSR1);
           if (!handled) _exit(1);
           if (kept[3] > 0.5) decided = 1;
         }),
         ValueUse::handler, kValueCopied);
}

TEST_F(Follower, AJumpOutOfACallIsSurvived) {
  expect(follow([](volatile double* value) {
           static jmp_buf there;
           kept[3] = *value;
           if (setjmp(there) == 0) longjmp(there, 1);
           if (*const_cast<volatile double*>(&kept[3]) > 0.5) decided = 1;
         }),
         ValueUse::branch, kValueCopied);
}

jmp_buf out_of_the_agent;
AS_AGENT void agent_that_jumps() { longjmp(out_of_the_agent, 1); }

TEST_F(Follower, AJumpOutOfThatAgentLeavesTheProgramAlone) {
  const Followed followed = follow([](volatile double* value) {
    kept[3] = *value;
    if (setjmp(out_of_the_agent) == 0) agent_that_jumps();
    if (kept[3] != 0.75) _exit(1);
  });
  EXPECT_EQ(the_one(followed).use, ValueUse::untouched);
}

// Single steps end unseen there: the next touch of this thread is followed all the same.
TEST_F(Follower, AJumpOutOfAHandlerIsSurvived) {
  const Followed followed = follow([](volatile double* value) {
    static sigjmp_buf there;
    signal(SIGUSR1, [](int) {
      interrupted(nullptr);
      siglongjmp(there, 1);
    });
    kept[3] = *value;
    if (sigsetjmp(there, 0) == 0) raise(SIGUSR1);
    mprotect(const_cast<double*>(value), 4096, PROT_NONE);
    if (*value > 0.5) decided = 1;
  });
  EXPECT_EQ(followed.status, 0);
  ASSERT_EQ(followed.records.size(), 2u);
  EXPECT_EQ(followed.records[0].use, ValueUse::handler);
  EXPECT_EQ(followed.records[1].use, ValueUse::branch);
}

// What the handler touches is followed, and then the code that it interrupted goes on: its trap flag is still set.
TEST_F(Follower, ATouchInAHandlerIsSurvived) {
  static volatile double* place = nullptr;
  const Followed followed = follow([](volatile double* value) {
    place = value;
    signal(SIGUSR1, [](int) {
      interrupted(nullptr);
      mprotect(const_cast<double*>(place), 4096, PROT_NONE);
      if (*place > 0.5) decided = 1;
    });
    kept[3] = *value;
    raise(SIGUSR1);
  });
  EXPECT_EQ(followed.status, 0);
  ASSERT_EQ(followed.records.size(), 2u);
  EXPECT_EQ(followed.records[0].use, ValueUse::handler);
  EXPECT_EQ(followed.records[1].use, ValueUse::branch);
}

TEST_F(Follower, ASystemCallInAHandlerIsSurvived) {
  expect(follow([](volatile double* value) {
           signal(SIGUSR1, [](int) {
             interrupted(nullptr);
             ucontext_t of_call{};
             system_call(AddressRange::of(reinterpret_cast<uintptr_t>(&kept[3]), sizeof kept[3]), &of_call);
           });
           kept[3] = *value;
           raise(SIGUSR1);
         }),
         ValueUse::system_call, kValueCopied);
}

// As the kernel tells a step of which the processor names no cause.
TEST_F(Follower, ATrapWithoutACauseIsTheSteps) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           siginfo_t info{};
           info.si_signo = SIGTRAP, info.si_code = TRAP_BRKPT;
           syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &info);
         }),
         ValueUse::untouched, kValueCopied);
}

TEST_F(Follower, ATrapOfTheProgramsIsItsOwn) {
  const Followed followed = follow([](volatile double* value) {
    kept[3] = *value;
    asm volatile(".byte 0xf1");  // int1, which the kernel tells with the same code
  });
  EXPECT_EQ(WEXITSTATUS(followed.status), 98);  // it is handed on to the program
}

TEST_F(Follower, AThreadThatEndsEndsIt) {
  expect(follow([](volatile double* value) { std::thread([value] { kept[3] = *value; }).join(); }),
         ValueUse::thread_end, kValueCopied);
}

TEST_F(Follower, AForkIsNotStepped) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           const pid_t child = fork();
           if (child == 0) {
             forget();
             _exit(kept[3] == 0.75 ? 0 : 1);
           }
           int status = -1;
           if (waitpid(child, &status, 0) != child || status != 0) _exit(1);
         }),
         ValueUse::thread_end, kValueCopied);
}

TEST_F(Follower, AThreadThatIsMadeIsNotStepped) {
  expect(follow([](volatile double* value) {
           std::thread([] {}).join();  // what it needs is looked up once
           kept[3] = *value;
           std::thread([] { decided = 2; }).join();
           if (decided != 2) _exit(1);
         }),
         ValueUse::thread_end, kValueCopied);
}

TEST_F(Follower, SystemCallsInBetweenArePassedOver) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           if (getppid() <= 0) _exit(1);
           usleep(1);
           if (*const_cast<volatile double*>(&kept[3]) > 0.5) decided = 1;
         }),
         ValueUse::branch, kValueCopied);
}

TEST_F(Follower, AnInstructionThatIsNotForSteppingEndsIt) {
  expect(follow([](volatile double* value) {
           kept[3] = *value;
           struct sigaction action {};
           action.sa_handler = [](int) { _exit(0); };
           sigaction(SIGILL, &action, nullptr);
           asm volatile("ud2");
         }),
         ValueUse::instruction, kValueCopied);
}

TEST_F(Follower, TooManyCopiesAreSaid) {
  expect(follow([](volatile double* value) {
           static double scattered[400];
           const double copy = *value;
           for (int i = 0; i < 400; i += 4) *const_cast<volatile double*>(&scattered[i]) = copy;
         }),
         ValueUse::room, kValueCopied);
}

// Not only before a value is followed: what is left of the window is not stepped through, and the copy is watched all the same.
TEST_F(Follower, SteppingEndsWithTheBudget) {
  const Followed followed = follow(
      [](volatile double* value) {
        kept[3] = *value;
        pass_time(10'000);
      },
      {.budget_ns = 0});
  expect(followed, ValueUse::untouched, kValueCopied);
  EXPECT_LE(the_one(followed).steps, 256u);
}

// Of each place the first touches are followed, and later ones more and more rarely.
TEST_F(Follower, AFewTouchesOfAPlaceAreFollowed) {
  const Followed followed = follow([](volatile double* value) {
    const auto page = reinterpret_cast<uintptr_t>(value);
    for (int i = 0; i < 40; ++i) {
      mprotect(reinterpret_cast<void*>(page), 4096, PROT_NONE);
      if (*value > 0.5) decided = 1;
    }
  });
  EXPECT_EQ(followed.status, 0);
  EXPECT_EQ(followed.records.size(), 7u);  // the 1st to 4th, 8th, 16th, 32nd
  for (const ValueRecord& record : followed.records) EXPECT_EQ(record.use, ValueUse::branch);
}

}  // namespace
}  // namespace diogenes::values
