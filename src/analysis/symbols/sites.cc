#include "analysis/symbols/sites.h"

#include <cstdio>

#include "analysis/symbols/mixed_stack.h"

namespace diogenes {

SiteIndex SiteTable::site_of(const ProcessTrace& process, uint16_t function, uint32_t stack) {
  const DriverFunction* driver = driver_function(function);
  SiteKeyBuilder builder(driver ? driver->symbol : "");
  add_stack(builder, process, stack);
  auto [found, fresh] = by_key_.try_emplace(builder.key(), SiteIndex{static_cast<uint32_t>(sites_.size())});
  if (fresh) sites_.push_back({builder.key(), driver ? function : kWaitFunction, {&process, stack}});
  return found->second;
}

const DriverFunction* function_of(const Site& site) { return driver_function(site.function); }

std::string operation_name(const Site& site) {
  const DriverFunction* function = function_of(site);
  return function ? function->operation : "(private API)";
}

std::string site_key_text(SiteKey key) {
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(key));
  return text;
}

}  // namespace diogenes
