#include "views/explorer/explorer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "views/testing/sample_profile.h"
#include "views/testing/sample_reports.h"

namespace diogenes::explorer {
namespace {

// Keys as a person would write them: "jj", "<enter>", "/free<enter>".
void type(Explorer& explorer, const std::string& keys) {
  const std::pair<const char*, Key> named[] = {
      {"<up>", Key::up},         {"<down>", Key::down},      {"<left>", Key::left},
      {"<right>", Key::right},   {"<home>", Key::home},      {"<end>", Key::end},
      {"<pgup>", Key::page_up},  {"<pgdn>", Key::page_down}, {"<enter>", Key::enter},
      {"<esc>", Key::escape},    {"<tab>", Key::tab},        {"<backtab>", Key::back_tab},
      {"<back>", Key::backspace}};
  for (size_t at = 0; at < keys.size();) {
    bool is_named = false;
    for (const auto& [name, key] : named)
      if (keys.compare(at, strlen(name), name) == 0) {
        explorer.press({key});
        at += strlen(name);
        is_named = true;
        break;
      }
    if (!is_named) explorer.press({Key::character, static_cast<unsigned char>(keys[at++])});
  }
}

std::string text_of(const Screen& screen) {
  std::string text;
  for (const Line& line : screen.lines) {
    std::string one = line.text();
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
}

std::string shown(const Explorer& explorer) { return text_of(explorer.screen()); }

// The row that is chosen.
std::string chosen(const Explorer& explorer) {
  for (const Line& line : explorer.screen().lines)
    if (line.selected) return line.text();
  return "";
}

bool shows(const Explorer& explorer, const std::string& part) {
  return shown(explorer).find(part) != std::string::npos;
}

void expect_screen(const Explorer& explorer, const std::string& name) {
  const std::string path = std::string(DIOGENES_VIEWS_TESTDATA) + "/explorer-" + name + ".txt";
  if (getenv("DIOGENES_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << shown(explorer);
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(shown(explorer), expected.str()) << path;
}

constexpr const char* kFolder = "/home/me/als";

TEST(Explorer, OpensOnTheFindings) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 24});
  expect_screen(explorer, "findings");
}

TEST(Explorer, WideAndTall) {
  Explorer explorer(crowded_report(), kFolder);
  explorer.resize({120, 40});
  type(explorer, "<right>");
  expect_screen(explorer, "wide");
}

TEST(Explorer, NarrowAndLow) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({40, 10});
  expect_screen(explorer, "narrow");
  type(explorer, "<enter>j<enter>");
  expect_screen(explorer, "narrow-problem");
}

TEST(Explorer, AGroupUnfoldsToItsProblems) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({100, 30});
  EXPECT_NE(chosen(explorer).find("+ cudaFree"), std::string::npos);
  type(explorer, "<enter>");
  EXPECT_NE(chosen(explorer).find("- cudaFree"), std::string::npos);
  type(explorer, "j<enter>");
  EXPECT_TRUE(shows(explorer, "Findings > P1 cudaFree: needless wait"));
  type(explorer, "<esc><left>");
  EXPECT_NE(chosen(explorer).find("+ cudaFree"), std::string::npos);  // folded from within
}

TEST(Explorer, AProblemHasItsReasonsSourceAndStack) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 60});
  type(explorer, "<enter>j<enter>");
  expect_screen(explorer, "problem");
}

TEST(Explorer, NeededWaits) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 24});
  type(explorer, "3");
  expect_screen(explorer, "needed");
  type(explorer, "<enter>");
  EXPECT_TRUE(shows(explorer, "needed wait, up to"));
}

TEST(Explorer, TheOtherLists) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 40});
  type(explorer, "4");
  EXPECT_TRUE(shows(explorer, "cuMemcpyHtoD"));
  type(explorer, "5");
  expect_screen(explorer, "session");
  type(explorer, "?");
  expect_screen(explorer, "help");
  type(explorer, "?<esc>");
  EXPECT_TRUE(shows(explorer, "[5 Session]"));
  type(explorer, "<tab>");
  EXPECT_TRUE(shows(explorer, "[6 Kernels]"));
  type(explorer, "<tab><tab>");
  EXPECT_TRUE(shows(explorer, "[1 Findings]"));
  type(explorer, "<backtab><backtab><backtab>");
  EXPECT_TRUE(shows(explorer, "[5 Session]"));
}

