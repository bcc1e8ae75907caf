// check-report EXPECTED PROGRAM REPORT [--fixed]: does a report (JSON) say about an example what it should,
// and nothing else? Prints the differences, then what the report holds in short; exit status 1 if there are
// differences. A PROGRAM that EXPECTED does not know is only shown.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "expectation.h"

namespace {

using nlohmann::json;

json read(const char* path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(std::string(path) + ": cannot be read");
  return json::parse(in);
}

void show(const json& report) {
  std::printf("  run time %.3f s;", report.at("application").value("runtime_s", 0.0));
  for (const auto& stage : report.value("stages", json::array()))
    std::printf(" %s %.3f", stage.value("name", "").c_str(), stage.value("overhead", 0.0));
  std::printf("\n");
  for (const auto& problem : report.value("problems", json::array()))
    std::printf("  %6.2f%% %s\n", problem.value("expected_benefit_percent", 0.0),
                diogenes::examples::describe_problem(problem).c_str());
  for (const auto& notice : report.value("notices", json::array()))
    std::printf("  notice: %s\n", notice.get<std::string>().c_str());
}

int check(const json& expected, const std::string& program, const json& report, bool fixed) {
  const auto& programs = expected.at("programs");
  size_t differences = 0;
  if (programs.contains(program)) {
    const auto told = diogenes::examples::differences(fixed ? json::array() : programs.at(program), report);
    for (const auto& difference : told) std::printf("%s: %s\n", program.c_str(), difference.c_str());
    if (told.empty())
      std::printf("%s: %s\n", program.c_str(), fixed ? "nothing, as it should be" : "as planted");
    differences = told.size();
  }
  show(report);
  return differences == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool fixed = argc == 5 && std::strcmp(argv[4], "--fixed") == 0;
  if (argc != 4 && !fixed) {
    std::cerr << "usage: check-report EXPECTED PROGRAM REPORT [--fixed]\n";
    return 2;
  }
  try {
    return check(read(argv[1]), argv[2], read(argv[3]), fixed);
  } catch (const std::exception& failed) {
    std::cerr << "check-report: " << failed.what() << "\n";
    return 2;
  }
}
