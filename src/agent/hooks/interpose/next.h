// The function of this name in the next library in line: what an interposed function stands in front of.
#pragma once
#include <dlfcn.h>

#include <atomic>

namespace diogenes::agent {

// Looked up once. dlsym may itself come back into an interposed function: `looking` says so, and the caller
// then does with what it has.
template <typename Function>
class Next {
 public:
  // `version`: where dlsym would find an older function of the same name.
  constexpr explicit Next(const char* name, const char* version = nullptr) : name_(name), version_(version) {}

  Function* get() {
    auto* found = found_.load(std::memory_order_acquire);
    if (found) return found;
    if (looking_) return nullptr;
    looking_ = true;
    if (version_) found = reinterpret_cast<Function*>(dlvsym(RTLD_NEXT, name_, version_));
    if (!found) found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    looking_ = false;
    found_.store(found, std::memory_order_release);
    return found;
  }

 private:
  const char* name_;
  const char* version_;
  std::atomic<Function*> found_{nullptr};
  // Only threads that begin while no constructor has run could meet here, and there are none.
  bool looking_ = false;
};

}  // namespace diogenes::agent
