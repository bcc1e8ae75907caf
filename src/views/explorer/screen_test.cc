#include "views/explorer/screen.h"

#include <gtest/gtest.h>

namespace diogenes::explorer {
namespace {

TEST(Screen, ColumnsAreWhatATerminalShows) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("gr\u00fc\u00df"), 4u);
  EXPECT_EQ(columns_of("\u884c\u5217"), 4u);  // wide
  EXPECT_EQ(columns_of("e\u0301"), 1u);       // combining
  EXPECT_EQ(columns_of("\xff\xc3"), 2u);      // no UTF-8: a '?' each
}

TEST(Screen, NothingMovesTheCursor) {
  EXPECT_EQ(printable("a\tb\nc\x1b[2Jd\x7f"), "a b?c?[2Jd?");
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"),
            "?????????");                   // overlong, half a pair, too large
  EXPECT_EQ(printable("a\u202eb"), "a?b");  // would turn the text around
  EXPECT_EQ(printable("\xe2\x82"), "??");   // cut off
}

TEST(Screen, TextIsCutBetweenCharacters) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abc...");
  EXPECT_EQ(cut("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4", 6), "\u00e4\u00f6\u00fc...");
  EXPECT_EQ(cut("\u884c\u5217\u884c\u5217", 6), "\u884c...");
  EXPECT_EQ(cut("abcdef", 2), "ab");
  EXPECT_EQ(cut("abcdef", 0), "");
  EXPECT_EQ(fitted("\u884c", 4), "\u884c  ");
  for (size_t columns = 0; columns < 12; ++columns)
    EXPECT_EQ(columns_of(fitted("a\u884c\u5217b\u00fcc", columns)), columns);
}

TEST(Screen, LongLinesAreBroken) {
  Line line("abc", Style::bold);
  line.add("defghij");
  const std::vector<Line> lines = broken(line, 5, 1);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text(), "abcde");
  EXPECT_EQ(lines[1].text(), " fghi");
  EXPECT_EQ(lines[2].text(), " j");
  EXPECT_EQ(lines[0].spans[0].style, Style::bold);
  EXPECT_EQ(broken(Line("\u884c\u884c"), 1, 1).size(), 2u);  // wider than the line: one each
  EXPECT_EQ(broken(Line(""), 5, 1).size(), 1u);
}

TEST(Screen, StylesOfAPageAreTaken) {
  const std::vector<Line> lines = lines_of("a \x1b[1;32mb\x1b[0m c\nd\x1b[\n", 80);
  ASSERT_EQ(lines.size(), 2u);
  ASSERT_EQ(lines[0].spans.size(), 3u);
  EXPECT_EQ(lines[0].spans[1].style, Style::gain);
  EXPECT_EQ(lines[0].text(), "a b c");
  EXPECT_EQ(lines[1].text(), "d");
}

TEST(Screen, WhatIsFoundIsMarkedAcrossSpans) {
  Line line("abc", Style::bold);
  line.add("def ABC");
  const Line found = with_found(line, "cd");
  EXPECT_EQ(found.text(), line.text());
  size_t marked = 0;
  for (const Span& span : found.spans)
    if (span.style == Style::found) marked += span.text.size();
  EXPECT_EQ(marked, 2u);
  marked = 0;
  for (const Span& span : with_found(line, "abc").spans)
    if (span.style == Style::found) marked += span.text.size();
  EXPECT_EQ(marked, 6u);  // in either case
  for (const Span& span : with_found(line, "ABC").spans)
    if (span.style == Style::found) {
      EXPECT_EQ(span.text, "ABC");
    }
}

}  // namespace
}  // namespace diogenes::explorer
