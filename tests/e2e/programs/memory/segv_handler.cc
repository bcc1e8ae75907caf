// segv_handler before|after|ignore: the program's own handler for SIGSEGV, installed before or after CUDA is
// used, on a stack of its own. It recovers by siglongjmp, and by giving access and returning, as a
// collector's write barrier does.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>

#include "cuda_user.h"

static sigjmp_buf recovery;
static char* page;  // the program's own protected page
static volatile sig_atomic_t barriers, jumps, strange, off_stack;
static char* alternate;

static void handler(int, siginfo_t* info, void*) {
  char here = 0;
  if (&here < alternate || &here >= alternate + 65536) off_stack = off_stack + 1;
  auto* address = static_cast<char*>(info->si_addr);
  if (address >= page && address < page + 4096) {
    barriers = barriers + 1;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    return;
  }
  if (address == reinterpret_cast<char*>(0x10)) {
    jumps = jumps + 1;
    siglongjmp(recovery, 1);
  }
  strange = strange + 1;
  _exit(93);
}

static void install() {
  stack_t stack = {};
  alternate =
      static_cast<char*>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  stack.ss_sp = alternate;
  stack.ss_size = 65536;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}

static void fault_on_purpose() {
  mprotect(page, 4096, PROT_NONE);
  page[100] = 1;
  volatile uintptr_t low = 0x10;
  auto* nowhere = reinterpret_cast<volatile char*>(low);
  if (sigsetjmp(recovery, 1) == 0) *nowhere = 1;
}

int main(int, char** argv) {
  page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const bool first = strcmp(argv[1], "before") == 0;
  if (strcmp(argv[1], "ignore") == 0) signal(SIGSEGV, SIG_IGN);  // as some launch scripts leave it
  if (first) {
    install();
    fault_on_purpose();
  }
  CudaUser user;
  uint32_t* pinned = CudaUser::pinned();
  user.compute_pinned(pinned, 3);
  if (!first) install();
  fault_on_purpose();
  say("result %lu\n", static_cast<unsigned long>(sum(pinned)));
  for (uint32_t i = 0; i < 10; ++i) {
    user.compute_pinned(pinned, i);
    fault_on_purpose();
    say("result %lu\n", static_cast<unsigned long>(sum(pinned)));
  }
  struct sigaction now = {};
  sigaction(SIGSEGV, nullptr, &now);
  say("handler is ours: %d, flags %x\n", now.sa_sigaction == handler,
      static_cast<unsigned>(now.sa_flags & (SA_SIGINFO | SA_ONSTACK | SA_RESTART)));
  say("barriers %d, jumps %d, strange %d, not on our stack %d\n", barriers, jumps, strange, off_stack);
  return 0;
}