// Figures 6 and 8.
TEST(Explorer, PartOfASequence) {
  Report report = crowded_report();
  const ReportGroup* sequence = nullptr;
  for (const ReportGroup& group : report.groups)
    if (group.grouping == "sequence") sequence = &group;
  ASSERT_TRUE(sequence);
  const std::vector<std::string> members = sequence->members;
  ASSERT_GE(members.size(), 3u);
  Explorer explorer(std::move(report), kFolder);
  explorer.resize({100, 30});
  type(explorer, "2<enter>");
  expect_screen(explorer, "sequence");
  EXPECT_TRUE(explorer.wanted().empty());  // the report has the figure of the whole
  type(explorer, "<down>s");
  EXPECT_EQ(explorer.wanted(), std::vector<std::string>(members.begin() + 1, members.end()));
  EXPECT_TRUE(shows(explorer, "estimating ..."));
  explorer.estimated(explorer.wanted(), {{0.0123, 1.23, {0.011, 0.013, "", 0, 0}}, ""});
  EXPECT_TRUE(explorer.wanted().empty());
  EXPECT_TRUE(shows(explorer, "12.3 ms (1.2%) [11.0 ms to 13.0 ms]"));
  expect_screen(explorer, "part");
  type(explorer, "e");
  EXPECT_TRUE(explorer.wanted().empty());  // one alone: the report has it
  EXPECT_TRUE(shows(explorer, "Entry 2"));
  type(explorer, "a<end>s");
  EXPECT_TRUE(shows(explorer, "Entry " + std::to_string(members.size())));
  type(explorer, "<home>e");  // an end before the start: from the first entry on
  EXPECT_TRUE(shows(explorer, "Entry 1"));
}

TEST(Explorer, AnEstimateThatFailsSaysWhy) {
  Explorer explorer(crowded_report(), kFolder);
  explorer.resize({100, 30});
  type(explorer, "2<enter>js");
  explorer.estimated(explorer.wanted(), {{}, "the session changed"});
  EXPECT_TRUE(shows(explorer, "the session changed"));
}

TEST(Explorer, SearchFindsWhatIsFolded) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({100, 30});
  type(explorer, "/thrust<enter>");
  EXPECT_NE(chosen(explorer).find("thrust::copy"), std::string::npos);
  type(explorer, "/P2 cuda<enter>");  // in the fold
  EXPECT_TRUE(shows(explorer, "- cudaFree"));
  type(explorer, "/no such thing<enter>");
  EXPECT_TRUE(shows(explorer, "/no such thing: not found here"));
  type(explorer, "/CUDAFREE<enter>");
  EXPECT_TRUE(shows(explorer, "not found"));  // capital letters count
  type(explorer, "/cudafree<enter><home>");
  const std::string first = chosen(explorer);
  type(explorer, "n");
  EXPECT_NE(chosen(explorer), first);
  type(explorer, "N");
  EXPECT_EQ(chosen(explorer), first);
  type(explorer, "N");
  EXPECT_TRUE(shows(explorer, "continued from the other end"));
}

TEST(Explorer, SearchInAText) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 12});
  type(explorer, "<enter>j<enter>/__libc<enter>");
  EXPECT_TRUE(shows(explorer, "__libc_start_main"));
  bool marked = false;
  for (const Line& line : explorer.screen().lines)
    for (const Span& span : line.spans) marked |= span.style == Style::found && span.text == "__libc";
  EXPECT_TRUE(marked);
}

TEST(Explorer, ThePromptCanBeEditedAndLeft) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 24});
  type(explorer, "/ab<back>q");
  EXPECT_TRUE(shows(explorer, "/aq"));
  EXPECT_EQ(explorer.screen().cursor, 3u);
  type(explorer, "<esc>");
  EXPECT_FALSE(explorer.screen().cursor);
  type(explorer, "/<back>");
  EXPECT_FALSE(explorer.screen().cursor);
  EXPECT_FALSE(explorer.done());
  type(explorer, "/");
  explorer.press({Key::character, U'\u00fc'});
  EXPECT_TRUE(shows(explorer, "/\u00fc"));
  type(explorer, "<back>");
  EXPECT_EQ(explorer.screen().cursor, 1u);
}

TEST(Explorer, SortGroupAndKind) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({100, 30});
  type(explorer, "o");
  EXPECT_TRUE(shows(explorer, "sorted by calls"));
  type(explorer, "oo");
  EXPECT_NE(shown(explorer).find("bytes"), std::string::npos);
  type(explorer, "o");
  EXPECT_TRUE(shows(explorer, "sorted by benefit"));
  type(explorer, "g");
  EXPECT_TRUE(shows(explorer, "Fold on cudaFree"));
  type(explorer, "gg");
  EXPECT_TRUE(shows(explorer, "by finding"));
  type(explorer, "f");
  EXPECT_TRUE(shows(explorer, "only: needless wait"));
  EXPECT_FALSE(shows(explorer, "thrust::copy: data was there"));
  type(explorer, "F");
  EXPECT_TRUE(shows(explorer, "thrust::copy: data was there"));
  // What was chosen stays chosen in another order.
  type(explorer, "/thrust<enter>");
  const std::string before = chosen(explorer);
  type(explorer, "oooo");
  EXPECT_EQ(chosen(explorer), before);
}

