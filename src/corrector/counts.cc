#include "corrector/counts.h"

#include <string.h>

namespace diogenes::corrector {

namespace {

// Where no file can be made, nobody reads it.
alignas(8) unsigned char unmapped[sizeof(CorrectionsHeader) + kMostCorrectedSites * sizeof(CorrectionCounts)];

}  // namespace

void Counts::start(const CorrectorServices& services) {
  services_ = &services;
  const uint64_t bytes =
      sizeof(CorrectionsHeader) + services.plan->corrected_count * sizeof(CorrectionCounts);
  void* file = services.map_file("corrections", bytes);
  header_ = static_cast<CorrectionsHeader*>(file ? file : static_cast<void*>(unmapped));
  memcpy(header_->magic, kCorrectionsMagic, sizeof header_->magic);
  header_->sites = services.plan->corrected_count;
  for (uint32_t i = 0; i < services.plan->corrected_count; ++i)
    at(static_cast<int>(i)).key = services.sites[i].key;
}

static bool is_at(const CorrectedSite& site, uint64_t key, uint16_t function) {
  return site.key == kEverySite || (key != 0 && site.key == key && site.function == function);
}

int Counts::find(uint64_t key, uint16_t function) const {
  for (uint32_t i = 0; i < services_->plan->corrected_count; ++i)
    if (const CorrectedSite& site = services_->sites[i];
        !(site.how & kOnlyTimed) && is_at(site, key, function))
      return static_cast<int>(i);
  return -1;
}

bool Counts::lists(uint64_t key, uint16_t function) const {
  for (uint32_t i = 0; i < services_->plan->corrected_count; ++i)
    if (is_at(services_->sites[i], key, function)) return true;
  return false;
}

bool Counts::names_events() const {
  for (uint32_t i = 0; i < services_->plan->corrected_count; ++i) {
    if (services_->sites[i].key == kEverySite) return true;
    if (services_->sites[i].how & kOnlyTimed) continue;
    const DriverFunction* driver = driver_function(static_cast<uint16_t>(services_->sites[i].function));
    if (driver && driver->arguments == Arguments::event) return true;
  }
  return false;
}

}  // namespace diogenes::corrector
