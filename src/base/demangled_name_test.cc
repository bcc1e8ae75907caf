#include "base/demangled_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace diogenes {
namespace {

// The pieces with a letter each for their kind, one behind the other: "s:void |t:f|p:(int)".
std::string pieces(std::string_view name) {
  std::string all;
  NameReader reader(name);
  while (const auto piece = reader.next()) {
    if (!all.empty()) all += '|';
    all += "toauB<[pqs"[static_cast<size_t>(piece->kind)];
    all += ':';
    all += piece->text;
  }
  return all;
}

TEST(DemangledName, NamesArgumentsAndParameters) {
  EXPECT_EQ(pieces("main"), "t:main");
  EXPECT_EQ(pieces(""), "");
  EXPECT_EQ(pieces("void a::B<int>::c<3>(int, char) const"),
            "t:void|s: |t:a::B|<:<int>|t:::c|<:<3>|p:(int, char)|q: const");
  EXPECT_EQ(pieces("unsigned long f<unsigned long>(unsigned long)"),
            "t:unsigned|s: |t:long|s: |t:f|<:<unsigned long>|p:(unsigned long)");
  EXPECT_EQ(pieces("f[abi:cxx11](int) [clone .cold]"), "t:f|[:[abi:cxx11]|p:(int)|q: [clone .cold]");
  EXPECT_EQ(pieces("f [clone .cold]"), "t:f|[: [clone .cold]");
  EXPECT_EQ(pieces("std::vector<int, std::allocator<int> >::~vector()"),
            "t:std::vector|<:<int, std::allocator<int> >|t:::~vector|p:()");
}

TEST(DemangledName, ComparisonsAndShiftsAreNoBrackets) {
  EXPECT_EQ(pieces("f<(1<<2)>(int)"), "t:f|<:<(1<<2)>|p:(int)");
  EXPECT_EQ(pieces("f<(1 > 2)>(void (*)(int))"), "t:f|<:<(1 > 2)>|p:(void (*)(int))");
  EXPECT_EQ(pieces("decltype (a->b) ns::add<int>(int)"),
            "t:decltype|s: |p:(a->b)|s: |t:ns::add|<:<int>|p:(int)");
}

TEST(DemangledName, Operators) {
  EXPECT_EQ(pieces("operator<< <char>(A&, char)"), "o:operator<<|<: <char>|p:(A&, char)");
  EXPECT_EQ(pieces("bool ns::operator< <int>(int)"), "t:bool|s: |t:ns::|o:operator<|<: <int>|p:(int)");
  EXPECT_EQ(pieces("A::operator()(int) const"), "t:A::|o:operator()|p:(int)|q: const");
  EXPECT_EQ(pieces("A<int>::operator->() const"), "t:A|<:<int>|t:::|o:operator->|p:()|q: const");
  EXPECT_EQ(pieces("A::operator new[](unsigned long)"), "t:A::|o:operator new[]|p:(unsigned long)");
  EXPECT_EQ(pieces("operator\"\" _km(long double)"), "o:operator\"\" |t:_km|p:(long double)");
  EXPECT_EQ(pieces("operator_like(int)"), "t:operator_like|p:(int)");
  EXPECT_EQ(pieces("run<&A::operator< >(int)"), "t:run|<:<&A::operator< >|p:(int)");
  EXPECT_EQ(pieces("f(B<&A::operator()>)::c(int)"), "t:f|p:(B<&A::operator()>)|t:::c|p:(int)");
}

TEST(DemangledName, ConversionsAreOperatorsWithAType) {
  EXPECT_EQ(pieces("A::operator unsigned long() const"), "t:A::|o:operator|t: unsigned long|p:()|q: const");
  EXPECT_EQ(pieces("A::operator std::vector<int>*()"), "t:A::|o:operator|t: std::vector|<:<int>|t:*|p:()");
  EXPECT_EQ(pieces("A::operator newtype()"), "t:A::|o:operator|t: newtype|p:()");
}

TEST(DemangledName, WhatHasNoName) {
  EXPECT_EQ(pieces("(anonymous namespace)::g(int)"), "a:(anonymous namespace)|t:::g|p:(int)");
  EXPECT_EQ(pieces("run(int)::{lambda(int)#1}::operator()(int) const"),
            "t:run|p:(int)|t:::|B:{lambda(int)#1}|t:::|o:operator()|p:(int)|q: const");
  EXPECT_EQ(pieces("main::<lambda(int)>::operator()"), "t:main::|u:<lambda(int)>|t:::|o:operator()");
  EXPECT_EQ(pieces("A::g(int) const::Local::go()"), "t:A::g|p:(int)|q: const|t:::Local::go|p:()");
}

TEST(DemangledName, OtherLanguages) {
  EXPECT_EQ(pieces("<T as core::fmt::Debug>::fmt"), "u:<T as core::fmt::Debug>|t:::fmt");
  EXPECT_EQ(pieces("core::ops::FnOnce::call_once{{vtable.shim}}"),
            "t:core::ops::FnOnce::call_once|B:{{vtable.shim}}");
  EXPECT_EQ(pieces("__solver_MOD_step"), "t:__solver_MOD_step");
}

TEST(DemangledName, WhatNothingClosesReachesToTheEnd) {
  EXPECT_EQ(pieces("broken((("), "t:broken|p:(((");
  EXPECT_EQ(pieces("a<b(c>d"), "t:a|<:<b(c>d");
  EXPECT_EQ(pieces(")>>]}"), "t:)>>]}");
  EXPECT_EQ(pieces("f(int) [clone"), "t:f|p:(int)|q: [clone");
  EXPECT_EQ(pieces("a "), "t:a|s: ");
}

// Whatever the text is made of: pieces lie one behind the other and cover it.
TEST(DemangledName, PiecesCoverAnyText) {
  const std::vector<std::string> parts = {"<",
                                          ">",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          " ",
                                          "operator",
                                          ":",
                                          "a",
                                          "::",
                                          "->",
                                          "<<",
                                          " const",
                                          " [clone",
                                          "~",
                                          "(anonymous namespace)",
                                          "<lambda",
                                          "#1",
                                          ",",
                                          "new"};
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::mt19937 random(seed);
    std::string name;
    for (unsigned count = random() % 20; count > 0; --count) name += parts[random() % parts.size()];
    size_t end = 0;
    NameReader reader(name);
    while (const auto piece = reader.next()) {
      ASSERT_EQ(piece->begin, end) << name;
      ASSERT_FALSE(piece->text.empty()) << name;
      ASSERT_EQ(piece->text.data(), name.data() + end) << name;
      end += piece->text.size();
    }
    ASSERT_EQ(end, name.size()) << name;
  }
}

}  // namespace
}  // namespace diogenes
