// unload: a library that uses the GPU is loaded, used and unloaded, several times, and its memory used again.
#include <dlfcn.h>
#include <libgen.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

int main(int, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libe2e_plugin.so", dirname(argv[0]));
  for (unsigned round = 0; round < 3; ++round) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      printf("%s\n", dlerror());
      return 91;
    }
    auto* run = reinterpret_cast<unsigned long (*)(unsigned)>(dlsym(library, "plugin_run"));
    printf("round %u: %lu\n", round, run(round));
    auto page = reinterpret_cast<uintptr_t>(run) & ~uintptr_t{4095};
    printf("unloaded: %d\n", dlclose(library));
    // Where it was, others may map now.
    void* again = mmap(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (again != MAP_FAILED) {
      memset(again, 1, 4096);
      munmap(again, 4096);
    }
    fflush(stdout);
  }
  return 0;
}
