// Sites: the same driver function over the same stack. They are shared by all runs of a session, where one has the same
// SiteIndex in every run (trace/site_key.h).
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "base/index.h"
#include "driver/catalogue.h"
#include "trace/reader.h"
#include "trace/site_key.h"

namespace diogenes {

using SiteIndex = Index<struct SiteTag>;

// A stack that can be resolved: whose process it is in says which modules its frames are of.
struct StackPlace {
  const ProcessTrace* process = nullptr;
  uint32_t stack = kNoStack;
  auto operator<=>(const StackPlace&) const = default;
};

struct Site {
  SiteKey key = 0;
  uint16_t function = kNoFunction;
  StackPlace place;  // where it was seen first
};

class SiteTable {
 public:
  SiteIndex site_of(const ProcessTrace& process, uint16_t function, uint32_t stack);
  const Site& operator[](SiteIndex index) const { return sites_[index.value]; }
  size_t size() const { return sites_.size(); }

 private:
  std::vector<Site> sites_;
  std::unordered_map<SiteKey, SiteIndex> by_key_;
};

const DriverFunction* function_of(const Site& site);
std::string site_key_text(SiteKey key);  // as the keys of findings begin
std::string operation_name(
    const Site& site);  // "cuMemFree"; a wait outside any public call is "(private API)"

}  // namespace diogenes