TEST(Explorer, QuitAndBack) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 24});
  type(explorer, "<esc>");
  EXPECT_FALSE(explorer.done());
  type(explorer, "?q");
  EXPECT_FALSE(explorer.done());
  type(explorer, "x");
  EXPECT_TRUE(shows(explorer, "? shows the keys"));
  type(explorer, "q");
  EXPECT_TRUE(explorer.done());
}

TEST(Explorer, NothingFound) {
  Explorer explorer(empty_report(), "");
  explorer.resize({80, 24});
  expect_screen(explorer, "nothing");
  type(explorer, "<enter><right><down>dog<home><end>f 2<enter>se3<enter>/x<enter>nN");
  EXPECT_FALSE(explorer.done());
}

TEST(Explorer, NotComplete) {
  Report report = als_report();
  report.incomplete = {"the memory-tracing run was interrupted"};
  Explorer explorer(std::move(report), kFolder);
  explorer.resize({80, 24});
  EXPECT_TRUE(shows(explorer, "not complete"));
  type(explorer, "5");
  EXPECT_TRUE(shows(explorer, "the memory-tracing run was interrupted"));
}

TEST(Explorer, Kernels) {
  Explorer explorer(profiled_report(), kFolder);
  explorer.resize({100, 30});
  type(explorer, "6");
  expect_screen(explorer, "kernels");
  type(explorer, "<enter>");
  EXPECT_TRUE(shows(explorer, "Kernels > K1 als::gemm"));
  EXPECT_TRUE(shows(explorer, "name     void als::gemm"));  // the whole name
  type(explorer, "<esc>/sum_of<enter>");
  EXPECT_NE(chosen(explorer).find("hidden"), std::string::npos);
}

TEST(Explorer, KernelsHaveTheirInside) {
  Explorer explorer(contexts_report(), kFolder);
  explorer.resize({100, 40});
  type(explorer, "6<enter>");
  EXPECT_TRUE(shows(explorer, "62% of its samples in the loop at axpy.cu:12 to 18")) << shown(explorer);
  type(explorer, "<esc>7/axpy.cu:14<enter>");
  EXPECT_NE(chosen(explorer).find("axpy.cu:14"), std::string::npos) << shown(explorer);
  type(explorer, "d");
  EXPECT_TRUE(shows(explorer, "why      it mostly waits for data from memory (80%)")) << shown(explorer);
}

TEST(Explorer, TheTreeOpensOnItsHotPath) {
  Explorer explorer(profiled_report(), kFolder);
  explorer.resize({100, 36});
  type(explorer, "7");
  expect_screen(explorer, "tree");
  type(explorer, "<down><down><down><down>p");
  EXPECT_NE(chosen(explorer).find("als::gemm"), std::string::npos) << shown(explorer);
  type(explorer, "<enter>");
  EXPECT_TRUE(shows(explorer, "Tree > K1 als::gemm"));
  type(explorer, "<esc><left>");  // folds the call that it is in
  EXPECT_NE(chosen(explorer).find("cudaLaunchKernel"), std::string::npos) << shown(explorer);
  type(explorer, "<left>");
  EXPECT_NE(chosen(explorer).find("+ als::update_x"), std::string::npos) << shown(explorer);
  type(explorer, "d");
  EXPECT_TRUE(shows(explorer, "Tree > als::update_x")) << shown(explorer);
}

TEST(Explorer, TheTreeHasThreeViewsAndAnyOrder) {
  Explorer explorer(profiled_report(), kFolder);
  explorer.resize({100, 36});
  type(explorer, "7v");
  EXPECT_NE(chosen(explorer).find("als::gemm"), std::string::npos) << shown(explorer);
  type(explorer, "p");
  EXPECT_NE(chosen(explorer).find("main"), std::string::npos) << shown(explorer);
  expect_screen(explorer, "tree-bottom-up");
  type(explorer, "v");
  EXPECT_TRUE(shows(explorer, "flat, by gpu")) << shown(explorer);
  type(explorer, "v");
  EXPECT_TRUE(shows(explorer, "top-down, by gpu")) << shown(explorer);
  type(explorer, "o");
  EXPECT_TRUE(shows(explorer, "sorted by recoverable")) << shown(explorer);
  type(explorer, "/read_ratings<enter>");  // unfolds what it is in
  EXPECT_NE(chosen(explorer).find("als::read_ratings"), std::string::npos) << shown(explorer);
  type(explorer, "v/read_ratings<enter>");
  EXPECT_NE(chosen(explorer).find("als::read_ratings"), std::string::npos) << shown(explorer);
}

