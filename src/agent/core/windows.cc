#include "agent/core/windows.h"

#include <cstdio>

#include "agent/core/running_stage.h"
#include "base/mapped_file.h"

namespace diogenes::agent {

void find_windows() {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", plan().folder, kControlFile);
  auto* page = static_cast<ControlPage*>(map_part_of_file(path, 0, 0, sizeof(ControlPage)));
  if (page && page->magic == kControlMagic) control_page = page;
}

}  // namespace diogenes::agent
