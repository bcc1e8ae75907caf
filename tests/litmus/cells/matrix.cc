#include "matrix.h"

#include <sstream>

#include "base/watchpoints_fire.h"

namespace diogenes::oracle {
namespace {

constexpr int64_t kLate = 500'000;  // ns; the late consumer comes after 1 ms
constexpr uint64_t kFrameBytes = 48;

std::string litmus() { return built("bin/tests/programs/litmus"); }

std::vector<Cell> all_cells() {
  std::istringstream lines(printed({litmus(), "--cells"}));
  std::vector<Cell> result;
  Cell cell;
  while (lines >> cell.name >> cell.truth >> cell.reason >> cell.function >> std::hex >> cell.frame >>
         std::dec)
    result.push_back(cell);
  return result;
}

bool has_watchpoints() {
  static uint64_t watched = 0;
  perf_event_attr attributes =
      register_attributes(HW_BREAKPOINT_RW, AddressRange::of(reinterpret_cast<uintptr_t>(&watched), 8), 0);
  attributes.disabled = 1;
  const long event = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (event < 0) return false;
  close(static_cast<int>(event));
  return !watchpoints_never_fire();
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

bool is_small(const std::string& name) {
  return begins(name, "heap-") || begins(name, "stack-") || begins(name, "global-");
}

// Why this machine cannot show what the cell is about; "": it can.
std::string lacking(const Cell& cell, const Machine& machine) {
  if (begins(cell.name, "managed-") && !machine.concurrent_managed)
    return "the device has no concurrent access to managed memory";
  if (machine.pageable_memory_access && (is_small(cell.name) || begins(cell.name, "large-")))
    return "the device reads pageable memory by the CPU's page tables";
  if (is_small(cell.name) && !machine.watchpoints) return "no hardware watchpoints";
  return "";
}

std::map<std::string, std::string> lines_of(const std::string& output) {
  std::map<std::string, std::string> result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) result[line.substr(0, line.find(' '))] = line;
  return result;
}

bool is_needed(char truth) { return truth == 'N' || truth == 'M' || truth == 'm'; }

bool is_tried(const Cell& cell) { return is_needed(cell.truth); }

}  // namespace

char verdict_of(const SiteVerdict& site) {
  if (site.always_unnecessary()) return 'U';
  return site.always_movable() && site.least_after_ns >= kLate ? 'M' : 'N';
}

Machine this_machine() {
  Machine machine;
  machine.watchpoints = has_watchpoints();
  std::istringstream words(printed({litmus(), "--machine"}));
  std::string name;
  int value = 0;
  while (words >> name >> value) {
    if (name == "concurrent_managed") machine.concurrent_managed = value != 0;
    if (name == "pageable_memory_access") machine.pageable_memory_access = value != 0;
    if (name == "devices") machine.devices = value;
  }
  return machine;
}

Matrix::Matrix(const std::string& part)
    : command({litmus(), part}), cells(all_cells()), machine(this_machine()) {
  std::erase_if(cells, [&](const Cell& cell) {
    if (!begins(part, "--")) return !begins(cell.name, part);
    return (cell.name.find("-hostfunction-") == cell.name.npos) != (part == "--no-host-functions");
  });
  for (const Cell& cell : cells) by_frame[cell.frame] = &cell;
  judged = judge(command);
  for (const SiteVerdict& site : judged.sites)
    if (const Cell* cell = cell_of(site); cell && cell->function == site.function)
      tested[cell].push_back(&site);
  for (const SiteVerdict& site : judged.idle)
    if (const Cell* cell = cell_of(site); cell && cell->function == site.function) idle.insert(cell);
}

const Cell* Matrix::cell_of(const SiteVerdict& site) const {
  for (const CodePlace& place : site.stack) {
    if (place.module != "litmus") continue;
    auto after = by_frame.upper_bound(place.offset);
    if (after == by_frame.begin()) continue;
    const auto& [frame, cell] = *std::prev(after);
    if (place.offset - frame < kFrameBytes) return cell;
  }
  return nullptr;
}

// Without watchpoints the 'asynchronous' copy's own wait is kept, as what it brought cannot be watched; so a
// later one that covers the same is called needless, and with the earlier one kept that is right.
bool Matrix::keeps_the_copys_wait(const Cell& cell) const {
  if (machine.watchpoints || !is_small(cell.name)) return false;
  for (const SiteVerdict& site : judged.sites)
    if (cell_of(site) == &cell && site.function == "cuMemcpyDtoHAsync" && site.function != cell.function &&
        site.unnecessary == 0)
      return true;
  return false;
}

std::vector<CellResult> Matrix::results() const {
  std::vector<CellResult> results;
  for (const Cell& cell : cells) {
    CellResult result;
    result.cell = &cell;
    result.expected = cell.truth == 'u' || cell.truth == 'm' ? 'N' : cell.truth == 'n' ? 'U' : cell.truth;
    std::string lacks = lacking(cell, machine);
    const auto sites = tested.find(&cell);
    if (sites == tested.end() || sites->second.size() != 1) {
      const size_t count = sites == tested.end() ? 0 : sites->second.size();
      const bool is_idle = count == 0 && idle.contains(&cell);
      if (is_idle) result.called = 'I';
      result.text = !lacks.empty() ? lacks
                    : is_idle      ? "found all done and did not wait"
                                   : std::to_string(count) + " sites of " + cell.function;
      if (is_idle && cell.truth == 'I')
        result.state = CellState::right;
      else if (!lacks.empty() && count == 0)
        result.state = CellState::skipped;
      results.push_back(result);
      continue;
    }
    const SiteVerdict& site = *sites->second[0];
    result.site = &site;
    result.called = verdict_of(site);
    const bool careful = cell.truth == 'u' && result.called == 'M';
    result.state = result.called == result.expected || careful            ? CellState::right
                   : result.called == 'U' && keeps_the_copys_wait(cell)   ? CellState::skipped
                   : result.called == 'U' && is_needed(cell.truth)        ? CellState::unsound
                   : result.called == 'N' && !lacks.empty() /* caution */ ? CellState::skipped
                                                                          : CellState::wrong;
    std::ostringstream text;
    if (result.state == CellState::skipped)
      text << lacks;
    else
      text << "is " << result.expected << " and was called " << result.called << ": " << site.unnecessary
           << " of " << site.instances << " unnecessary, " << site.movable << " movable from "
           << site.least_after_ns << " ns, reasons " << reason_words(site.reasons);
    result.text = text.str();
    results.push_back(result);
  }
  return results;
}

std::vector<std::string> Matrix::wrongly_reported() const {
  std::vector<std::string> result;
  for (const auto& problem : judged.report["problems"]) {
    const std::string kind = problem.value("kind", "");
    if (!kind.ends_with("-synchronization")) continue;
    SiteVerdict site;
    for (const auto& frame : problem["stack"]) {
      const std::string module = frame["module"].is_string() ? frame["module"].get<std::string>() : "";
      site.stack.push_back({module.substr(module.rfind('/') + 1),
                            std::strtoull(frame["offset"].get<std::string>().c_str(), nullptr, 16)});
    }
    const Cell* cell = cell_of(site);
    if (!cell || problem.value("operation", "") != cell->function) continue;
    const bool needless = kind == "unnecessary-synchronization";
    if (cell->truth == 'I' || (needless && is_needed(cell->truth) && !keeps_the_copys_wait(*cell)))
      result.push_back(cell->name);
  }
  return result;
}

std::vector<std::string> Matrix::untold() const {
  std::vector<std::string> result;
  std::string list;
  for (const SiteVerdict& site : judged.sites)
    if (const Cell* cell = cell_of(site); cell && is_tried(*cell)) list += skip_line(site);
  const auto before = lines_of(judged.alone.output), after = lines_of(run_late(command, list).output);
  for (const Cell& cell : cells) {
    if (!before.contains(cell.name)) continue;  // skipped: said elsewhere
    if (!after.contains(cell.name))
      result.push_back(cell.name + " was not played to its end");
    else if (is_tried(cell) && before.at(cell.name) == after.at(cell.name))
      result.push_back(cell.name + " prints the same without its " + cell.function);
    else if (!is_tried(cell) && before.at(cell.name) != after.at(cell.name))
      result.push_back(cell.name + " prints something else though nothing of it was left out");
  }
  return result;
}

}  // namespace diogenes::oracle
