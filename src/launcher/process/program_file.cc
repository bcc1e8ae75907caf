#include "launcher/process/program_file.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

namespace diogenes::launcher {
namespace {

FoundProgram cannot_execute(const std::filesystem::path& path, std::string_view why) {
  return {path, 126, fmt::format("cannot run {}: {}", path.string(), why)};
}

std::optional<Elf64_Ehdr> elf_header(std::ifstream& file) {
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (file.gcount() < EI_NIDENT || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  return header;
}

}  // namespace

FoundProgram find_program(const std::string& name) {
  auto not_found = [&](std::string_view advice) {
    return FoundProgram{{}, 127, fmt::format("{}: not found; {}", name, advice)};
  };
  if (name.empty()) return not_found("give the program after --");
  std::filesystem::path not_executable;
  auto fits = [&](const std::filesystem::path& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return false;
    if (S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0) return true;
    if (not_executable.empty()) not_executable = path;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    if (fits(name)) return {name, 0, {}};
    if (not_executable.empty() && errno == EACCES)
      return cannot_execute(name, "a folder on the way is closed to you");
    if (not_executable.empty()) return not_found("check the path");
  } else {
    const char* variable = getenv("PATH");
    std::string path = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
    for (size_t begin = 0; begin <= path.size();) {
      size_t end = std::min(path.find(':', begin), path.size());
      std::filesystem::path folder = end == begin ? "." : path.substr(begin, end - begin);
      if (fits(folder / name)) return {folder / name, 0, {}};
      begin = end + 1;
    }
    if (not_executable.empty() || std::filesystem::is_directory(not_executable))
      return not_found(
          fmt::format("it is in no folder of PATH; for a program in this folder type ./{}", name));
  }
  if (std::filesystem::is_directory(not_executable)) return cannot_execute(not_executable, "it is a folder");
  return cannot_execute(not_executable,
                        fmt::format("it is not executable; chmod +x {}", not_executable.string()));
}

FoundProgram exec_problem(const std::filesystem::path& program, int exec_error) {
  switch (exec_error) {
    case ENOENT:
      return cannot_execute(program, "the interpreter that it names does not exist");
    case ENOEXEC:
      return cannot_execute(program, "not a program for this machine");
    case EACCES:
      return cannot_execute(program, "permission denied (is its filesystem mounted noexec?)");
    case E2BIG:
      return cannot_execute(program, "arguments and environment are too long");
    default:
      return cannot_execute(program, strerror(exec_error));
  }
}

bool is_static(const std::filesystem::path& program) {
  std::ifstream file(program, std::ios::binary);
  auto header = elf_header(file);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
    return false;
  file.seekg(static_cast<std::streamoff>(header->e_phoff));
  Elf64_Phdr segment{};
  for (int i = 0; i < header->e_phnum; ++i) {
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

bool is_foreign(const std::filesystem::path& program) {
  std::ifstream file(program, std::ios::binary);
  auto header = elf_header(file);
  return header && (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64);
}

}  // namespace diogenes::launcher
