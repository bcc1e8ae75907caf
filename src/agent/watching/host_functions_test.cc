// Host functions given to a driver that is not there: what it gets, and what it runs.
#include "agent/watching/host_functions.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "agent/core/calls/stream_numbers.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/guard/guards.h"

namespace diogenes::agent {
namespace {
bool wanted = true, capture = false;
int ended = 0, inside = 0;
}  // namespace

bool guards_wanted() { return wanted; }
void end_guarding() { ++ended; }
void enter_program_code(ProgramCode&) { ++inside; }
void leave_program_code(const ProgramCode&) { --inside; }
bool any_capture_begun() { return capture; }
PassThrough::PassThrough() {}
PassThrough::~PassThrough() {}
ProcessFile* process_file() { return nullptr; }
const MappedPlan& plan() {
  static MappedPlan none;
  return none;
}

namespace {

std::vector<std::pair<void*, int>> ran;  // the argument, and whether the thread was the program's

void function(void* data) { ran.emplace_back(data, inside); }
void other(void*) {}
void callback(void* stream, int status, void* data) {
  EXPECT_EQ(stream, reinterpret_cast<void*>(0x10));
  EXPECT_EQ(status, 7);
  function(data);
}

template <typename T>
uint64_t word(T value) {
  return (uint64_t)value;
}

// A call of the program's as the hook sees it, and the registers with which the driver is entered.
struct Given {
  Call call;
  uint64_t registers[6] = {};

  Given(const char* symbol, std::initializer_list<uint64_t> arguments, uint8_t flags = 0) {
    call.flags = flags;
    call.function = find_driver_function(symbol);
    call.driver = driver_function(call.function);
    EXPECT_NE(call.driver, nullptr) << symbol;
    int i = 0;
    for (uint64_t argument : arguments) call.arguments.integer[i] = registers[i] = argument, ++i;
    wrap_host_function(call, registers);
  }
  void returns(int result = 0) {
    call.result = result;
    unwrap_host_function(call);
  }
  void run() const { reinterpret_cast<void (*)(void*)>(registers[1])(reinterpret_cast<void*>(registers[2])); }
};

struct HostFunctions : testing::Test {
  void SetUp() override {
    wanted = true, capture = false;
    ended = inside = 0;
    ran.clear();
  }
  int data[4] = {};
};

TEST_F(HostFunctions, TheProgramsRunsOnAThreadOfTheProgram) {
  for (const char* symbol : {"cuLaunchHostFunc", "cuLaunchHostFunc_ptsz"}) {
    Given given(symbol, {1, word(function), word(data)});
    EXPECT_NE(given.registers[1], word(function));
    given.returns();
    given.run();
    EXPECT_EQ(given.registers[0], 1u);
  }
  Given given("cuStreamAddCallback_ptsz", {0x10, word(callback), word(data + 1), 0});
  given.returns();
  reinterpret_cast<void (*)(uint64_t, int, uint64_t)>(given.registers[1])(0x10, 7, given.registers[2]);
  Given object("cuUserObjectCreate", {1, word(data + 2), word(function), 1, 1});
  object.returns();
  reinterpret_cast<void (*)(uint64_t)>(object.registers[2])(object.registers[1]);
  using Ran = std::vector<std::pair<void*, int>>;
  EXPECT_EQ(ran, (Ran{{data, 1}, {data, 1}, {data + 1, 1}, {data + 2, 1}}));
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(ended, 0);
}

TEST_F(HostFunctions, NothingIsChangedWhereNoGuardCanBe) {
  wanted = false;
  Given given("cuLaunchHostFunc", {1, word(function), word(data)});
  EXPECT_EQ(given.registers[1], word(function));
  EXPECT_EQ(given.registers[2], word(data));
}

TEST_F(HostFunctions, WhatTheDriverRefusesIsTheDriversToRefuse) {
  Given none("cuLaunchHostFunc", {1, 0, word(data)});
  EXPECT_EQ(none.registers[1], 0u);
  EXPECT_EQ(ended, 0);
}

// Many more than the table holds: each that ran, or was refused, makes room.
TEST_F(HostFunctions, OneThatRanMakesRoom) {
  for (int i = 0; i < 100000; ++i) {
    Given given("cuLaunchHostFunc", {1, word(function), word(i)});
    bool early = i % 3 == 1;
    if (early) given.run();  // before the call returned
    given.returns(i % 3 == 2 ? 1 : 0);
    if (i % 3 == 0) given.run();
  }
  EXPECT_EQ(ended, 0);
}

TEST_F(HostFunctions, ACaptureThatBeganDuringTheCallKeepsIt) {
  Given given("cuLaunchHostFunc", {1, word(function), word(data)});
  capture = true;
  given.returns();
  given.run();
  for (int i = 0; i < 100; ++i)
    Given("cuUserObjectCreate", {1, word(data + 1), word(function), 1, 1}).returns();
  given.run();
  ASSERT_EQ(ran.size(), 2u);
  EXPECT_EQ(ran[1].first, data);
}

// They run as often as their graphs do, and are copied with these: the driver gets the program's own.
TEST_F(HostFunctions, NodesOfGraphsEndGuarding) {
  const Given captured("cuLaunchHostFunc", {1, word(function), word(data)}, kCapturing);
  EXPECT_EQ(captured.registers[1], word(function));
  EXPECT_EQ(captured.registers[2], word(data));
  EXPECT_EQ(ended, 1);
  const Given added("cuGraphAddHostNode", {1, 2, 0, 0, word(data)});
  EXPECT_EQ(added.registers[4], word(data));
  EXPECT_EQ(ended, 2);
}

TEST_F(HostFunctions, OfNodesOfAnyKindThoseOfTheHostDo) {
  const int32_t kernel = 0, host = 3;
  for (const char* symbol : {"cuGraphAddNode", "cuGraphAddNode_v2"}) {
    const bool second = symbol != std::string_view("cuGraphAddNode");
    auto add = [&](const int32_t* type) {
      const int before = ended;
      Given(symbol, {1, 2, 0, 0, second ? 0 : word(type), second ? word(type) : 0});
      return ended - before;
    };
    EXPECT_EQ(add(&kernel), 0);
    EXPECT_EQ(add(&host), 1);
    EXPECT_EQ(add(nullptr), 1) << "it cannot be read";
  }
}

TEST_F(HostFunctions, WhatCannotBeFollowedEndsGuarding) {
  Given unknown("cuLogsRegisterCallback", {word(other), 0, 0});
  EXPECT_EQ(ended, 1);
  capture = true;
  for (int i = 0; i < 20000; ++i) {
    Given given("cuLaunchHostFunc", {1, word(other), word(0x100000 + i)});
    if (given.registers[1] == word(other)) {
      EXPECT_EQ(given.registers[2], word(0x100000 + i));  // given as it is
      EXPECT_GT(i, 16000);
      EXPECT_GE(ended, 2);
      return;
    }
  }
  FAIL() << "the table has no end";
}

}  // namespace
}  // namespace diogenes::agent
