// Who follows values behind their first touch: a table of functions. src/values makes one, in a library of its own that is
// preloaded where the plan asks for it; the agent finds it by name.
#pragma once
#include <signal.h>
#include <ucontext.h>

#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes {

// Whose code an instruction is.
enum class CodeOf : uint8_t {
  program,
  agent,  // must not be single-stepped: it blocks signals, and holds locks that handlers take
  driver,
  passage,  // the agent's, and the program runs it for a system call: nothing of the program's happens in it
};

// Which arguments of a call into the driver are values or lead to some. Positions from 0; -1: there is none.
struct DriverArguments {
  int8_t values = 0;               // so many, from the first on
  int8_t parameters = -1;          // a kernel's: an array of pointers to them
  int8_t source = -1, bytes = -1;  // of a copy
};

// What the agent does for it. All may be called in a signal's handler.
struct ValueServices {
  bool (*copy)(void* to, const void* from, size_t bytes);  // false: a byte could not be read or written
  long (*system_call)(long number, long a, long b, long c, long d, long e, long f);  // unseen by the guards
  uint32_t (*stack)(const ucontext_t* context);  // of the instruction that is next
  bool (*append)(const ValueRecord& record);     // to the calling thread's file
  CodeOf (*code_of)(uintptr_t address);
  DriverArguments (*arguments_of)(uintptr_t function);  // of the driver's that begins there
  bool (*followed)(uintptr_t instruction);              // the plan names it
  int64_t (*now)();
  int64_t budget_ns;  // that single-stepping may take in this process
};

// A touch that was recorded.
struct TouchedValue {
  AddressRange range;  // that was watched
  uintptr_t address;   // the first byte of it that was touched, as far as it is known
  uint32_t stack;
  int64_t at_ns;
  uint32_t back;  // bytes behind the instruction that are certain to be of it; 0: it is still to be executed
};

struct ValueSource {
  uint64_t bytes;                                // of this structure
  bool (*start)(const ValueServices& services);  // once, before all else; false: it cannot work here
  // In the handler of the touch's signal, on the thread that touched: where the value is to be followed, the
  // context single-steps from here on.
  void (*touched)(const TouchedValue& value, ucontext_t* context);
  // A SIGTRAP. True: it was for this. The context may be changed.
  bool (*trap)(const siginfo_t* info, ucontext_t* context);
  // A system call of the calling thread is given this memory.
  void (*system_call)(AddressRange memory, ucontext_t* context);
  // A signal handler of the program's begins on the calling thread. With a context: single steps are not possible
  // there any more.
  void (*interrupted)(ucontext_t* context);
  void (*finish)();  // orderly end: what is still under way is recorded
  void (*forget)();  // in a forked child
};

inline constexpr const char* kValueSourceSymbol = "diogenes_value_source";  // a ValueSource
inline constexpr uint32_t kValueRegisters = 2;  // debug registers of each thread that are left to it

}  // namespace diogenes
