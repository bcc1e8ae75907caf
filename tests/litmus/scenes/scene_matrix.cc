#include "scene_matrix.h"

#include <map>
#include <sstream>

namespace diogenes::oracle {
namespace {

// A scene may be silent for long on a busy machine: that is no program that waits for the GPU by itself.
constexpr int kPatienceMs = 20'000;

std::string program() { return built("bin/tests/programs/scenes"); }

bool is_needless(char truth) { return truth == 'U' || truth == 'u'; }

std::string list_of(const std::vector<SceneTruth>& scenes, bool needless) {
  std::ostringstream out;
  for (const SceneTruth& scene : scenes)
    if (is_needless(scene.truth) == needless)
      out << "skip all scenes+0x" << std::hex << scene.begin << "..0x" << scene.end << std::dec << "  # "
          << scene.name << '\n';
  return out.str();
}

std::map<std::string, std::string> lines_of(const std::string& output) {
  std::map<std::string, std::string> result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) result[line.substr(0, line.find(' '))] = line;
  return result;
}

bool is_of(const SiteVerdict& site, const SceneTruth& scene) {
  return site.function == scene.function && !site.stack.empty() && site.stack[0].module == "scenes" &&
         scene.begin <= site.stack[0].offset && site.stack[0].offset < scene.end;
}

CellState state_of(char truth, const SiteVerdict& site) {
  const char called = verdict_of(site);
  switch (truth) {
    case 'C':
      if (called == 'U' && site.conditional == site.unnecessary) return CellState::right;
      return called == 'N' ? CellState::right : CellState::unsound;
    case 'u':  // counted as needed, or called what it is in truth
      return called == 'N' || called == 'U' ? CellState::right : CellState::wrong;
    case 'm':
      if (called == 'U') return CellState::unsound;
      return called == 'N' || called == 'M' ? CellState::right : CellState::wrong;
    default:
      if (called == truth) return CellState::right;
      // Moving a wait that must stay where it is breaks the program, too.
      return !is_needless(truth) && (called == 'U' || (truth == 'N' && called == 'M')) ? CellState::unsound
                                                                                       : CellState::wrong;
  }
}

}  // namespace

SceneMatrix::SceneMatrix(const std::string& begins_with) : command({program()}) {
  std::istringstream lines(printed({program(), "--scenes"}));
  SceneTruth scene;
  while (lines >> scene.name >> scene.truth >> scene.function >> std::hex >> scene.begin >> scene.end >>
         std::dec)
    if (scene.name.rfind(begins_with, 0) == 0) scenes.push_back(scene);
  if (!begins_with.empty()) command.push_back(begins_with);
}

std::vector<std::string> SceneMatrix::untold() const {
  std::vector<std::string> result;
  const auto alone = lines_of(printed(command));
  const auto late = lines_of(run_late(command, "", kPatienceMs).output);
  const auto without_needless = lines_of(run_late(command, list_of(scenes, true), kPatienceMs).output);
  const auto without_needed = lines_of(run_late(command, list_of(scenes, false), kPatienceMs).output);
  for (const SceneTruth& scene : scenes) {
    const std::string& name = scene.name;
    if (!alone.contains(name)) {
      if (name.find("managed") == name.npos) result.push_back(name + " was not played");
      continue;
    }
    auto same = [&](const std::map<std::string, std::string>& other) {
      const auto found = other.find(name);
      return found != other.end() && found->second == alone.at(name);
    };
    if (!same(late)) result.push_back(name + " prints something else, or nothing, on the adversarial driver");
    if (!same(without_needless))
      result.push_back(name + " prints something else without waits that are unnecessary in truth");
    if (!without_needed.contains(name))
      result.push_back(name + " was not played to its end");
    else if (!is_needless(scene.truth) && same(without_needed))
      result.push_back(name + " prints the same without its " + scene.function);
    else if (is_needless(scene.truth) && !same(without_needed))
      result.push_back(name + " prints something else though nothing of it was left out");
  }
  return result;
}

std::vector<SceneResult> SceneMatrix::results(const Judged& judged) const {
  static const Machine machine = this_machine();
  std::vector<SceneResult> results;
  for (const SceneTruth& scene : scenes) {
    SceneResult result;
    result.scene = &scene;
    std::vector<const SiteVerdict*> sites;
    bool idle = false;
    for (const SiteVerdict& site : judged.sites)
      if (is_of(site, scene)) sites.push_back(&site);
    for (const SiteVerdict& site : judged.idle) idle |= is_of(site, scene);
    if (sites.size() != 1) {
      result.called = idle && sites.empty() ? 'I' : 0;
      const bool unplayable =
          scene.name.find("managed") != scene.name.npos && !machine.concurrent_managed && !idle;
      result.state = unplayable && sites.empty() ? CellState::skipped : CellState::wrong;
      result.text = unplayable ? "the device has no concurrent access to managed memory"
                    : idle     ? "found all done and did not wait"
                               : std::to_string(sites.size()) + " sites";
      results.push_back(result);
      continue;
    }
    const SiteVerdict& site = *sites[0];
    result.site = &site;
    result.called = verdict_of(site);
    result.state = state_of(scene.truth, site);
    if (result.state == CellState::wrong && scene.name.ends_with("_small") && !machine.watchpoints)
      result.state = CellState::skipped;
    if (result.state != CellState::right)
      result.text = std::to_string(site.unnecessary) + " of " + std::to_string(site.instances) +
                    " unnecessary, " + std::to_string(site.movable) + " movable from " +
                    std::to_string(site.least_after_ns) + " ns, reasons " + reason_words(site.reasons) +
                    ", with the condition " + std::to_string(site.conditional);
    results.push_back(result);
  }
  return results;
}

}  // namespace diogenes::oracle
