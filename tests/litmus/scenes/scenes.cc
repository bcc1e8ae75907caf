// scenes: plays the named scenes of scenes.def, four times each; a line each: name and what the program saw.
//
//   scenes               all
//   scenes NAME...       those whose names begin so
//   scenes --scenes      name, truth, tested function, begin and end of the code that makes the tested call
#include <cstdio>
#include <cstring>
#include <string>

#include "reading_process.h"
#include "shared.h"

namespace scenes {
namespace {

// On a busy machine the GPU may be done before this program gets to its wait: but not in every round.
constexpr int kRounds = 4;

struct Row {
  const char* name;
  char truth;
  const char* function;
  uint64_t (*play)(uint32_t value);
  size_t frame;
};

template <Scene scene, typename Function>
size_t frame_of(Function*) {
  return reinterpret_cast<size_t>(&Tested<scene, Function>::call);
}

extern "C" char __executable_start;

int show(const Row* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = rows[i].frame - reinterpret_cast<size_t>(&__executable_start);
    printf("%s %c %s %#zx %#zx\n", rows[i].name, rows[i].truth, rows[i].function, begin, begin + kFrameBytes);
  }
  return 0;
}

}  // namespace
}  // namespace scenes

int main(int argc, char** argv) {
  using namespace scenes;
#define SCENE(name, truth, function, reason) {#name, truth, #function, name, frame_of<Scene::name>(function)},
  static const Row rows[] = {
#include "scenes.def"
  };
#undef SCENE
  constexpr size_t count = sizeof rows / sizeof rows[0];
  if (argc > 1 && strcmp(argv[1], "--scenes") == 0) return show(rows, count);
  start_reader();
  shared = new Shared;
  for (size_t i = 0; i < count; ++i) {
    bool wanted = argc == 1;
    for (int a = 1; a < argc; ++a) wanted |= std::string(rows[i].name).rfind(argv[a], 0) == 0;
    if (!wanted || (!has_concurrent_managed() && strstr(rows[i].name, "managed"))) continue;
    printf("%s", rows[i].name);
    for (int round = 0; round < kRounds; ++round) {
      begin();
      const auto value = static_cast<uint32_t>(1000 + i * 16 + static_cast<size_t>(round) * 2);
      printf(" %lu", static_cast<unsigned long>(rows[i].play(value)));
    }
    printf("\n");
    fflush(stdout);  // a child is forked with an empty buffer
  }
  return 0;
}
