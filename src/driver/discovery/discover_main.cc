// diogenes-discover: what must happen in a process of its own to find a driver's wait function. Started by
// driver/discovery/discovery.cc.
//   --libcuda FILE                 makes the known waiting calls, and prints their stacks
//   --libcuda FILE --check A,B,..  hooks the functions at these image offsets, makes the calls again, and
//                                  prints the times inside
//   --libcuda FILE --device        prints the first device's name and compute capability
//   --locate                       prints the path of the libcuda.so.1 that the dynamic linker finds
// Output: one JSON object on stdout; {"error": ...} and exit status 1 where it fails.
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/catalogue.h"
#include "driver/discovery/held_call.h"
#include "driver/discovery/probe.h"
#include "driver/discovery/stack_sampler.h"
#include "driver/hooking/hook_planner.h"
#include "driver/hooking/image.h"
#include "kernels_ptx.h"

namespace diogenes {
namespace {

using nlohmann::json;

constexpr unsigned kWholeRunSeconds = 20;
const char* volatile present_call = "starting";

std::string as_hexadecimal(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(value));
  return text;
}

int fail(const std::string& what) {
  printf("%s\n", json{{"error", what}}.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  return 1;
}

// Whatever ends this process releases the kernel first. (When it is killed outright, the kernel driver ends
// its work.)
void end_by_signal(int signal) {
  the_hold.release();
  char text[200];
  const int length = snprintf(text, sizeof text, "{\"error\": \"%s during: %s; is the GPU busy or hung?\"}\n",
                              signal == SIGALRM ? "no end after 20 s" : "ended by a signal", present_call);
  if (length > 0 && write(STDOUT_FILENO, text, static_cast<size_t>(length)) < 0) _exit(2);
  _exit(1);
}

void guard_against_the_end() {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int signal : {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGBUS, SIGABRT, SIGILL}) {
    struct sigaction action {};
    action.sa_handler = end_by_signal;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
  atexit([] { the_hold.release(); });
  alarm(kWholeRunSeconds);
}

int locate() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return fail(std::string("no libcuda.so.1: ") + dlerror());
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return fail("libcuda.so.1 is not mapped");
  printf("%s\n", json{{"path", map->l_name}}.dump().c_str());
  return 0;
}

// The first device, without a context on it.
int device(const std::string& libcuda) {
  present_call = "asking for the device";
  void* library = dlopen(libcuda.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return fail(std::string("the driver cannot be loaded: ") + dlerror());
  const auto find = [&](auto& pointer, const char* name) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(library, name));
    return pointer != nullptr;
  };
  decltype(&cuInit) init = nullptr;
  decltype(&cuDeviceGetCount) count_of = nullptr;
  decltype(&cuDeviceGet) get = nullptr;
  decltype(&cuDeviceGetName) name_of = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  if (!find(init, "cuInit") || !find(count_of, "cuDeviceGetCount") || !find(get, "cuDeviceGet") ||
      !find(name_of, "cuDeviceGetName") || !find(attribute, "cuDeviceGetAttribute"))
    return fail(libcuda + " is no CUDA driver");
  if (const CUresult result = init(0); result != CUDA_SUCCESS)
    return fail("the driver does not start (cuInit: error " + std::to_string(result) +
                "); does nvidia-smi work?");
  int count = 0, major = 0, minor = 0;
  CUdevice first = 0;
  char name[256] = {};
  if (count_of(&count) != CUDA_SUCCESS || count == 0)
    return fail("the driver sees no GPU; is CUDA_VISIBLE_DEVICES empty?");
  if (get(&first, 0) != CUDA_SUCCESS || name_of(name, sizeof name, first) != CUDA_SUCCESS ||
      attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, first) != CUDA_SUCCESS ||
      attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, first) != CUDA_SUCCESS)
    return fail("the driver does not describe the first GPU");
  printf("%s\n", json{{"name", name}, {"major", major}, {"minor", minor}, {"count", count}}
                     .dump(-1, ' ', false, json::error_handler_t::replace)
                     .c_str());
  return 0;
}

json describe(const char* name, bool waits, const HeldCall& held) {
  return {{"name", name},          {"known_to_wait", waits},        {"error", held.error},
          {"waited", held.waited}, {"held_s", held.held.seconds()}, {"lasted_s", held.lasted.seconds()}};
}

// The sampled functions of libcuda, innermost first. The same stack several times is written once, with a
// count.
json driver_stacks(const HeldCall& held, const Image& image, uintptr_t base) {
  json stacks = json::array();
  for (const auto& addresses : held.samples) {
    json stack = json::array();
    for (const uintptr_t address : addresses) {
      if (address < base) continue;
      const Image::Function* function = image.containing_function(address - base);
      if (function != nullptr) stack.push_back(as_hexadecimal(function->offset));
    }
    if (!stacks.empty() && stacks.back()["stack"] == stack)
      stacks.back()["count"] = stacks.back()["count"].get<int>() + 1;
    else
      stacks.push_back({{"count", 1}, {"stack", stack}});
  }
  return stacks;
}

