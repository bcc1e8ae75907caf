// Kernels and the tree of calling contexts, as text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "views/shared/context_tree.h"
#include "views/shared/shortened_name.h"
#include "views/testing/sample_profile.h"
#include "views/testing/sample_reports.h"
#include "views/testing/widest.h"
#include "views/text/gpu_work.h"
#include "views/text/text.h"

namespace diogenes {
namespace {

void expect_profile_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(DIOGENES_VIEWS_TESTDATA) + "/" + name;
  if (getenv("DIOGENES_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TextOptions profile_options() {
  TextOptions result;
  result.working_folder = "/home/me/als";
  result.session = "als.1.diogenes";
  return result;
}

TextOptions tree_options(TreeView view) {
  TextOptions result = profile_options();
  result.tree.emplace().view = view;
  return result;
}

TEST(WhereTimeGoes, WhatLiesInsideKernels) {
  expect_profile_golden("15-inside-kernels.txt", to_text(contexts_report(), profile_options()));
  TextOptions kernels = profile_options();
  kernels.kernels = true;
  expect_profile_golden("16-inside-kernels-in-full.txt", to_text(contexts_report(), kernels));
  expect_profile_golden("17-inside-top-down.txt",
                        to_text(contexts_report(), tree_options(TreeView::top_down)));
  expect_profile_golden("18-inside-bottom-up.txt",
                        to_text(contexts_report(), tree_options(TreeView::bottom_up)));
  expect_profile_golden("19-inside-flat.txt", to_text(contexts_report(), tree_options(TreeView::flat)));
  TextOptions one = profile_options();
  one.details = "K1";
  expect_profile_golden("20-inside-one-kernel.txt", to_text(contexts_report(), one));
}

TEST(WhereTimeGoes, WhereThereIsRoomATreeSaysWhyWarpsWait) {
  TextOptions options = tree_options(TreeView::top_down);
  options.width = 160;
  const std::string text = to_text(contexts_report(), options);
  EXPECT_NE(text.find("axpy.cu:14  waits for data from memory (80%)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("norm  axpy.cu:22, estimated  issues instructions (50%)\n"), std::string::npos);
}

TEST(WhereTimeGoes, WhyKernelsWereNotSampledIsSaid) {
  Report report = profiled_report();
  report.profile->no_samples = "the driver allows it to administrators alone";
  EXPECT_NE(to_text(report, profile_options()).find("Inside kernels nothing was measured"),
            std::string::npos);
}

TEST(WhereTimeGoes, NonsenseInsideKernelsIsShownSomehow) {
  TextOptions kernels = profile_options();
  kernels.kernels = true;
  for (const TextOptions& options : {profile_options(), kernels, tree_options(TreeView::bottom_up)})
    EXPECT_FALSE(to_text(nonsense_profile_report(), options).empty());
}

TEST(WhereTimeGoes, KernelsComeBelowTheFindings) {
  const std::string text = to_text(profiled_report(), profile_options());
  expect_profile_golden("10-kernels.txt", text);
  // All but what is said of the machine: how long the GPU was idle.
  const auto findings = [](const std::string& report) {
    const size_t begin = report.find("\n\n");
    return report.substr(begin, report.find("\nWhy", begin) - begin);
  };
  const std::string without = to_text(als_report(), profile_options());
  const std::string of_both = findings(without).substr(0, findings(without).find("\nNotices"));
  EXPECT_EQ(findings(text).substr(0, of_both.size()), of_both) << "the first screen changed";
  EXPECT_NE(text.find("; the GPU was idle for 250 ms (25.0%)"), std::string::npos);
}

// Python computes for .7 of the second, in a function without calls of the driver.
TEST(WhereTimeGoes, WorkOfPythonAloneIsSaid) {
  Report report = profiled_report();
  ReportProfile& profile = *report.profile;
  profile.idle = ReportIdle{.phase_s = 1.1, .idle_s = 1, .between_s = 1};
  profile.contexts.resize(1);
  const auto node = [&](uint32_t parent, ReportContext::Kind kind, const char* name, double idle_s) {
    ReportContext& made = profile.contexts.emplace_back();
    made.parent = parent;
    made.kind = kind;
    made.name = name;
    made.language = "python";
    made.owner = FrameOwner::application;
    made.idle_s = idle_s;
    return static_cast<uint32_t>(profile.contexts.size() - 1);
  };
  const uint32_t train = node(0, ReportContext::Kind::frame, "train", 0.2);
  node(train, ReportContext::Kind::call, "cuLaunchKernel", 0.1);
  const uint32_t gather = node(train, ReportContext::Kind::frame, "gather", 0.7);
  const auto said = [&] { return to_text(report, profile_options()); };
  EXPECT_NE(said().find("gather\n      Python computes, and calls nothing of the GPU's\n"), std::string::npos)
      << said();
  EXPECT_NE(said().find("Work of Python alone: do it for a whole batch"), std::string::npos);
  EXPECT_EQ(said().find("train\n      Python computes"), std::string::npos);
  profile.contexts[gather].idle_s = 0.1;
  const uint32_t dumps = node(gather, ReportContext::Kind::frame, "json.dumps", 0.6);
  profile.contexts[dumps].owner = FrameOwner::library;
  EXPECT_NE(said().find("gather\n      Python computes"), std::string::npos) << "in a library's Python";
  profile.contexts[dumps].language = "";
  EXPECT_EQ(said().find("gather\n      Python computes"), std::string::npos) << "in code of the machine's";
  profile.contexts[dumps].language = "python";
  profile.contexts[gather].language = "";
  EXPECT_EQ(said().find("Work of Python alone"), std::string::npos);
}

// A loop of Python: 20,000 kernels of 2 us in one second, over a wrapper that tells nothing.
TEST(WhereTimeGoes, ShortWorkOfPythonIsSaid) {
  Report report = profiled_report();
  ReportProfile& profile = *report.profile;
  profile.idle = ReportIdle{.phase_s = 1.1, .idle_s = 1, .between_s = 1};
  const auto node = [&](uint32_t parent, ReportContext::Kind kind, const char* name, const char* call,
                        double idle_s) {
    ReportContext& made = profile.contexts.emplace_back();
    made.parent = parent;
    made.kind = kind;
    made.name = name;
    made.call = call;
    made.language = "python";
    made.owner = parent == 0 ? FrameOwner::application : FrameOwner::library;
    made.called_line = 12;
    made.idle_s = idle_s;
    return static_cast<uint32_t>(profile.contexts.size() - 1);
  };
  profile.contexts.resize(1);
  const uint32_t apply = node(0, ReportContext::Kind::frame, "Rules.apply", "", 0.4);
  const uint32_t wrapper = node(apply, ReportContext::Kind::frame, "Module._wrapped_call_impl", "", 0.1);
  const uint32_t linear =
      node(wrapper, ReportContext::Kind::frame, "Linear.forward", "Linear.forward()", 0.3);
  const uint32_t call = node(linear, ReportContext::Kind::call, "cuLaunchKernel", "", 0.2);
  profile.contexts[node(call, ReportContext::Kind::gpu, "gemm", "", 0)].count = 20'000;
  profile.contexts.back().gpu_s = 0.04;
  const std::string text = to_text(report, profile_options());
  const auto said = [&](const char* what) {
    EXPECT_NE(text.find(what), std::string::npos) << what << "\n" << text.substr(text.find("Why the GPU"));
  };
  said(" 1.   1.00 s 100.0%  Rules.apply");
  said("      gives the GPU 20,000 pieces of work, 2.00 us each, and lets it wait 50.0 us for each\n");
  said("        500 ms  50.0%  line 12: Linear.forward()\n");
  said("Much short work:");
  profile.contexts.back().count = 900;
  EXPECT_EQ(to_text(report, profile_options()).find("Much short work"), std::string::npos);
}

TEST(WhereTimeGoes, WhoSleptIsSaidWhereTheCpuWasSampled) {
  Report report = profiled_report();
  ReportIdle& idle = report.profile->idle.emplace();
  idle = {.phase_s = 1, .idle_s = 0.5, .between_s = 0.5};
  idle.gaps = {{.context = 1, .before = 7, .after = 9, .seconds = 0.4, .count = 3}};
  const auto text = [&] { return to_text(report, profile_options()); };
  EXPECT_NE(text().find("500 ms 100.0%  the CPU worked, or slept, between two calls"), std::string::npos)
      << text();
  idle.asleep_s = 0.3;
  EXPECT_NE(text().find("200 ms  40.0%  the CPU worked between two calls"), std::string::npos) << text();
  EXPECT_NE(text().find("300 ms  60.0%  the thread had no CPU between two calls"), std::string::npos);
  EXPECT_EQ(text().find("asleep"), std::string::npos);
  idle.gaps[0].asleep_s = 0.25;
  report.profile->contexts[1].idle_s = 0.4;
  EXPECT_NE(text().find("lines 7 to 9: between two calls, asleep\n"), std::string::npos) << text();
  idle.asleep_s = 0.04;
  EXPECT_NE(text().find("500 ms 100.0%  the CPU worked between two calls"), std::string::npos)
      << "samples are too far apart to tell";
}

TEST(WhereTimeGoes, KernelsInFull) {
  TextOptions kernels = profile_options();
  kernels.kernels = true;
  expect_profile_golden("11-kernels-in-full.txt", to_text(profiled_report(), kernels));
  kernels.top = 1;
  EXPECT_NE(to_text(profiled_report(), kernels).find("    2 more, 300 ms together: --top 3\n"),
            std::string::npos);
}

TEST(WhereTimeGoes, OneKernelHasItsWholeName) {
  TextOptions one = profile_options();
  one.details = "K1";
  EXPECT_TRUE(has_id(profiled_report(), "K1"));
  EXPECT_FALSE(has_id(als_report(), "K1"));
  const std::string text = to_text(profiled_report(), one);
  EXPECT_NE(text.find("name     void als::gemm<float"), std::string::npos) << text;
  EXPECT_EQ(text.find("sum_of_errors"), std::string::npos) << text;
}

TEST(WhereTimeGoes, Trees) {
  expect_profile_golden("12-top-down.txt", to_text(profiled_report(), tree_options(TreeView::top_down)));
  expect_profile_golden("13-bottom-up.txt", to_text(profiled_report(), tree_options(TreeView::bottom_up)));
  expect_profile_golden("14-flat.txt", to_text(profiled_report(), tree_options(TreeView::flat)));
}

TEST(WhereTimeGoes, ColumnsOrderAndDepthAreAsAskedFor) {
  TextOptions options = tree_options(TreeView::top_down);
  options.tree->columns = {TreeColumn::importance, TreeColumn::time};
  options.tree->sort = TreeColumn::time;
  options.tree->depth = 2;
  const std::string text = to_text(profiled_report(), options);
  EXPECT_NE(text.find("importance     time "), std::string::npos) << text;
  EXPECT_NE(text.find("  GPU 100.0%   1.20 s 100.0%  als\n"), std::string::npos) << text;
  EXPECT_NE(text.find("+ main"), std::string::npos) << text;
  EXPECT_EQ(text.find("iterate"), std::string::npos) << text;
}

TEST(WhereTimeGoes, ATreeOfManyContextsFitsSixtyLines) {
  Report report = profiled_report();
  std::vector<ReportContext>& contexts = report.profile->contexts;
  const ReportContext frame = contexts[5];
  contexts.resize(1);
  for (uint32_t i = 0; i < 250; ++i) {  // deep
    contexts.push_back(frame);
    contexts.back().parent = i;
  }
  for (uint32_t i = 0; i < 19'000; ++i) {
    contexts.push_back(frame);
    contexts.back().parent = i % 240;
    contexts.back().name = "f" + std::to_string(i % 900) + "(int)";
    contexts.back().gpu_s = 1e-4 * (i % 7);
  }
  for (const TreeView view : {TreeView::top_down, TreeView::bottom_up, TreeView::flat})
    for (const int width : {72, 100, 200}) {
      TextOptions options = tree_options(view);
      options.width = width;
      const std::string text = to_text(report, options);
      const size_t tree = text.find("Where time goes");
      EXPECT_LE(std::count(text.begin() + static_cast<ptrdiff_t>(tree), text.end(), '\n'), 64) << text;
      EXPECT_EQ(text.find("rows of the hot path") != std::string::npos, view != TreeView::flat) << text;
      EXPECT_LE(widest(text), static_cast<size_t>(width)) << text;
    }
}

TEST(WhereTimeGoes, CallsInsideOfALibraryAreOneRow) {
  Report report = profiled_report();
  std::vector<ReportContext>& contexts = report.profile->contexts;
  const auto add = [&](const char* name, FrameOwner owner) {
    ReportContext& one = contexts.emplace_back();
    one.parent = static_cast<uint32_t>(contexts.size() - 2);
    one.kind = ReportContext::Kind::frame;
    one.name = name;
    one.owner = owner;
  };
  contexts.resize(1);
  add("main", FrameOwner::application);
  for (const char* name : {"sort", "dispatch", "sort_impl", "radix", "pass", "invoke"})
    add(name, FrameOwner::library);
  contexts.back().gpu_s = 0.1;
  add("back_in_mine", FrameOwner::application);
  contexts.back().gpu_s = 0.1;
  TextOptions options = tree_options(TreeView::top_down);
  std::string text = to_text(report, options);
  EXPECT_NE(text.find("    main\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      sort\n"), std::string::npos) << text;
  EXPECT_NE(text.find("        ... 4 calls of the library\n"), std::string::npos) << text;
  EXPECT_NE(text.find("          invoke\n"), std::string::npos) << text;  // it takes time itself
  EXPECT_NE(text.find("            back_in_mine\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("radix"), std::string::npos) << text;
  options.tree->depth = 9;
  text = to_text(report, options);
  EXPECT_NE(text.find("            radix\n"), std::string::npos) << text;
}

TEST(WhereTimeGoes, LongNamesKeepTheWidth) {
  Report report = profiled_report();
  std::string name = "at::native::elementwise_kernel<128, ";
  for (int i = 0; i < 100; ++i) name += "std::tuple<float, at::Functor<int, " + std::to_string(i) + ">>, ";
  name += "2>";
  for (ReportGpuWork& work : report.profile->work) work.name = name;
  for (ReportContext& context : report.profile->contexts) context.name = name;
  for (const int width : {72, 100, 160})
    for (const bool kernels : {false, true})
      for (const bool tree : {false, true}) {
        TextOptions options = profile_options();
        options.width = width;
        options.kernels = kernels;
        if (tree) options.tree.emplace();
        EXPECT_LE(widest(to_text(report, options)), static_cast<size_t>(width)) << to_text(report, options);
      }
}

TEST(WhereTimeGoes, NamesAreCutWhereTheySayLeast) {
  EXPECT_EQ(shortened_name("axpy<float, 4>", 14), "axpy<float, 4>");
  EXPECT_EQ(shortened_name("sum<vec<float, 4>, add<int>>", 23), "sum<vec<...>, add<...>>");
  EXPECT_EQ(shortened_name("kernel_with_a_long_name_v2", 18), "kernel_wit...me_v2");
  for (size_t room = 8; room < 60; ++room)
    EXPECT_LE(shortened_name("a<b<c<d>>, e::operator->()>::f", room).size(), room);
}

TEST(WhereTimeGoes, WithoutGpuTimesItSaysWhatToDo) {
  TextOptions options = tree_options(TreeView::flat);
  options.kernels = true;
  const std::string text = to_text(als_report(), options);
  EXPECT_NE(text.find("was not measured"), std::string::npos) << text;
  EXPECT_NE(text.find("diogenes doctor"), std::string::npos) << text;
  Report nothing = als_report();
  nothing.profile.emplace();  // no GPU work at all
  EXPECT_EQ(to_text(nothing, profile_options()), to_text(als_report(), profile_options()));
  EXPECT_FALSE(to_text(nothing, options).empty());
}

}  // namespace
}  // namespace diogenes
