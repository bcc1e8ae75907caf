#include "agent/watching/facts/sampling.h"

namespace diogenes::agent::facts {

constexpr Nanoseconds kGrace{500'000'000};  // short programs are never sampled
constexpr Nanoseconds kStep{20'000'000};    // spent between two decisions
constexpr uint32_t kHot = 16, kFew = 4;     // occurrences
constexpr uint8_t kMostHalvings = 10;

alignas(Sampling) static unsigned char storage[sizeof(Sampling)];  // all zeros is the start
Sampling& sampling() { return *reinterpret_cast<Sampling*>(storage); }

// An eighth of what the whole run may cost can be spent ahead of time: programs begin with transfers.
bool Budget::is_over(Nanoseconds spent, Nanoseconds elapsed) const {
  const double took = spent.seconds(), whole = (factor - 1) * baseline.seconds();
  const double pace = (factor - 1) * (elapsed - spent).seconds();
  return factor > 1 && spent > kGrace && took > pace && (took > pace + whole / 8 || took > whole);
}

bool Budget::is_used_up(Nanoseconds elapsed) const {
  return factor > 1 && elapsed > kGrace &&
         elapsed.seconds() > (factor + 0.5) * baseline.seconds() + kGrace.seconds();
}

void Sampling::start(const Budget& budget) {
  budget_ = budget;
  for (Site& site : sites_) site = {};
  spent_ = elapsed_ = {};
  used_up_ = false;
}

SampledSite Sampling::site_of(uint32_t stack, uint16_t function) {
  const uint64_t hash = ((uint64_t{function} << 32 | stack) + 1) * 0x9e3779b97f4a7c15 >> 40;
  for (uint64_t at = hash; at < hash + 16 && budget_.factor > 1; ++at) {
    Site& site = sites_[1 + at % kSites];
    if (!site.used) site = {stack, 0, function, 0, true, 0};
    if (site.stack == stack && site.function == function) return static_cast<SampledSite>(&site - sites_);
  }
  return 0;
}

// Spread by the golden ratio: every second occurrence might be that of the same buffer.
bool Sampling::look(SampledSite number) {
  const Site& site = sites_[number];
  const uint32_t place = sites_[number].occurrences++ * 0x9e3779b9u;
  if (used_up_) return false;
  return number == 0 || site.halvings == 0 || place >> (32 - site.halvings) == 0;
}

bool Sampling::ends(Nanoseconds elapsed) {
  const bool already = used_up_;
  used_up_ |= budget_.is_used_up(elapsed);
  return used_up_ && !already;
}

void Sampling::adapt(Nanoseconds spent, Nanoseconds elapsed) {
  const Nanoseconds lately = spent - spent_;
  if (budget_.factor <= 1 || lately < kStep) return;
  Site* most = sites_;  // that can be looked at less often; the first is none
  sites_[0].cost = 0;
  // At the price of the latest, sixteen would take half of what the whole run may cost: a few gigabytes each, for example.
  const double dear = (budget_.factor - 1) * budget_.baseline.seconds() / 32;
  for (Site& site : sites_)
    if (site.occurrences >= (Nanoseconds{site.cost}.seconds() > dear ? kFew : kHot) &&
        site.halvings < kMostHalvings && site.cost > most->cost)
      most = &site;
  const double own = (elapsed - elapsed_ - lately).seconds();
  const bool recovers = lately.seconds() <= (budget_.factor - 1) * own;
  const bool matters = most->cost > lately.count / 64;
  if (matters && !recovers && budget_.is_over(spent, elapsed)) ++most->halvings;
  for (Site& site : sites_) site.cost = 0;
  spent_ = spent, elapsed_ = elapsed;
}

}  // namespace diogenes::agent::facts