TEST(Explorer, ThousandsOfContexts) {
  Report report = profiled_report();
  std::vector<ReportContext>& contexts = report.profile->contexts;
  for (uint32_t i = 0; i < 20'000; ++i) {
    contexts.push_back(contexts[5]);
    contexts.back().parent = i < 250 ? static_cast<uint32_t>(contexts.size() - 2) : 15 + i % 250;
    contexts.back().name = "f" + std::to_string(i % 3000);
    contexts.back().recoverable_s = 1e-6 * i;
  }
  Explorer explorer(std::move(report), kFolder);
  explorer.resize({120, 40});
  type(explorer, "7<end>p<home>oooovpovpov/f2999<enter>p<left><left><left>");
  EXPECT_TRUE(shows(explorer, "[7 Tree]")) << shown(explorer);
}

TEST(Explorer, WithoutGpuTimesItSaysWhatToDo) {
  Explorer explorer(als_report(), kFolder);
  explorer.resize({80, 24});
  for (const char* list : {"6", "7"}) {
    type(explorer, list);
    EXPECT_TRUE(shows(explorer, "was not measured")) << shown(explorer);
    type(explorer, "vopd<enter><left><right>");
  }
}

// No line is wider than the terminal, there are never more than it has, and any key may come at any time.
TEST(Explorer, AnyKeysAtAnySize) {
  const std::vector<Report> reports = {als_report(),   crowded_report(),   bare_report(),
                                       empty_report(), transfers_report(), profiled_report()};
  std::mt19937 random(1);
  const std::string keys = "jkhl?/nNqogfFdseavp1234567 x";
  for (const Report& report : reports) {
    Explorer explorer(report, kFolder);
    for (int step = 0; step < 4000; ++step) {
      const auto choice = random() % 40;
      if (choice == 0)
        explorer.resize({random() % 150, random() % 60});
      else if (choice < 20)
        explorer.press({Key::character, static_cast<char32_t>(keys[random() % keys.size()])});
      else
        explorer.press({static_cast<Key>(random() % (static_cast<int>(Key::other) + 1)), U'\u00fc'});
      if (choice == 1 && !explorer.wanted().empty()) explorer.estimated(explorer.wanted(), {{1, 1, {}}, ""});
    }
    for (size_t columns = 0; columns < 130; columns += 13)
      for (size_t lines = 0; lines < 40; lines += 3) {
        explorer.resize({columns, lines});
        type(explorer, "<esc><esc><esc>");
        for (const char* list : {"1", "2", "3", "4", "5", "6", "7"}) {
          type(explorer, list);
          for (const char* further : {"", "<enter>"}) {
            type(explorer, further);
            const Screen screen = explorer.screen();
            EXPECT_EQ(screen.lines.size(), std::max<size_t>(lines, 4));
            for (const Line& line : screen.lines)
              EXPECT_LE(columns_of(line.text()), std::max<size_t>(columns, 20)) << line.text();
          }
        }
      }
  }
}

TEST(Explorer, ThousandsOfProblems) {
  Report report = als_report();
  const ReportProblem one = report.problems.back();
  for (int i = 0; i < 20'000; ++i) {
    ReportProblem& more = report.problems.emplace_back(one);
    more.id = "P" + std::to_string(100 + i);
    more.expected_benefit_s = 1e-6 * i;
  }
  Explorer explorer(std::move(report), kFolder);
  explorer.resize({120, 40});
  type(explorer, "<end>");
  EXPECT_TRUE(shows(explorer, "/20003") || shows(explorer, "/20002"));
  type(explorer, "/P100 <enter>oogfn");
}

TEST(Explorer, WaitingFitsToo) {
  for (size_t columns = 0; columns < 100; columns += 7)
    for (size_t lines = 0; lines < 5; ++lines)
      for (const Line& line : waiting_screen("als.1.diogenes", 3, {columns, lines}).lines)
        EXPECT_LE(columns_of(line.text()), std::max<size_t>(columns, 1));
  EXPECT_NE(text_of(waiting_screen("als.1.diogenes", 3, {80, 24})).find("Analysing als.1.diogenes ... 3 s"),
            std::string::npos);
}

}  // namespace
}  // namespace diogenes::explorer
