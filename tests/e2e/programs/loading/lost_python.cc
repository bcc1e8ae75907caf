// lost_python LIBPYTHON state|library: a thread state of Python's is deleted while its thread goes on, and the program's own data
// comes to lie there; or Python ends and is unloaded, and its key becomes another's.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "cuda_user.h"

namespace {

void* python;

template <typename Result = int, typename... Arguments>
Result call(const char* name, Arguments... arguments) {
  void* function = dlsym(python, name);
  if (!function) {
    say("%s is missing\n", name);
    _exit(96);
  }
  return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}

void synchronize() {
  for (int i = 0; i < 10; ++i) CHECK(cuStreamSynchronize(nullptr));
}

void lose_state(CudaUser& user) {
  void* mine = call<void*>("PyEval_SaveThread");
  void* state = nullptr;
  std::atomic<int> step{0};
  std::thread worker([&] {
    user.use_on_this_thread();
    state = call<void*>("PyThreadState_New", call<void*>("PyInterpreterState_Main"));
    call<void>("PyEval_RestoreThread", state);
    call("PyRun_SimpleString", "a = 1");
    call<void*>("PyEval_SaveThread");
    synchronize();
    step = 1;
    while (step != 2) sched_yield();
    synchronize();
  });
  while (step != 1) sched_yield();
  call<void>("PyEval_RestoreThread", mine);
  const size_t usable = malloc_usable_size(state), bytes = usable > 65'536 ? 256 : usable;
  call<void>("PyThreadState_Clear", state);
  call<void>("PyThreadState_Delete", state);
  mine = call<void*>("PyEval_SaveThread");
  for (int i = 0; i < 64; ++i) memset(malloc(bytes), 0x40, bytes);
  step = 2;
  worker.join();
  say("state lost\n");
  _exit(0);  // Python's end would look for the state
}

void lose_library() {
  call<void>("Py_Finalize");
  dlclose(python);
  static char own[64] __attribute__((aligned(64)));
  for (int i = 0; i < 4; ++i) {
    pthread_key_t key;
    pthread_key_create(&key, nullptr);
    pthread_setspecific(key, own);
  }
  synchronize();
  say("library lost\n");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  CudaUser user;
  python = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!python) {
    say("%s\n", dlerror());
    return 3;
  }
  call<void>("Py_Initialize");
  call("PyRun_SimpleString", "a = 1");
  synchronize();
  if (std::string(arguments[2]) == "state")
    lose_state(user);
  else
    lose_library();
  return 0;
}