json find(CallMaterial& material, const Image& image, uintptr_t base) {
  json calls = json::array();
  const auto add = [&](json call, const HeldCall& held) {
    call["samples"] = driver_stacks(held, image, base);
    calls.push_back(std::move(call));
  };
  for (const WaitingCall& call : waiting_calls_table()) {
    present_call = call.name;
    const HeldCall held = hold_and_call(material, call, {});
    add(describe(call.name, call.waits, held), held);
  }
  present_call = "filling the launch queue";
  const HeldCall held = hold_and_fill_queue(material, {});
  json queue = describe("cuLaunchKernel, full launch queue", true, held);
  queue["queue"] = true;
  add(std::move(queue), held);
  return calls;
}

json check(CallMaterial& material, const Image& image, uintptr_t base, const std::vector<uint64_t>& offsets) {
  std::vector<HookRequest> requests;
  for (const uint64_t offset : offsets) requests.push_back({offset, kWaitFunction});
  json candidates = json::array();
  std::vector<std::pair<size_t, Probe*>> probes;  // index in candidates
  for (const PlannedHook& hook : plan_hooks(image, requests)) {
    json candidate{{"offset", as_hexadecimal(hook.request.entry)}, {"calls", json::array()}};
    if (!hook.ok()) {
      candidate["refused"] = sentence(hook.refusal);
    } else if (auto probe = Probe::install(hook.site, base); probe) {
      probes.emplace_back(candidates.size(), *probe);
    } else {
      candidate["refused"] = probe.error().c_str();
    }
    candidates.push_back(std::move(candidate));
  }
  HoldOptions options;
  options.hold = {60'000'000};
  options.sample = false;
  options.before_call = [&](pthread_t thread) {
    for (const auto& [index, probe] : probes) {
      probe->only(thread);
      probe->reset();
    }
  };
  const auto add = [&](const json& call) {
    for (const auto& [index, probe] : probes) {
      json entry = call;
      entry["entered"] = probe->calls();
      entry["longest_s"] = probe->longest().seconds();
      entry["total_s"] = probe->total().seconds();
      candidates[index]["calls"].push_back(std::move(entry));
    }
  };
  for (const WaitingCall& call : waiting_calls_table()) {
    if (!call.waits) continue;
    present_call = call.name;
    const HeldCall held = hold_and_call(material, call, options);
    add(describe(call.name, true, held));
  }
  present_call = "filling the launch queue";
  json queue = describe("cuLaunchKernel, full launch queue", true, hold_and_fill_queue(material, options));
  queue["queue"] = true;
  add(queue);
  return candidates;
}

int run(const std::string& libcuda, const std::vector<uint64_t>& offsets) {
  auto session = DriverSession::start(libcuda, diogenes_kernels_ptx);
  if (!session) return fail(session.error().c_str());
  // The file that is mapped; the same as given, but for links.
  auto image = Image::open((*session)->path());
  if (!image) return fail(image.error().c_str());
  if (auto ready = StackSampler::prepare(); !ready) return fail(ready.error().c_str());
  auto material = CallMaterial::allocate(session->get());
  if (!material) return fail(material.error().c_str());

  char build_id[41];
  to_hex(image->build_id(), build_id);
  const uintptr_t base = (*session)->load_address() + image->image_base();
  json result{{"path", (*session)->path()},
              {"build_id", build_id},
              {"version", (*session)->version()},
              {"device", (*session)->device_name()}};
  if (offsets.empty())
    result["calls"] = find(*material, *image, base);
  else
    result["candidates"] = check(*material, *image, base, offsets);
  printf("%s\n", result.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  fflush(stdout);
  // Not through the driver's own end: a probe is still in its code.
  the_hold.release();
  _exit(0);
}

}  // namespace
}  // namespace diogenes

int main(int argc, char** argv) {
  std::string libcuda;
  std::vector<uint64_t> offsets;
  bool only_device = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--locate") return diogenes::locate();
    if (argument == "--device") {
      only_device = true;
    } else if (argument == "--libcuda" && i + 1 < argc) {
      libcuda = argv[++i];
    } else if (argument == "--check" && i + 1 < argc) {
      for (char* text = argv[++i]; *text != 0; text += *text == ',') {
        char* end = nullptr;
        offsets.push_back(strtoull(text, &end, 0));
        if (end == text) return diogenes::fail("--check takes offsets, separated by commas");
        text = end;
      }
    } else {
      fprintf(stderr,
              "usage: diogenes-discover --libcuda FILE [--check OFFSET,OFFSET.. | --device] | --locate\n");
      return 2;
    }
  }
  if (libcuda.empty()) return diogenes::fail("--libcuda FILE is needed");
  diogenes::guard_against_the_end();
  return only_device ? diogenes::device(libcuda) : diogenes::run(libcuda, offsets);
}
