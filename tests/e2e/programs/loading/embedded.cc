// A program with CPython in it: embedded LIBPYTHON KERNELS.PTX FOLDER [OTHER_LIBPYTHON]. It calls the driver
// from a thread that Python knows nothing of, from Python code in FOLDER (gpu_work.py), and after Python has
// ended. With another libpython, it starts a second interpreter first.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <thread>

namespace {

void* opened(const char* path, int flags) {
  void* library = dlopen(path, RTLD_NOW | flags);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  return library;
}

int call(void* library, const char* name, const char* argument = nullptr) {
  void* function = dlsym(library, name);
  if (!function) return -1;
  return reinterpret_cast<int (*)(const char*)>(function)(argument);
}

void synchronize() {
  for (int i = 0; i < 4; ++i) cuStreamSynchronize(nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  cuInit(0);
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  if (count > 4) {
    void* other = opened(arguments[4], RTLD_LOCAL | RTLD_DEEPBIND);
    if (!other) return 3;
    call(other, "Py_Initialize");
  }
  void* python = opened(arguments[1], RTLD_GLOBAL);
  if (!python) return 3;
  synchronize();
  call(python, "Py_Initialize");
  std::thread stranger([context] {
    cuCtxSetCurrent(context);
    synchronize();
  });
  const std::string script = std::string("import sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, '") +
                             arguments[3] + "')\nimport gpu_work\ngpu_work.begin('" + arguments[2] +
                             "')\ndef embedded():\n    for i in range(8):\n        gpu_work.work()\n"
                             "        gpu_work.cuda.cuStreamSynchronize(None)\nembedded()\n";
  const int result = call(python, "PyRun_SimpleString", script.c_str());
  stranger.join();
  call(python, "Py_Finalize");
  synchronize();
  printf("done %d\n", result);
  return 0;
}
