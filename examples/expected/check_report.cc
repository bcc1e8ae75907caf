// check-report EXPECTED PROGRAM REPORT [--fixed]: does a report (JSON) say about an example what it should,
// and nothing else? Prints the differences; exit status 1 if there are any.
#include <cstring>
#include <fstream>
#include <iostream>

#include "expectation.h"

namespace {

nlohmann::json read(const char* path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(std::string(path) + ": cannot be read");
  return nlohmann::json::parse(in);
}

}  // namespace

int main(int argc, char** argv) {
  const bool fixed = argc == 5 && std::strcmp(argv[4], "--fixed") == 0;
  if (argc != 4 && !fixed) {
    std::cerr << "usage: check-report EXPECTED PROGRAM REPORT [--fixed]\n";
    return 2;
  }
  try {
    const auto findings = fixed ? nlohmann::json::array() : read(argv[1]).at("programs").at(argv[2]);
    const auto differences = diogenes::examples::differences(findings, read(argv[3]));
    for (const auto& difference : differences) std::cout << argv[2] << ": " << difference << "\n";
    if (differences.empty()) std::cout << argv[2] << ": as planted\n";
    return differences.empty() ? 0 : 1;
  } catch (const std::exception& failed) {
    std::cerr << "check-report: " << failed.what() << "\n";
    return 2;
  }
}
