// An ELF file that is taken for the driver (driver/hooking/image.h), and hooks planned for it
// (driver/hooking/hook_planner.h).
#include "driver/hooking/hook_planner.h"
#include "driver/hooking/image.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  Result<Image> image = Image::from_bytes({bytes.begin(), bytes.end()}, "fuzzed");
  if (!image) return;
  require(image->build_id().length <= 20, "a build-id has 20 bytes or fewer");
  std::vector<HookRequest> requests = catalogue_requests(*image);
  for (const Image::Export& symbol : image->exports()) {
    require(image->find_export(symbol.name) != nullptr, "an export is found by its name");
    require(image->is_export(symbol.offset), "an export begins where it says");
    if (requests.size() < 64) requests.push_back({symbol.offset, 0});
  }
  uint64_t last = 0;
  bool first = true;
  for (const Image::Function& function : image->functions()) {
    require(first || function.offset > last, "functions are sorted, no two begin in the same place");
    first = false;
    last = function.offset;
    image->containing_function(function.offset);
    image->function_after(function.offset);
    if (requests.size() < 128) requests.push_back({function.offset, 0});
  }
  for (const Image::Segment& segment : image->segments()) {
    uint64_t sum = image->executable(segment.offset);
    for (uint8_t byte : segment.contents) sum += byte;
    for (uint8_t byte : image->bytes_at(segment.offset, UINT64_MAX)) sum -= byte;
    require(image->bytes_at(segment.offset, 16).size() <= 16, "no more bytes than were asked for");
  }
  for (const PlannedHook& hook : plan_hooks(*image, requests))
    if (hook.ok()) require(image->executable(hook.request.entry), "what is hooked is code");
}

}  // namespace diogenes::fuzz
