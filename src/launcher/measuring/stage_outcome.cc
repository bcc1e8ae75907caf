#include "launcher/measuring/stage_outcome.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/build_id.h"
#include "trace/format.h"

namespace diogenes::launcher {
namespace {

std::string hexadecimal(const ProcessFile& process) {
  BuildId id;
  id.length = std::min<uint8_t>(process.driver_build_id_length, 20);
  memcpy(id.bytes.data(), process.driver_build_id, id.length);
  std::array<char, 41> text{};
  to_hex(id, text.data());
  return text.data();
}

}  // namespace

StageOutcome read_stage_outcome(const std::filesystem::path& stage_folder,
                                const std::string& driver_build_id) {
  StageOutcome outcome;
  std::error_code failed;
  for (auto& entry : std::filesystem::directory_iterator(stage_folder, failed)) {
    std::ifstream file(entry.path() / "process", std::ios::binary);
    auto process = std::make_unique<ProcessFile>();
    if (!file.read(reinterpret_cast<char*>(process.get()), sizeof *process)) continue;
    if (memcmp(process->magic, kTraceMagic, sizeof kTraceMagic) != 0) continue;
    ++outcome.processes;
    for (Drop lost : {Drop::records_full, Drop::file_failed})
      outcome.records_lost |= process->drops[static_cast<size_t>(lost)] > 0;
    if (process->used_cuda == 0) continue;
    ++outcome.used_cuda;
    if (process->driver_build_id_length > 0 && hexadecimal(*process) != driver_build_id)
      ++outcome.other_driver;
    outcome.driver_path.assign(process->driver_path,
                               strnlen(process->driver_path, sizeof process->driver_path));
    outcome.cuda_version = std::max(outcome.cuda_version, static_cast<int>(process->driver_version));
    int planned = std::min<int>(static_cast<int>(process->hook_count), kMaximumHooks);
    auto* end = process->hook_state + std::max(planned, 0);
    auto installed = std::count(process->hook_state, end, static_cast<uint8_t>(HookState::installed));
    if (planned >= outcome.hooks_planned) {
      outcome.hooks_planned = planned;
      outcome.hooks_installed = static_cast<int>(installed);
    }
  }
  return outcome;
}

}  // namespace diogenes::launcher
