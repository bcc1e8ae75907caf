#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regex>
#include <string>

#include "analysis/symbols/frame_owner.h"
#include "analysis/symbols/symbols.h"
#include "driver/discovery/child_output.h"
#include "launcher/doctor/checks.h"
#include "launcher/doctor/started_program.h"
#include "launcher/installed/cuda_runtime.h"
#include "launcher/installed/jit_check.h"
#include "launcher/installed/python_in_use.h"
#include "launcher/process/program_file.h"
#include "trace/python_source.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kPatience{5'000'000'000};

// "3.11.2" of an interpreter that says so; "" where it does not.
std::string python_version(const fs::path& interpreter) {
  Result<ChildOutput> output = run_child({interpreter.string(), "--version"}, kPatience);
  std::smatch match;
  if (!output || !std::regex_search(output->standard_output, match, std::regex(R"(Python ([0-9.]+))")))
    return "";
  return match[1];
}

void check_python(Checks& checks, const fs::path& interpreter) {
  const std::string version = python_version(interpreter);
  unsigned major = 0, minor = 0;
  if (sscanf(version.c_str(), "%u.%u", &major, &minor) != 2)
    return checks.note("Python", "its version cannot be told; stacks may show no lines of Python");
  const uint32_t number = major << 8 | minor;
  if (number >= kOldestPython && number <= kNewestPython)
    return checks.ok("Python", version + ": stacks show its files, functions and lines");
  checks.note("Python", fmt::format("{} is not supported (3.{} to 3.{} are): stacks show no lines of Python",
                                    version, kOldestPython & 0xff, kNewestPython & 0xff));
}

void check_names(Checks& checks, const fs::path& program) {
  const NamesInFile names = names_in(program);
  if (names.lines)
    checks.ok("lines", "the program has line information: findings name file and line");
  else if (names.functions)
    checks.note("lines",
                "the program has no line information: findings name functions only; compile with -g "
                "(it changes no code)");
  else
    checks.note("lines",
                "the program has no symbols: findings name addresses only; do not strip it, and compile "
                "with -g");
}

void check_gpu_code(Checks& checks, const fs::path& program, ComputeCapability gpu) {
  const ProgramCode code = gpu_code_of(program, gpu);
  const FrameOwners owners(fs::absolute(program).string(), {});
  const auto advice = [&](const std::string& file) {
    return advice_for_file(owners.is_own(fs::absolute(file).string()), gpu);
  };
  for (const GpuCodeRecord& file : code.to_compile) {
    std::string built_for;
    for (const std::string& name : file.built_for) built_for += (built_for.empty() ? "" : ", ") + name;
    checks.note(
        "GPU code",
        fmt::format("{} has only PTX for this GPU in {} of {} source files (built for {}): the driver "
                    "compiles it when it is first used; {}",
                    file.file, file.compiled, file.compiled + file.native + file.neither, built_for,
                    advice(file.file)));
  }
  for (const std::string& file : code.unusable)
    checks.note("GPU code", fmt::format("{} has code for other GPUs only: its kernels cannot run here; {}",
                                        file, advice(file)));
  if (code.to_compile.empty() && code.unusable.empty())
    checks.ok("GPU code", code.files == 0 ? "none in the program and the libraries it is linked with"
                                          : fmt::format("compiled for this GPU in {} file{}", code.files,
                                                        code.files == 1 ? "" : "s"));
}

}  // namespace

void check_program(Checks& checks, const std::vector<std::string>& command, DriverKind kind,
                   std::optional<ComputeCapability> gpu) {
  if (command.empty()) return;
  const StartedProgram started = started_program(command);
  const FoundProgram& program = started.program;
  if (program.status != 0) return checks.problem("program", program.problem);
  if (!started.unclear.empty())
    return checks.note("program", started.unclear + "; name the program itself: diogenes doctor -- PROGRAM");
  const std::string path = program.path.string();
  if (is_foreign(program.path)) return checks.problem("program", path + " is not an x86-64 program");
  if (is_static(program.path))
    return checks.problem(
        "program",
        path + " is linked statically, so Diogenes cannot be loaded into it; link libc dynamically");
  struct stat status {};
  bool privileged = stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  if (privileged && geteuid() != 0)
    return checks.problem(
        "program", path + " is setuid or setgid, so LD_PRELOAD is ignored; measure a copy without that bit");
  if (kind == DriverKind::simulated && is_linked_with_runtime(program.path))
    return checks.problem("program",
                          fmt::format("{} uses the CUDA runtime, and {}; measure it on a machine with a GPU, "
                                      "without --driver simulated",
                                      path, kSimulatedServesDriverApi));
  checks.ok("program",
            started.through.empty() ? path : fmt::format("{}, which {} starts", path, started.through));
  if (exports(program.path, "_PyRuntime") || program.path.filename().string().starts_with("python"))
    check_python(checks, program.path);
  else
    check_names(checks, program.path);
  if (gpu) check_gpu_code(checks, program.path, *gpu);
}

}  // namespace diogenes::launcher
