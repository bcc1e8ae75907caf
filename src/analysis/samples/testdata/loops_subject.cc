// A program with known loops, built with several options. It prints its marks: "number address", the address as in the file. A
// compiler may make several copies of a mark. code_loops_test.cc says in how many loops each is.
#include <link.h>

#include <cstdint>
#include <cstdio>

#define MARK(number) \
  asm volatile(      \
      ".pushsection loop_marks, \"a\"\n .long %c0\n .long 99f - .\n .popsection\n 99: nop" ::"i"(number))
#define NOINLINE extern "C" __attribute__((noinline))

struct Mark {
  int32_t number, distance;  // from this field
};
extern "C" const Mark __start_loop_marks[], __stop_loop_marks[];

static volatile int sink;

NOINLINE void single(int n) {
  for (int i = 0; i < n; ++i) MARK(1);
}

NOINLINE void nested(int n, int m) {
  for (int i = 0; i < n; ++i) {
    MARK(2);
    for (int k = 0; k < m; ++k) MARK(3);
    sink = i;
  }
}

NOINLINE void one_after_the_other(int n) {
  for (int i = 0; i < n; ++i) MARK(4);
  for (int i = 0; i < n; ++i) MARK(5);
}

NOINLINE int several_exits(const int* values, int n) {
  for (int i = 0; i < n; ++i) {
    MARK(6);
    if (values[i] == 1) continue;
    if (values[i] == 2) break;
    if (values[i] == 3) {
      MARK(7);
      return i;
    }
    MARK(8);
  }
  sink = n;
  return -1;
}

NOINLINE void until(const volatile int* value) {
  while (true) {
    MARK(9);
    if (*value == 0) break;
    MARK(10);
  }
  sink = 1;
}

NOINLINE void callee() { MARK(11); }
NOINLINE void calls(int n) {
  for (int i = 0; i < n; ++i) {
    MARK(12);
    callee();
  }
}

NOINLINE void straight(int n) {
  if (n > 3) MARK(13);
  sink = n;
  MARK(14);
}

NOINLINE int recursion(int n) {
  MARK(15);
  if (n <= 0) return 0;
  const int inner = recursion(n - 1);
  sink = inner;
  return inner * 3 + 1;
}

NOINLINE int interpreter(const unsigned* codes, int n) {
  int result = n;
  for (;;) {
    MARK(20);
    switch (*codes++) {
      case 0:
        MARK(21);
        sink = sink + 1;
        continue;
      case 1:
        MARK(22);
        sink = 5;
        continue;
      case 2:
        MARK(23);
        for (int i = 0; i < result; ++i) MARK(24);
        continue;
      case 3:
        MARK(25);
        sink = result * 3;
        continue;
      case 4:
        MARK(26);
        sink = result ^ 9;
        continue;
      case 5:
        MARK(27);
        return result;
      case 6:
        MARK(28);
        sink = ~result;
        continue;
      default:
        return -1;
    }
  }
}

NOINLINE void vector(float* __restrict to, const float* __restrict from, int n, float factor) {
  MARK(30);
  for (int i = 0; i < n; ++i) to[i] = from[i] * factor + 1;
  MARK(31);
}

NOINLINE void throws(int n) {
  if (n > 2) throw n;
}
NOINLINE void handler(int n) {
  try {
    throws(n);
    MARK(32);
  } catch (int caught) {
    for (int i = 0; i < caught; ++i) MARK(33);
  }
}

// A byte that is no code, jumped over. A jump to where nobody knows. A loop in a function that is too large.
#define MARK_HERE(number) \
  ".pushsection loop_marks, \"a\"\n .long " #number ", 99f - .\n .popsection\n 99: nop\n"
#define FUNCTION(name, code) \
  asm(".text\n" #name ":\n .cfi_startproc\n" code " .cfi_endproc\n .size " #name ", . - " #name "\n")
FUNCTION(loops_data, "1: jmp 2f\n .byte 0x06\n 2:\n" MARK_HERE(40) " dec %edi\n jnz 1b\n ret\n");
FUNCTION(loops_unknown, "1:\n" MARK_HERE(41) " dec %edi\n jz 2f\n jmp *%rsi\n jmp 1b\n 2: ret\n");
FUNCTION(loops_large, "1:\n" MARK_HERE(42) " .fill 200000, 1, 0x90\n dec %edi\n jnz 1b\n ret\n");
FUNCTION(loops_two_ways_in, "test %edi, %edi\n jz 2f\n 1:\n" MARK_HERE(43) " 2: dec %edi\n jnz 1b\n ret\n");
FUNCTION(loops_call_register, "1: call *%rsi\n" MARK_HERE(44) " loop 1b\n ret\n");

int main(int argc, char**) {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        *static_cast<uint64_t*>(into) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &bias);
  for (const Mark* mark = __start_loop_marks; mark != __stop_loop_marks; ++mark)
    printf("%d %llu\n", mark->number,
           static_cast<unsigned long long>(reinterpret_cast<uint64_t>(&mark->distance) +
                                           static_cast<uint64_t>(int64_t{mark->distance}) - bias));
  if (argc == 1) return 0;
  // Never run: it keeps the functions.
  const unsigned codes[] = {5};
  const int values[] = {2};
  float numbers[] = {0, 0};
  single(argc), nested(argc, argc), one_after_the_other(argc), several_exits(values, argc), until(&sink);
  calls(argc), straight(argc), recursion(argc), interpreter(codes, argc),
      vector(numbers, numbers + 1, argc, 2);
  handler(argc);
}
