// When a source need not be read again; the agent's part is played here.
#include "corrector/transfers/known_sources.h"

#include <gtest/gtest.h>
#include <string.h>

#include <memory>

namespace diogenes::corrector {
namespace {

constexpr uint64_t kPage = 4096;
alignas(kPage) unsigned char memory[16 * kPage];

struct Agent {
  int watches = 0, ended = 0;
  uint32_t up = 0;  // the watch; one at a time
  bool written = false, refuses = false, readable = true;
};
Agent agent;

CorrectorServices services() {
  CorrectorServices made{};
  made.watch_source = [](uint64_t begin, uint64_t bytes) -> uint32_t {
    EXPECT_EQ(begin % kPage, 0u);
    EXPECT_EQ(bytes % kPage, 0u);
    if (agent.refuses) return 0;
    agent.written = false;
    ++agent.watches;
    return agent.up = 7;
  };
  made.is_unwritten = [](uint32_t watch) {
    EXPECT_EQ(watch, agent.up);
    return !agent.written;
  };
  made.end_watch = [](uint32_t watch) {
    EXPECT_EQ(watch, agent.up);
    agent.up = 0;
    ++agent.ended;
  };
  made.copy = [](void* to, const void* from, size_t bytes) {
    if (agent.readable) memcpy(to, from, bytes);
    return agent.readable;
  };
  made.content = [](const void* from, uint64_t bytes, bool, TransferContent* content) {
    *content = {bytes, 0};
    for (uint64_t i = 0; i < bytes; ++i)
      content->high = content->high * 31 + static_cast<const unsigned char*>(from)[i];
  };
  return made;
}

struct Sources : testing::Test {
  const CorrectorServices made = services();
  std::unique_ptr<KnownSources> sources = std::make_unique<KnownSources>();
  uint64_t host = reinterpret_cast<uint64_t>(memory), bytes = 8 * kPage;

  void SetUp() override {
    agent = {};
    memset(memory, 1, sizeof memory);
    sources->start(made);
  }
  // A copy: was its content known? Where it was not, it is read.
  bool copy() {
    TransferContent content, read;
    uint32_t reading = 0;
    const bool known = sources->find(host, bytes, &content, &reading);
    made.content(reinterpret_cast<const void*>(host), bytes, false, &read);
    if (!known) sources->remember(host, bytes, read, reading);
    if (known) {
      EXPECT_EQ(content.high, read.high);
    }
    return known;
  }
  void write(uint64_t at, unsigned char value) {
    memory[at] = value;
    agent.written |= agent.up != 0;
  }
};

TEST_F(Sources, AreReadTwiceAndThenKnown) {
  EXPECT_FALSE(copy());
  EXPECT_EQ(agent.watches, 0);
  EXPECT_FALSE(copy());
  EXPECT_TRUE(copy());
  EXPECT_TRUE(copy());
  EXPECT_EQ(agent.watches, 1);
}

TEST_F(Sources, AreReadAgainWhenTheyWereWritten) {
  copy(), copy();
  write(100, 2);
  EXPECT_FALSE(copy());
  EXPECT_FALSE(copy());
  EXPECT_TRUE(copy());
}

// Its pages hold other data, too, at both ends: those are compared.
TEST_F(Sources, ThatShareTheirFirstAndLastPage) {
  host += 100, bytes = 6 * kPage;
  copy(), copy();
  EXPECT_TRUE(copy());
  memory[101] = 9;  // no watch stands over it
  EXPECT_FALSE(copy());
  copy();
  EXPECT_TRUE(copy());
  memory[100 + 6 * kPage - 1] = 9;
  EXPECT_FALSE(copy());
  copy(), copy();
  memory[99] = 9;  // not the source's
  EXPECT_TRUE(copy());
}

TEST_F(Sources, WhoseEndsCannotBeReadAreNotKnown) {
  host += 100, bytes = 6 * kPage;
  copy(), copy();
  agent.readable = false;
  EXPECT_FALSE(copy());
}

TEST_F(Sources, ThatAreWrittenEachTimeAreNotWatchedForLong) {
  for (unsigned char i = 0; i < 100; ++i) {
    write(0, i);
    EXPECT_FALSE(copy());
  }
  EXPECT_LE(agent.watches, 4);
  EXPECT_EQ(agent.ended, agent.watches);
}

TEST_F(Sources, OfFewPagesAreRead) {
  bytes = kPage;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(copy());
  EXPECT_EQ(agent.watches, 0);
}

TEST_F(Sources, ThatCannotBeWatchedAreRead) {
  agent.refuses = true;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(copy());
}

// Another thread watches the source while this one reads: what this one read may be from before.
TEST_F(Sources, AReadingFromBeforeTheWatchCountsForNothing) {
  TransferContent content, old;
  uint32_t early = 0, late = 0;
  copy();
  made.content(memory, bytes, false, &old);
  agent.refuses = true;
  EXPECT_FALSE(sources->find(host, bytes, &content, &early));
  agent.refuses = false;
  EXPECT_FALSE(sources->find(host, bytes, &content, &late));  // it stands now
  sources->remember(host, bytes, old, early);
  EXPECT_FALSE(sources->find(host, bytes, &content, &early));
  sources->remember(host, bytes, old, late);
  EXPECT_TRUE(sources->find(host, bytes, &content, &early));
}

}  // namespace
}  // namespace diogenes::corrector
