#include "launcher/installed/driver_choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "driver/catalogue.h"
#include "driver/discovery/discovery.h"
#include "driver/hooking/hook_planner.h"
#include "driver/hooking/image.h"
#include "launcher/installed/known_hooks.h"

namespace diogenes::launcher {
namespace {

std::string hexadecimal(const BuildId& id) {
  std::array<char, 41> text{};
  to_hex(id, text.data());
  return text.data();
}

std::string version_of(const WaitFunctions& found) {
  if (!found.driver_version.empty() || found.version == 0) return found.driver_version;
  return fmt::format("CUDA {}.{}", found.version / 1000, found.version % 1000 / 10);
}

const char* name_of(uint16_t function) {
  if (function == kWaitFunction) return "the wait function";
  if (function == kQueueWaitFunction) return "the launch-queue wait";
  const DriverFunction* known = driver_function(function);
  return known ? known->symbol : "?";
}

// Refusals as one line: a report does not list eighty functions.
std::string refused_text(const std::vector<PlannedHook>& planned) {
  constexpr int kNamed = 4;
  std::string names;
  int refused = 0;
  for (auto& hook : planned) {
    if (hook.ok() || hook.refusal == Refusal::same_entry) continue;
    if (++refused <= kNamed)
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name_of(hook.request.function),
                           sentence(hook.refusal));
  }
  if (refused == 0) return {};
  return fmt::format("{} driver function{} cannot be hooked, and calls of {} are not seen: {}{}", refused,
                     refused == 1 ? "" : "s", refused == 1 ? "it" : "them", names,
                     refused > kNamed ? ", ..." : "");
}

}  // namespace

Result<ChosenDriver> choose_driver(DriverKind kind, const Installation& installation) {
  if (kind == DriverKind::simulated) {
    if (access(installation.simulated.c_str(), R_OK) != 0)
      return error("the simulated driver %s is missing; keep bin/ and lib/ of the installation side by side",
                   installation.simulated.c_str());
    return ChosenDriver{installation.simulated, installation.simulated.parent_path(), true};
  }
  Result<std::filesystem::path> library = locate_driver(installation.discover);
  if (library) return ChosenDriver{*library, {}, false};
  return error(
      "no CUDA driver (%s); --driver simulated runs driver-API programs on a simulated GPU, for trying "
      "diogenes "
      "out",
      library.error().c_str());
}

Result<DriverHooks> prepare_driver(const ChosenDriver& driver, const Installation& installation,
                                   bool use_cache) {
  if (use_cache)
    if (std::optional<DriverHooks> known = read_known_hooks(installation.cache, driver)) return *known;
  Result<Image> image = Image::open(driver.library);
  if (!image) return image.error();
  DriverHooks result;
  result.driver = driver;
  result.build_id = image->build_id();
  result.build_id_text = hexadecimal(result.build_id);
  if (result.build_id.length == 0)
    result.problems.push_back(fmt::format(
        "{} has no build-id: it is taken for the same file by its path alone", driver.library.string()));

  std::vector<HookRequest> waits;
  Result<WaitFunctions> found =
      find_wait_functions(driver.library, installation.discover, installation.cache, use_cache);
  if (found) {
    const auto& wait = found->wait;
    const auto& queue = found->queue;
    result.version = version_of(*found);
    result.evidence_json = found->evidence_json;
    result.from_cache = found->from_cache;
    result.wait_functions.push_back(
        {.offset = wait.offset, .agreed = wait.agreed, .known = wait.known, .queue = false});
    waits.push_back({wait.offset, kWaitFunction});
    if (queue) {
      result.wait_functions.push_back(
          {.offset = queue->offset, .agreed = queue->agreed, .known = queue->known, .queue = true});
      waits.push_back({queue->offset, kQueueWaitFunction});
    }
  } else {
    result.problems.push_back(fmt::format(
        "the driver's wait function is not known ({}): time waited is that of the known public functions",
        found.error().c_str()));
  }

  std::vector<HookRequest> requests = waits;
  for (auto& request : catalogue_requests(*image)) requests.push_back(request);
  std::vector<PlannedHook> planned = plan_hooks(*image, requests);
  for (size_t i = 0; i < planned.size(); ++i) {
    if (!planned[i].ok()) continue;
    if (i < waits.size()) result.waits.push_back(planned[i].site);
    result.all.push_back(planned[i].site);
  }
  if (std::string refused = refused_text(planned); !refused.empty()) result.problems.push_back(refused);
  if (result.all.empty())
    return error("nothing of %s can be hooked: is it a CUDA driver for x86-64?", driver.library.c_str());
  // A wait function that no check confirmed is looked for again the next time, as find_wait_functions() has it.
  if (found && (found->from_cache || found->wait.verified)) keep_hooks(installation.cache, result);
  return result;
}

}  // namespace diogenes::launcher
