// damaged_stack: the driver is called from frames whose description leads nowhere, each in a process of its
// own. The program itself never follows it.
#include <sys/resource.h>
#include <sys/wait.h>

#include <initializer_list>

#include "cuda_user.h"

// rbp holds what it is given, and the caller's frame is said to be found by it.
asm(R"(
  .text
  .type damaged_frame, @function
damaged_frame:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %rbp
  call *%rsi
  pop %rbp
  ret
  .cfi_endproc
  .size damaged_frame, . - damaged_frame
)");
extern "C" void damaged_frame(uintptr_t rbp, CUresult (*call)());

int main() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (uintptr_t rbp :
       {uintptr_t{16}, uintptr_t{0}, ~uintptr_t{15}, uintptr_t{0x7f0000000001}, ~uintptr_t{0} / 3}) {
    const pid_t child = fork();
    if (child == 0) {
      CudaUser user;
      uint32_t* pinned = CudaUser::pinned();
      user.compute_pinned(pinned, 3);
      damaged_frame(rbp, cuCtxSynchronize);
      say("%lx: %lu\n", rbp, static_cast<unsigned long>(sum(pinned)));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) say("%lx: killed by %d\n", rbp, WTERMSIG(status));
  }
  return 0;
}
