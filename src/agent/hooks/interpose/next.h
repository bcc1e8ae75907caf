// The function of this name in the next library in line: what an interposed function stands in front of.
#pragma once
#include <dlfcn.h>

#include <atomic>

namespace diogenes::agent {

// What the calling thread is looking up, the innermost first.
struct Lookup {
  const void* next;
  const Lookup* outer;
};
inline __attribute__((tls_model("initial-exec"))) thread_local constinit const Lookup* lookups = nullptr;

// Looked up once, or once by each of the threads that come first at the same time. dlsym may itself come back into
// an interposed function: get() is null then, and the caller does with what it has.
template <typename Function>
class Next {
 public:
  // `version`: where dlsym would find an older function of the same name.
  constexpr explicit Next(const char* name, const char* version = nullptr) : name_(name), version_(version) {}

  Function* get() {
    auto* found = found_.load(std::memory_order_acquire);
    return found ? found : look_up();
  }

 private:
  __attribute__((noinline, cold)) Function* look_up() {
    for (const Lookup* outer = lookups; outer; outer = outer->outer)
      if (outer->next == this) return nullptr;
    const Lookup lookup{this, lookups};
    lookups = &lookup;
    Function* found = nullptr;
    if (version_) found = reinterpret_cast<Function*>(dlvsym(RTLD_NEXT, name_, version_));
    if (!found) found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    lookups = lookup.outer;
    found_.store(found, std::memory_order_release);
    return found;
  }

  const char* name_;
  const char* version_;
  std::atomic<Function*> found_{nullptr};
};

}  // namespace diogenes::agent
