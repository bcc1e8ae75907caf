// resolve-markers SOURCE_FOLDER > OUT: expected.json with the line of each marker, so that the built examples
// can be checked where their source is not. Fails on a marker that is missing or stands twice, and on one
// that nobody expects.
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace {

constexpr const char* kMark = "// PLANTED: ";

// Marker to line. A comment that stands alone marks the next line.
std::map<std::string, int> markers_of(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  std::map<std::string, int> result;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const size_t mark = line.find(kMark);
    if (mark == std::string::npos) continue;
    const bool alone = line.find_first_not_of(' ') == mark;
    const std::string marker = line.substr(mark + std::string(kMark).size());
    if (!result.emplace(marker, alone ? number + 1 : number).second)
      throw std::runtime_error(path + ": marker " + marker + " stands twice");
  }
  return result;
}

int resolve(const std::string& folder) {
  std::ifstream in(folder + "/expected.json");
  if (!in) throw std::runtime_error(folder + "/expected.json: cannot be read");
  auto expected = nlohmann::ordered_json::parse(in);
  std::map<std::string, std::set<std::string>> used;
  for (auto& [program, findings] : expected.at("programs").items()) {
    for (auto& finding : findings) {
      const std::string file = finding.at("file"), marker = finding.at("marker");
      const auto markers = markers_of(folder + "/" + file);
      if (!markers.contains(marker)) throw std::runtime_error(file + ": no line is marked " + marker);
      finding["line"] = markers.at(marker);
      used[file].insert(marker);
    }
  }
  for (const auto& [file, names] : used)
    for (const auto& [marker, line] : markers_of(folder + "/" + file))
      if (!names.contains(marker)) throw std::runtime_error(file + ": expected.json does not name " + marker);
  std::cout << expected.dump(2) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: resolve-markers SOURCE_FOLDER > OUT\n";
    return 2;
  }
  try {
    return resolve(argv[1]);
  } catch (const std::exception& failed) {
    std::cerr << "resolve-markers: " << failed.what() << "\n";
    return 1;
  }
}
