#include "analysis/findings/brought_values.h"

#include <algorithm>
#include <utility>

namespace diogenes {
namespace {

using Content = std::pair<uint64_t, uint64_t>;

BroughtValues most_frequent(std::vector<Content>& contents) {
  std::sort(contents.begin(), contents.end());
  BroughtValues result{contents.size(), 0};
  for (auto first = contents.begin(); first != contents.end();) {
    const auto next = std::upper_bound(first, contents.end(), *first);
    result.same = std::max(result.same, static_cast<uint64_t>(next - first));
    first = next;
  }
  return result;
}

}  // namespace

std::vector<BroughtValues> brought_values(const Run& memory_tracing, const SiteTable& sites) {
  std::vector<std::vector<Content>> contents(sites.size());
  for (const Process& process : memory_tracing.processes)
    for (const Thread& thread : process.threads)
      for (const CopyContent& content : thread.contents) {
        const SiteIndex site = thread.operations[content.operation].site;
        const DriverFunction* driver = function_of(sites[site]);
        if (driver && driver->direction == Direction::device_to_host)
          contents[site.value].emplace_back(content.hash[0], content.hash[1]);
      }
  std::vector<BroughtValues> result(sites.size());
  for (size_t site = 0; site < result.size(); ++site) result[site] = most_frequent(contents[site]);
  return result;
}

}  // namespace diogenes
