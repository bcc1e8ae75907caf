// Who follows values behind their first touch: a table of functions. src/values makes one, in a library of its own that is
// preloaded where the plan asks for it; the agent finds it by name.
#pragma once
#include <signal.h>
#include <ucontext.h>

#include "base/range.h"
#include "ffm/plan.h"
#include "trace/fact_records.h"

namespace diogenes {

// Whose code an instruction is. The agent's must not be single-stepped: it blocks signals, and holds locks that handlers
// take. passage: the agent's that the program runs for a system call; nothing of the program's happens in it.
enum class CodeOf : uint8_t { program, agent, driver, passage };

// What the agent does for it. All may be called in a signal's handler.
struct ValueServices {
  bool (*copy)(void* to, const void* from, size_t bytes);  // false: a byte could not be read or written
  long (*system_call)(long number, long a, long b, long c, long d, long e, long f);  // unseen by the guards
  uint32_t (*stack)(const ucontext_t* context);  // of the instruction that is next
  bool (*append)(const ValueRecord& record);     // to the calling thread's file
  CodeOf (*code_of)(uintptr_t address);
  const ModuleRecord* (*module_of)(
      uintptr_t address);           // null: none, or it cannot be told now, on this thread
  const ProcessFile* (*process)();  // null: there is none
  const Plan* plan;
  const HookSite* hooks;  // of the plan; its places follow
};

// A touch that was recorded.
struct TouchedValue {
  AddressRange range;  // that was watched
  uintptr_t address;   // the first byte of it that was touched, as far as it is known
  uint32_t stack;
  int64_t at_ns;  // when the toucher came
  uint32_t back;  // bytes behind the instruction that are certain to be of it; 0: it is still to be executed
};

// On the thread that it is about, in its signal handler; the context may be changed. In it no system call of libc's is
// dispatched.
struct ValueSource {
  uint64_t bytes;                                // of this structure
  bool (*start)(const ValueServices& services);  // once, before all else; false: it cannot work here
  // Where the value is to be followed, the context single-steps from here on.
  void (*touched)(const TouchedValue& value, ucontext_t* context);
  bool (*trap)(const siginfo_t* info, ucontext_t* context);       // a SIGTRAP; true: it was for this
  void (*system_call)(AddressRange memory, ucontext_t* context);  // one is given this memory
  // A signal handler of the program's begins. With a context: single steps are not possible there any more.
  void (*interrupted)(ucontext_t* context);
  void (*finish)();                                // orderly end: what is still under way is recorded
  void (*closing)(uint64_t first, uint64_t last);  // the program closes files with these numbers
  void (*forget)();                                // in a forked child
};

inline constexpr const char* kValueSourceSymbol = "diogenes_value_source";  // a ValueSource
inline constexpr uint32_t kValueRegisters = 2;  // debug registers of each thread that are left to it

}  // namespace diogenes
