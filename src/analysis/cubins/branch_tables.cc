#include "analysis/cubins/branch_tables.h"

#include <algorithm>

#include "base/read_bytes.h"

namespace diogenes {
namespace {

constexpr uint8_t kLong = 4, kBranchTargets = 0x34;

void add_records(std::span<const uint8_t> records, uint32_t section, std::vector<BranchTarget>& out) {
  uint32_t branch = 0, unknown = 0, count = 0, target = 0;
  for (size_t position = 0; read_number(records, &position, &branch) &&
                            read_number(records, &position, &unknown) &&
                            read_number(records, &position, &count);)
    for (; count > 0 && out.size() < kMostBranchTargets && read_number(records, &position, &target); --count)
      out.push_back({section, branch, target});
}

}  // namespace

std::vector<BranchTarget> read_branch_targets(const CubinFile& file) {
  std::vector<BranchTarget> found;
  size_t bytes_left = CubinFile::kMostBytes;  // sections may lie in one another
  for (uint32_t i = 0; i < file.section_count(); ++i) {
    const CubinFile::Section section = file.section(i);
    if (!section.name.starts_with(".nv.info.") || section.contents.size() > bytes_left) continue;
    bytes_left -= section.contents.size();
    uint8_t format = 0, number = 0;
    uint16_t size = 0;
    for (size_t position = 0; read_number(section.contents, &position, &format) &&
                              read_number(section.contents, &position, &number) &&
                              read_number(section.contents, &position, &size);) {
      if (format != kLong) continue;
      const auto value =
          section.contents.subspan(position, std::min<size_t>(size, section.contents.size() - position));
      if (number == kBranchTargets) add_records(value, section.info, found);
      position += value.size();
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace diogenes
