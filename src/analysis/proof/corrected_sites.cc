#include "analysis/proof/corrected_sites.h"

#include <algorithm>

#include "analysis/findings/problem_kinds.h"
#include "analysis/runs/run.h"
#include "driver/catalogue.h"
#include "trace/corrector_services.h"

namespace diogenes {

namespace {

using ByKey = CorrectedSites;  // by the site alone

void add(ByKey& found, const std::string& key, CorrectedSite site) {
  std::vector<CorrectedSite>& sites = found[key];
  const bool known = std::any_of(sites.begin(), sites.end(),
                                 [&](const CorrectedSite& other) { return other.key == site.key; });
  if (!known) sites.push_back(site);
}

// By the kind that the finding's key ends with.
uint32_t how_corrected(const std::string& kind) {
  const auto is = [&kind](ProblemKind one) { return kind == kind_name(one); };
  if (is(ProblemKind::duplicate_transfer) || is(ProblemKind::duplicate_elsewhere)) return kKnowsContents;
  return is(ProblemKind::constant_transfer) ? kSetsOneValue : uint32_t{0};
}

ByKey native_keys(const SiteTable& sites) {
  ByKey found;
  for (size_t i = 0; i < sites.size(); ++i) {
    const Site& site = sites[SiteIndex{static_cast<uint32_t>(i)}];
    const DriverFunction* driver = driver_function(site.function);
    if (!driver || !is_corrected(*driver) || !site.place.process) continue;
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
    const size_t end = key.find('-');
    const auto found = known.find(key.substr(0, end));
    if (found == known.end() || end == std::string::npos) continue;
    std::vector<CorrectedSite> sites_of_key = found->second;
    for (CorrectedSite& site : sites_of_key) site.how = how_corrected(key.substr(end + 1));
    result[key] = std::move(sites_of_key);
  }
  return result;
}

}  // namespace diogenes
