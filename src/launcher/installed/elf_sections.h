// The sections of an ELF file, for questions about a program that is not loaded. In: a file; damaged parts read as empty.
#pragma once
#include <elf.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace diogenes::launcher {

class ElfSections {
 public:
  // No sections: it cannot be read, is no 64-bit ELF file, or has more than `most` bytes.
  ElfSections(const std::filesystem::path& file, uint64_t most);

  const std::vector<Elf64_Shdr>& all() const { return sections_; }
  std::string contents(const Elf64_Shdr& section);
  std::string contents(const char* name);  // of the first of that name

 private:
  std::ifstream file_;
  uint64_t size_ = 0;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

}  // namespace diogenes::launcher
