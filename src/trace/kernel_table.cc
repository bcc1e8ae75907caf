#include "trace/kernel_table.h"

#include <cstring>

namespace diogenes {

KernelTable::KernelTable(MappedFile file) : file_(std::move(file)) {
  const auto bytes = file_.bytes();
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  size_t at = 0;
  while (bytes.size() - at >= sizeof(LaunchRecord)) {
    LaunchRecord record;
    memcpy(&record, text + at, sizeof record);
    const size_t name = at + sizeof record, number = launches_.size() + 1;
    const bool own = record.named == number;
    if (record.named == 0 || record.named > number || (!own && record.name_bytes != 0) ||
        record.name_bytes > kLongestKernelName || record.name_bytes > bytes.size() - name)
      break;
    launches_.push_back(
        {own ? std::string_view(text + name, record.name_bytes) : launches_[record.named - 1].name,
         record.shape});
    at = name + record.name_bytes;
  }
  rest_ = bytes.size() - at;
}

const KernelTable::Launch& KernelTable::operator[](uint32_t number) const {
  static const Launch kNone;
  return number == 0 || number > launches_.size() ? kNone : launches_[number - 1];
}

}  // namespace diogenes
