#include "analysis/corrected_sites.h"

#include <algorithm>

#include "analysis/run.h"
#include "driver/catalogue.h"

namespace diogenes {

namespace {

using ByKey = CorrectedSites;  // by the site alone

void add(ByKey& found, const std::string& key, CorrectedSite site) {
  std::vector<CorrectedSite>& sites = found[key];
  const bool known = std::any_of(sites.begin(), sites.end(),
                                 [&](const CorrectedSite& other) { return other.key == site.key; });
  if (!known) sites.push_back(site);
}

ByKey native_keys(const SiteTable& sites) {
  ByKey found;
  for (size_t i = 0; i < sites.size(); ++i) {
    const Site& site = sites[SiteIndex{static_cast<uint32_t>(i)}];
    const DriverFunction* driver = driver_function(site.function);
    if (!driver || !(driver->role == Role::synchronize || releases_device_memory(*driver)) ||
        !site.place.process)
      continue;
    const ProcessTrace& process = *site.place.process;
    const SiteKey key = native_site_key(driver->symbol, process.stacks.frames(site.place.stack),
                                        [&](Frame frame) { return process.module(frame.module()); });
    add(found, site_key_text(site.key), {key, site.function, 0});
  }
  return found;
}

}  // namespace

Result<CorrectedSites> corrected_sites(const std::filesystem::path& stage_folder,
                                       const std::vector<std::string>& keys) {
  SiteTable sites;
  Result<Run> run = load_run(stage_folder, sites, Load::operations);
  if (!run) return run.error();
  const ByKey known = native_keys(sites);
  CorrectedSites result;
  for (const std::string& key : keys) {
    const auto found = known.find(key.substr(0, key.find('-')));
    if (found != known.end()) result[key] = found->second;
  }
  return result;
}

}  // namespace diogenes
