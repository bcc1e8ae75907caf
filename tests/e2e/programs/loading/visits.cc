// visits: a thread visits the linker's list, and its callback uses the GPU; another loads and unloads a library meanwhile.
#include <dlfcn.h>
#include <libgen.h>
#include <link.h>

#include <atomic>
#include <string>
#include <thread>

#include "cuda_user.h"

namespace {

struct Visit {
  CudaUser& user;
  uint32_t* result;
  uint32_t value;
};

int use_gpu(dl_phdr_info*, size_t, void* data) {
  auto* visit = static_cast<Visit*>(data);
  visit->user.compute(visit->result, visit->value);
  return 1;  // the first image is enough
}

}  // namespace

int main(int, char** arguments) {
  const std::string library = std::string(dirname(arguments[0])) + "/libe2e_plugin.so";
  static uint32_t result[kWords];
  CudaUser user;
  user.compute(result, 1);  // the driver may make threads now, which it could not inside a visit
  std::atomic<bool> done{false};
  std::thread loader([&] {
    while (!done) {
      void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!loaded) {
        say("%s\n", dlerror());
        _exit(97);
      }
      dlclose(loaded);
    }
  });
  uint64_t total = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    Visit visit{user, result, i};
    dl_iterate_phdr(use_gpu, &visit);
    total += sum(result);
  }
  done = true;
  loader.join();
  say("%lu\n", total);
  return 0;
}
