// What kernels of one process are called, and in which shapes they were launched. In: the file `kernels`
// (driver/kernel_launches.h). A file that was cut, or damaged, is taken as far as it goes.
#pragma once
#include <string_view>
#include <vector>

#include "driver/kernel_launches.h"
#include "trace/mapped_file.h"

namespace diogenes {

class KernelTable {
 public:
  struct Launch {
    std::string_view name;  // mangled, as the source has it; "": not known
    LaunchShape shape{};
  };
  KernelTable() = default;
  explicit KernelTable(MappedFile file);

  // Of a launch that the file does not hold: one without a name.
  const Launch& operator[](uint32_t number) const;
  // Bytes behind the last launch that could be read; 0: all could.
  size_t rest() const { return rest_; }

 private:
  MappedFile file_;
  std::vector<Launch> launches_;
  size_t rest_ = 0;
};

}  // namespace diogenes
