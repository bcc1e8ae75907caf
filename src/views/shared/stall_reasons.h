// Why a warp did not go on when it was sampled, in plain words. In: a reason as CUPTI names it. Out: what it means, and what one
// does about it. Source: NVIDIA's documentation of Nsight Compute, "Warp Scheduler States", in own words.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace diogenes {

struct StallReason {
  const char* name;     // "long_scoreboard"
  const char* phrase;   // behind "it mostly": "waits for data from memory"
  const char* meaning;  // a sentence
  const char* advice;   // a sentence
};

std::span<const StallReason> all_stall_reasons();
// Null: this version does not know it.
const StallReason* stall_reason_named(std::string_view name);
// Of a reason that this version does not know: its name.
std::string stall_phrase(std::string_view name);

}  // namespace diogenes
