// A program that uses CUDA and then goes wrong as asked: faulty FAULT [STAGE]. With a stage, only in that
// stage's run (the plan's path names it); the other runs end well. Linked to libcuda.so.1.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

extern "C" {
int cuInit(unsigned);
int cuDeviceGet(int*, int);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuMemAlloc_v2(unsigned long long*, size_t);
int cuMemFree_v2(unsigned long long);
int cuMemcpyHtoD_v2(unsigned long long, const void*, size_t);
int cuMemcpyDtoH_v2(void*, unsigned long long, size_t);
int cuCtxSynchronize();
}

namespace {

bool in_stage(const char* stage) {
  const char* plan = getenv("DIOGENES_PLAN");
  return plan != nullptr && strstr(plan, (std::string("/") + stage + "/plan").c_str()) != nullptr;
}

bool use_cuda() {
  int device = 0;
  void* context = nullptr;
  unsigned long long memory = 0;
  static char buffer[1 << 20];
  if (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuDevicePrimaryCtxRetain(&context, device) != 0 ||
      cuCtxSetCurrent(context) != 0 || cuMemAlloc_v2(&memory, sizeof buffer) != 0)
    return false;
  for (int i = 0; i < 20; ++i) {
    if (cuMemcpyHtoD_v2(memory, buffer, sizeof buffer) != 0 || cuCtxSynchronize() != 0) return false;
    if (cuMemcpyDtoH_v2(buffer, memory, sizeof buffer) != 0) return false;
    buffer[0] = static_cast<char>(buffer[0] + 1);
  }
  return cuMemFree_v2(memory) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string fault = argc > 1 ? argv[1] : "none";
  if (!use_cuda()) {
    fprintf(stderr, "no CUDA\n");
    return 3;
  }
  puts("worked");
  fflush(stdout);
  if (argc > 2 && !in_stage(argv[2])) return 0;
  if (fault == "crash") raise(SIGSEGV);
  if (fault == "hang") pause();
  if (fault == "differ") printf("plan %s\n", getenv("DIOGENES_PLAN"));
  if (fault == "status") return 41;
  if (fault == "cat")
    for (int c; (c = getchar()) != EOF;) putchar(c);
  if (fault == "gigabytes") {
    static char block[1 << 20];
    for (int i = 0; i < 2048; ++i) fwrite(block, 1, sizeof block, stdout);
  }
  return 0;
}
