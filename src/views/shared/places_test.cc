#include "views/shared/places.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

TEST(Places, PathsRelativeToTheReadersFolder) {
  EXPECT_EQ(short_path("/home/me/als/src/als.cc", "/home/me/als"), "src/als.cc");
  EXPECT_EQ(short_path("/home/me/als/build/../src/als.cc", "/home/me/als/"), "src/als.cc");
  EXPECT_EQ(short_path("/home/me/als/src/als.cc", "/home/me/als/build"), "../src/als.cc");
  EXPECT_EQ(short_path("/usr/include/c++/12/vector", "/home/me/als/build"), "/usr/include/c++/12/vector");
  EXPECT_EQ(short_path("/a.cc", "/x/y"), "/a.cc");
  EXPECT_EQ(short_path("/home/me/a.cc", ""), "/home/me/a.cc");
  EXPECT_EQ(short_path("als.cc", "/home/me"), "als.cc");
  EXPECT_EQ(short_path("", "/home/me"), "");
}

TEST(Places, FunctionsWithoutParametersAndReturnType) {
  EXPECT_EQ(short_function("main"), "main");
  EXPECT_EQ(short_function("void a::B<int>::c<3>(int, char) const"), "a::B<int>::c<3>");
  EXPECT_EQ(short_function("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(short_function("(anonymous namespace)::run(int)"), "run");
  EXPECT_EQ(short_function("cfd::(anonymous namespace)::Vector<T>::~Vector()"), "cfd::Vector<T>::~Vector");
  EXPECT_EQ(short_function("decltype (a->b) ns::add<int>(int)"), "ns::add<int>");
  EXPECT_EQ(short_function("run(int)::Local::go(char)"), "run(int)::Local::go");
  EXPECT_EQ(short_function("A::f(int) const::Local::go(char)"), "A::f(int) const::Local::go");
  EXPECT_EQ(short_function("void f<(1<<2)>(int)"), "f<(1<<2)>");
  EXPECT_EQ(short_function("void run<&A::operator< >(int)"), "run<&A::operator< >");
  EXPECT_EQ(short_function("operator_like(int)"), "operator_like");
  EXPECT_EQ(short_function("A::operator()(int) const"), "A::operator()(int) const");
  EXPECT_EQ(short_function(""), "");
  EXPECT_EQ(short_function("broken((("), "broken");
}

TEST(Places, WhatIsKnownOfAFrame) {
  ReportFrame frame{"void f<int>(int)", "/w/a.cc", 12, "/w/app", 0x99, true};
  EXPECT_EQ(place_text(frame, "/w", 100), "a.cc:12 in f<int> (inlined)");
  EXPECT_EQ(place_text({"g", "", 0, "/lib/libx.so", 0x99, false}, "/w", 100), "g in libx.so");
  EXPECT_EQ(place_text({"", "", 0, "/lib/libx.so", 0x99, false}, "/w", 100), "libx.so+0x99");
  EXPECT_EQ(place_text({"", "", 0, "", 0x99, false}, "/w", 100), "generated code+0x99");
  EXPECT_EQ(place_text({"", "/w/a.f90", 3, "/w/app", 1, false}, "/w", 100), "a.f90:3");
  EXPECT_EQ(place_text({std::string(200, 'x'), "/w/a.cc", 3, "/w/app", 1, false}, "/w", 40),
            "a.cc:3 in " + std::string(27, 'x') + "...");
}

TEST(Places, FramesThatTellThePlace) {
  ReportFrame runtime{"cudaFree", "", 0, "libcudart.so", 1, false}, user{"f", "a.cc", 1, "app", 2, false},
      library{"g", "", 0, "lib.so", 3, false}, main{"main", "a.cc", 9, "app", 4, false},
      start{"_start", "s.S", 1, "app", 5, false};
  runtime.owner = start.owner = FrameOwner::runtime;
  library.owner = FrameOwner::library;
  std::vector<ReportFrame> stack = {runtime, user, library, main, start};  // frames point into it
  auto frames = telling_frames(stack, 4);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0]->function, "f");
  EXPECT_EQ(frames[1]->function, "main");
  EXPECT_EQ(telling_frames({runtime, library}, 4).size(),
            2u);  // nothing of the application: all that there is
  EXPECT_EQ(telling_frames({user, user, user}, 2).size(), 2u);
  EXPECT_TRUE(telling_frames({}, 2).empty());
}

TEST(Places, LibrariesDoNotHideTheReadersOwnCode) {
  std::vector<ReportFrame> stack;
  for (int i = 1; i <= 8; ++i) {
    stack.push_back({"thrust", "/usr/include/thrust/x.h", i, "app", 1, true});
    stack.back().owner = FrameOwner::library;
  }
  stack.push_back({"step", "/w/step.cc", 5, "app", 1, false});
  stack.push_back({"loop", "/w/loop.cc", 6, "app", 1, false});
  stack.push_back({"main", "/w/main.cc", 7, "app", 1, false});
  auto frames = telling_frames(stack, 2);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0]->function, "step");
  EXPECT_EQ(frames[1]->function, "loop");
}

ReportProblem problem_at(const std::string& file) {
  ReportProblem problem;
  problem.where = ReportFrame{.function = "f", .file = file, .line = 3};
  return problem;
}

TEST(Places, TheFolderThatAllFilesLieInIsSaidOnce) {
  Report report;
  report.problems = {problem_at("/opt/app/src/a/x.cc"), problem_at("/opt/app/src/y.cc")};
  EXPECT_EQ(common_folder(report, "/home/me"), "/opt/app/src");
  EXPECT_EQ(common_folder(report, "/opt/app/run"), "/opt/app/run");  // near it
  report.required.emplace_back().where = ReportFrame{.function = "g", .file = "/home/me/z.cc", .line = 1};
  EXPECT_EQ(common_folder(report, "/home/me"), "/home/me");
  report.required.back().where->file = "/usr/z.cc";  // nothing in common
  EXPECT_EQ(common_folder(report, "/home/me"), "/home/me");
  EXPECT_EQ(common_folder({}, "/home/me"), "/home/me");
}

}  // namespace
}  // namespace diogenes
