// verdicts: the litmus matrix, its named scenes and random programs, judged without a test framework: on this
// machine's driver, or on the simulated one and then under the adversarial driver, too.
//
//   verdicts litmus [CELLS]          all cells, or those whose names begin so; a line for each that is not
//                                    right
//   verdicts scenes [NAME]           all named scenes, or those whose names begin so; a line for each
//   verdicts random FIRST COUNT      COUNT random programs from the seed FIRST on
//     --driver system|simulated      default: simulated
//     --jobs J                       random: so many runs at a time (default 1)
//     --per-run N                    random: programs in one process (default 100, at most 300)
//     --hand-over, --again           random: the programs with hand-overs; those that allocate again and again
//     --each                         random: names each needless wait that was called needed ("cautious: ..."), and
//                                    each that was called needless and that the generator thought needed
//                                    ("against the generator: ...")
//     --json FILE                    all results
//     --most-cautious PERCENT        random: fails if more of the needless waits were called needed
//
// $DIOGENES_TOP: the folder with bin/diogenes (default: two up from this program's). Exit status 0: nothing
// wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "cells/matrix.h"
#include "random_judgement.h"
#include "scenes/scene_matrix.h"

namespace diogenes::oracle {
namespace {

struct Options {
  std::vector<std::string> words;
  std::string json;
  uint64_t per_run = 100;
  int jobs = 1;
  bool each = false;
  std::string which;  // of random programs
  double most_cautious = 100;
};

[[noreturn]] void usage() {
  fprintf(stderr,
          "verdicts litmus [CELLS] | scenes [NAME] | random FIRST COUNT  [--driver system|simulated] [--jobs "
          "J] [--per-run N]\n"
          "  [--hand-over | --again] [--each] [--json FILE] [--most-cautious PERCENT]\n");
  exit(2);
}

struct LitmusCounts {
  uint64_t cells = 0, right = 0, wrong = 0, unsound = 0, skipped = 0, cautious = 0, failures = 0;
};

void judge_part(const std::string& part, LitmusCounts& counts, nlohmann::ordered_json& all) {
  const Matrix played(part);
  if (played.cells.empty()) return;
  auto fail = [&](const std::string& what) {
    ++counts.failures;
    all["failures"].push_back(what);
    printf("FAILED %s\n", what.c_str());
  };
  if (!played.judged.trouble.empty()) fail(part + ": " + played.judged.trouble);
  std::map<std::string, uint64_t> skipped;
  for (const CellResult& result : played.results()) {
    static const char* const states[] = {"right", "wrong", "unsound", "skipped"};
    const char* const state = states[static_cast<int>(result.state)];
    ++counts.cells;
    counts.right += result.state == CellState::right;
    counts.wrong += result.state == CellState::wrong;
    counts.unsound += result.state == CellState::unsound;
    counts.skipped += result.state == CellState::skipped;
    counts.cautious += is_cautious(result.cell->truth);
    nlohmann::ordered_json cell = {{"cell", result.cell->name},
                                   {"truth", std::string(1, result.cell->truth)},
                                   {"called", result.called ? std::string(1, result.called) : ""},
                                   {"state", state}};
    if (result.site) {
      cell["instances"] = result.site->instances, cell["unnecessary"] = result.site->unnecessary;
      cell["movable"] = result.site->movable, cell["least_after_ns"] = result.site->least_after_ns;
      cell["reasons"] = reason_words(result.site->reasons);
    }
    if (result.state != CellState::right) cell["text"] = result.text;
    all["cells"].push_back(std::move(cell));
    if (result.state == CellState::skipped)
      ++skipped[result.text];
    else if (result.state != CellState::right)
      printf("%s %s %s\n", state, result.cell->name.c_str(), result.text.c_str());
  }
  for (const auto& [why, count] : skipped)
    printf("skipped %lu cells: %s\n", static_cast<unsigned long>(count), why.c_str());
  for (const std::string& name : played.wrongly_reported()) fail(name + " is in the report as unnecessary");
  if (driver() != Driver::simulated) return;
  if (const std::string wrong = hold_against_oracle(played.command, played.judged); !wrong.empty())
    fail(wrong);
  for (const std::string& untold : played.untold()) fail(untold);
}

int judge_litmus(const Options& options) {
  LitmusCounts counts;
  nlohmann::ordered_json all;
  all["cells"] = all["failures"] = nlohmann::ordered_json::array();
  if (options.words.size() > 1)
    judge_part(options.words[1], counts, all);
  else
    for (const char* part : {"--no-host-functions", "--host-functions"}) judge_part(part, counts, all);
  printf(
      "litmus: %lu cells: %lu right, %lu unsound, %lu wrong, %lu skipped; %lu not yet watched; %lu other "
      "failures\n",
      static_cast<unsigned long>(counts.cells), static_cast<unsigned long>(counts.right),
      static_cast<unsigned long>(counts.unsound), static_cast<unsigned long>(counts.wrong),
      static_cast<unsigned long>(counts.skipped), static_cast<unsigned long>(counts.cautious),
      static_cast<unsigned long>(counts.failures));
  all["summary"] = {{"cells", counts.cells},      {"right", counts.right},
                    {"unsound", counts.unsound},  {"wrong", counts.wrong},
                    {"skipped", counts.skipped},  {"not_yet_watched", counts.cautious},
                    {"failures", counts.failures}};
  if (!options.json.empty()) std::ofstream(options.json) << all.dump(1) << "\n";
  return counts.cells == 0 || counts.unsound || counts.wrong || counts.failures ? 1 : 0;
}

const char* name_of(CellState state) {
  static const char* const names[] = {"right", "wrong", "unsound", "skipped"};
  return names[static_cast<int>(state)];
}

int judge_scenes(const Options& options) {
  const SceneMatrix played(options.words.size() > 1 ? options.words[1] : "");
  const Judged judged = judge(played.command);
  Judged unconditional = judged;
  nlohmann::ordered_json all;
  all["scenes"] = all["failures"] = nlohmann::ordered_json::array();
  std::map<CellState, uint64_t> counts;
  for (const SceneResult& result : played.results(judged)) {
    ++counts[result.state];
    if (result.scene->truth == 'C' && result.site)
      unconditional.sites[static_cast<size_t>(result.site - judged.sites.data())] = {};
    printf("%-8s %s: is %c, was called %c%s%s\n", name_of(result.state), result.scene->name.c_str(),
           result.scene->truth, result.called ? result.called : '-', result.text.empty() ? "" : ": ",
           result.text.c_str());
    all["scenes"].push_back({{"scene", result.scene->name},
                             {"truth", std::string(1, result.scene->truth)},
                             {"called", result.called ? std::string(1, result.called) : ""},
                             {"state", name_of(result.state)},
                             {"text", result.text}});
  }
  std::vector<std::string> failures;
  if (!judged.trouble.empty()) failures.push_back(judged.trouble);
  if (driver() == Driver::simulated) {
    const std::vector<std::string> untold = played.untold();
    failures.insert(failures.end(), untold.begin(), untold.end());
    // Where a verdict is known to be wrong, or its condition does not hold, the program must break.
    if (judged.trouble.empty() && counts[CellState::unsound] == 0)
      if (const std::string wrong = hold_against_oracle(played.command, unconditional); !wrong.empty())
        failures.push_back(wrong);
  }
  for (const std::string& failure : failures) {
    printf("FAILED %s\n", failure.c_str());
    all["failures"].push_back(failure);
  }
  printf("scenes: %zu: %lu right, %lu unsound, %lu wrong, %lu skipped; %zu other failures\n",
         played.scenes.size(), static_cast<unsigned long>(counts[CellState::right]),
         static_cast<unsigned long>(counts[CellState::unsound]),
         static_cast<unsigned long>(counts[CellState::wrong]),
         static_cast<unsigned long>(counts[CellState::skipped]), failures.size());
  if (!options.json.empty()) std::ofstream(options.json) << all.dump(1) << "\n";
  const bool good = counts[CellState::unsound] + counts[CellState::wrong] == 0 && failures.empty();
  return played.scenes.empty() || !good ? 1 : 0;
}

int judge_programs(const Options& options) {
  if (options.words.size() != 3) usage();
  const uint64_t programs = strtoull(options.words[2].c_str(), nullptr, 10);
  const RandomCounts counts = judge_random(
      strtoull(options.words[1].c_str(), nullptr, 10), programs, options.per_run, options.jobs,
      [&](const RandomCounts& sofar) {
        fprintf(stderr, "%lu of %lu programs, %lu runs changed, %.2f%% cautious\n",
                static_cast<unsigned long>(sofar.programs), static_cast<unsigned long>(programs),
                static_cast<unsigned long>(sofar.changed), sofar.cautious_percent());
      },
      options.which);
  for (const std::string& failure : counts.failures) printf("FAILED %s\n", failure.c_str());
  if (options.each)
    for (const std::string& one : counts.each) printf("%s\n", one.c_str());
  printf("random: %s", counts.text().c_str());
  if (!options.json.empty()) std::ofstream(options.json) << counts.json();
  const bool too_cautious = counts.cautious_percent() > options.most_cautious;
  if (too_cautious)
    printf("FAILED more than %g%% of the needless waits are called needed\n", options.most_cautious);
  return !counts.failures.empty() || counts.changed ||
                 counts.called_needless + counts.needs_new_memory == 0 || too_cautious
             ? 1
             : 0;
}

}  // namespace
}  // namespace diogenes::oracle

int main(int argc, char** argv) {
  using namespace diogenes::oracle;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto value = [&]() -> std::string {
      if (++i >= argc) usage();
      return argv[i];
    };
    if (word == "--driver") {
      const std::string name = value();
      if (name != "system" && name != "simulated") usage();
      use_driver(name == "system" ? Driver::system : Driver::simulated);
    } else if (word == "--jobs") {
      options.jobs = atoi(value().c_str());
    } else if (word == "--per-run") {
      options.per_run = strtoull(value().c_str(), nullptr, 10);
    } else if (word == "--each") {
      options.each = true;
    } else if (word == "--hand-over" || word == "--again") {
      options.which = word;
    } else if (word == "--json") {
      options.json = value();
    } else if (word == "--most-cautious") {
      options.most_cautious = atof(value().c_str());
    } else if (word.rfind("--", 0) == 0) {
      usage();
    } else {
      options.words.push_back(word);
    }
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (options.words.empty() || options.per_run < 1 || options.per_run > 300 || options.jobs < 1) usage();
  if (options.words[0] == "litmus") return judge_litmus(options);
  if (options.words[0] == "scenes") return judge_scenes(options);
  if (options.words[0] == "random") return judge_programs(options);
  usage();
}
