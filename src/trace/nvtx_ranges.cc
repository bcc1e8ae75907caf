#include "trace/nvtx_ranges.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>

#include "trace/mapped_file.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

template <size_t kBytes>
std::string text_of(const char (&field)[kBytes]) {
  return {field, strnlen(field, kBytes)};
}

// A name may be cut within a letter, and may hold anything: what a terminal would obey is a question mark.
std::string name_of(const NvtxName& name) {
  std::string text = text_of(name.text);
  const bool cut = text.size() + 1 >= sizeof name.text;
  while (cut && !text.empty() && (text.back() & 0xc0) == 0x80) text.pop_back();
  if (cut && !text.empty() && (text.back() & 0x80) != 0) text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return text;
}

std::optional<NvtxRanges> read_file(const fs::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return std::nullopt;
  const auto* header = file->at<NvtxHeader>(0);
  if (!header || memcmp(header->magic, kNvtxMagic, sizeof kNvtxMagic) != 0) return std::nullopt;
  NvtxRanges ranges;
  ranges.host = text_of(header->host);
  ranges.pid = header->pid;
  ranges.created = {header->created_ns};
  ranges.more_names = header->more_names != 0;
  ranges.lost = header->lost;
  for (const NvtxName& name : header->names)
    if (name.hash != 0 && name.entered != 0 && *name.text) ranges.names.push_back(name_of(name));
  std::sort(ranges.names.begin(), ranges.names.end());
  for (uint64_t at = kNvtxMarksAt; const auto* mark = file->at<NvtxMark>(at); at += sizeof *mark)
    if (mark->at_ns > 0 && (mark->change == 1 || mark->change == -1))
      ranges.marks.push_back({{mark->at_ns}, mark->change});
  // At the same time, what begins comes first: one range takes over from another.
  std::sort(ranges.marks.begin(), ranges.marks.end(),
            [](const auto& a, const auto& b) { return std::tie(a.at, b.change) < std::tie(b.at, a.change); });
  return ranges;
}

}  // namespace

std::vector<NvtxRanges> read_nvtx_ranges(const fs::path& stage_folder) {
  std::vector<NvtxRanges> all;
  std::error_code failed;
  fs::directory_iterator entries(stage_folder, failed);
  if (failed) return all;
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kNvtxFilePrefix) || !entry.is_regular_file(failed)) continue;
    if (auto ranges = read_file(entry.path())) all.push_back(std::move(*ranges));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.host, a.pid, a.created) < std::tie(b.host, b.pid, b.created);
  });
  return all;
}

}  // namespace diogenes
