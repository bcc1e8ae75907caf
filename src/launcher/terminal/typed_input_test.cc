// What was typed: what the file holds, what is handed over at a time; and which threads wait for a terminal.
#include "launcher/terminal/typed_input.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "launcher/terminal/terminal_wait.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

class Typed : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "diogenes-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    look_ = look_of(-1);
    look_.size = {.ws_row = 11, .ws_col = 47};
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string text_of(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
  TerminalLook look_;
};

TEST_F(Typed, TheFileHoldsAllButPasswords) {
  const fs::path file = folder_ / "terminal";
  TypedInput typed(look_);
  ASSERT_TRUE(typed.keep_in(file));
  typed.add({.after = {5}, .bytes = "one\n"});
  typed.add({.after = {6}, .secret = true, .bytes = "sesame\n"});
  typed.add({.after = {7}, .lines = false, .asked = false, .bytes = std::string("\x1b[A\0", 4)});
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  TypedInput again(look_of(-1));
  ASSERT_TRUE(TypedInput::read(file, again));
  EXPECT_EQ(again.look().size.ws_col, 47);
  EXPECT_EQ(memcmp(again.look().modes.c_cc, look_.modes.c_cc, sizeof look_.modes.c_cc), 0);
  EXPECT_TRUE(again.has_secrets());
  ASSERT_EQ(again.pieces().size(), 3u);
  EXPECT_EQ(again.pieces()[0].bytes, "one\n");
  EXPECT_EQ(again.pieces()[0].after, Nanoseconds{5});
  EXPECT_EQ(again.pieces()[1].bytes, "");
  EXPECT_EQ(again.pieces()[2].bytes, std::string("\x1b[A\0", 4));
  EXPECT_FALSE(again.pieces()[2].lines);
  EXPECT_FALSE(again.pieces()[2].asked);
}

TEST_F(Typed, AFileThatWasCutOrDamagedIsTakenAsFarAsItIsWhole) {
  const fs::path file = folder_ / "terminal";
  {
    TypedInput typed(look_);
    ASSERT_TRUE(typed.keep_in(file));
    typed.add({.after = {5}, .bytes = "one\n"});
    typed.add({.after = {6}, .bytes = "two\n"});
  }
  const std::string whole = text_of(file);
  const size_t header = whole.find("typed") - 1, one = whole.find("typed", header + 2);
  for (size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(file) << whole.substr(0, length);
    TypedInput typed(look_of(-1));
    ASSERT_EQ(static_cast<bool>(TypedInput::read(file, typed)), length >= header) << length;
    EXPECT_EQ(typed.pieces().size(), length == whole.size() ? 2u : length >= one ? 1u : 0u) << length;
  }
  for (const char* bad : {"", "no such file\n", "diogenes-terminal/1\n", "diogenes-terminal/1\nlook 1 2\n"}) {
    std::ofstream(file) << bad;
    TypedInput typed(look_of(-1));
    EXPECT_FALSE(TypedInput::read(file, typed)) << bad;
  }
  for (const char* bad : {"typed 5\n", "typed x lines asked 00\n", "typed 5 lines asked 0\n",
                          "typed 5 lines asked 0g\n", "types 5 lines asked 00\n"}) {
    std::ofstream(file) << whole << bad;
    TypedInput typed(look_of(-1));
    EXPECT_FALSE(TypedInput::read(file, typed)) << bad;
  }
}

TEST_F(Typed, LinesAreHandedOverOneByOneAndKeysAsTheyCame) {
  TypedInput typed(look_);
  const std::string end(1, static_cast<char>(look_.modes.c_cc[VEOF]));
  for (const char* key : {"a", "b\x7f", "c", "\n", "d"}) typed.add({.bytes = key});
  typed.add({.bytes = end});
  typed.add({.lines = false, .bytes = "j"});
  typed.add({.lines = false, .bytes = "k"});
  typed.add({.bytes = "rest"});
  std::vector<std::string> units;
  for (size_t at = 0; at < typed.pieces().size();) units.push_back(typed.next(at));
  EXPECT_EQ(units, (std::vector<std::string>{"ab\x7f"
                                             "c\n",
                                             "d" + end, "j", "k", "rest"}));
}

TEST_F(Typed, WhatWasNotReadIsTakenBack) {
  const fs::path file = folder_ / "terminal";
  TypedInput typed(look_);
  ASSERT_TRUE(typed.keep_in(file));
  typed.add({.bytes = "one\n"});
  typed.add({.bytes = "two\n"});
  typed.add({.bytes = "three\n"});
  typed.take_back(8);
  TypedInput again(look_of(-1));
  ASSERT_TRUE(TypedInput::read(file, again));
  ASSERT_EQ(again.pieces().size(), 2u);
  EXPECT_EQ(again.pieces()[1].bytes, "tw");
}

// A child that does one thing with a terminal; how it waits there, once it does.
class Waiting : public testing::Test {
 protected:
  void see(const std::function<void()>& in_child, TerminalWait::Kind wanted) {
    Result<PseudoTerminal> terminal = PseudoTerminal::open(look_of(-1));
    ASSERT_TRUE(terminal);
    const pid_t child = fork();
    if (child == 0) {
      for (int fd = 0; fd < 3; ++fd) dup2(terminal->programs(), fd);
      in_child();
      _exit(0);
    }
    TerminalWait found;
    for (int i = 0; i < 20'000; ++i, usleep(1000)) {
      found = terminal_wait(child, terminal->device());
      if (found.kind == wanted && (wanted != TerminalWait::Kind::none || i > 50)) break;
    }
    EXPECT_EQ(found.kind, wanted);
    EXPECT_EQ(found.main_thread, wanted == TerminalWait::Kind::blocked);
    EXPECT_TRUE(found.known);
    if (wanted == TerminalWait::Kind::blocked) {
      EXPECT_EQ(terminal_wait(child, terminal->device()).turn, found.turn);
      // It waits for each of two bytes: another wait.
      ASSERT_EQ(write(terminal->ours(), "x\n", 2), 2);
      TerminalWait next = found;
      for (int i = 0; i < 20'000 && (next.kind != wanted || next.turn == found.turn); ++i, usleep(1000))
        next = terminal_wait(child, terminal->device());
      EXPECT_EQ(next.kind, wanted);
      EXPECT_NE(next.turn, found.turn);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
};

TEST_F(Waiting, ReadingIsSeen) {
  see(
      [] {
        char bytes[100];
        while (read(0, bytes, sizeof bytes) > 0) {
        }
      },
      TerminalWait::Kind::blocked);
}

// As under a shell: a job that Ctrl-Z stopped is not who gets the next line.
TEST_F(Waiting, AStoppedReaderWaitsForNothing) {
  Result<PseudoTerminal> terminal = PseudoTerminal::open(look_of(-1));
  ASSERT_TRUE(terminal);
  const pid_t child = fork();
  if (child == 0) {
    dup2(terminal->programs(), 0);
    char byte = 0;
    while (read(0, &byte, 1) > 0) {
    }
    _exit(0);
  }
  const auto kind = [&] { return terminal_wait(child, terminal->device()).kind; };
  const auto await_reading = [&] {
    for (int i = 0; i < 20'000 && kind() != TerminalWait::Kind::blocked; ++i) usleep(1000);
    EXPECT_EQ(kind(), TerminalWait::Kind::blocked);
  };
  await_reading();
  int status = 0;
  kill(child, SIGSTOP);
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(kind(), TerminalWait::Kind::none);
  kill(child, SIGCONT);
  await_reading();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Waiting, PollingAndSelectingWithoutALimitIsSeen) {
  auto take = [] {
    char bytes[100];
    if (read(0, bytes, sizeof bytes) <= 0) _exit(1);
  };
  see(
      [&] {
        for (;; take()) {
          pollfd files[] = {{1, POLLOUT, 0}, {0, POLLIN, 0}};
          poll(files + 1, 1, -1);
        }
      },
      TerminalWait::Kind::blocked);
  see(
      [&] {
        for (;; take()) {
          fd_set files;
          FD_ZERO(&files);
          FD_SET(0, &files);
          select(1, &files, nullptr, nullptr, nullptr);
        }
      },
      TerminalWait::Kind::blocked);
  see(
      [&] {
        const int epoll = epoll_create1(0);
        epoll_event event{.events = EPOLLIN, .data = {}};
        epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
        for (;; take()) epoll_wait(epoll, &event, 1, -1);
      },
      TerminalWait::Kind::blocked);
}

TEST_F(Waiting, PollingWithALimitIsSomethingElse) {
  see(
      [] {
        pollfd file{0, POLLIN, 0};
        poll(&file, 1, 1'000'000);
      },
      TerminalWait::Kind::limited);
}

TEST_F(Waiting, OtherWaitsAreNone) {
  see([] { pause(); }, TerminalWait::Kind::none);
  see(
      [] {
        int ends[2];
        char byte = 0;
        if (pipe(ends) == 0) [[maybe_unused]]
          ssize_t got = read(ends[0], &byte, 1);
      },
      TerminalWait::Kind::none);
  see(
      [] {
        pollfd file{0, POLLPRI, 0};
        poll(&file, 1, -1);
      },
      TerminalWait::Kind::none);
}

}  // namespace
}  // namespace diogenes::launcher
