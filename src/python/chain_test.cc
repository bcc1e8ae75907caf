#include "python/chain.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "python/testing/interpreter_image.h"

namespace diogenes::python {
namespace {

using testing::Image;

std::vector<Layout> all_layouts() {
  std::vector<Layout> layouts;
  for (uint32_t version = 0x0308; version <= 0x030c; ++version) layouts.push_back(layout_from_table(version));
  uint64_t offsets[kDebugOffsetWords];
  for (uint32_t version : {0x030d, 0x030e, 0x030f})
    for (const bool free_threaded : {false, true}) {
      testing::debug_offsets(version, free_threaded, offsets);
      layouts.push_back(layout_from_debug_offsets(offsets));
    }
  return layouts;
}

std::string title(const ::testing::TestParamInfo<Layout>& info) {
  return "of_3_" + std::to_string(info.param.version & 0xff) + (info.param.type > 8 ? "_free_threaded" : "");
}

class Chain : public ::testing::TestWithParam<Layout> {};

struct Frames : Image {
  explicit Frames(const Layout& layout) : Image(layout) {
    file = text(U"/app/train.py");
    lines = bytes("\xd7\x04\x09");
    step = code(file, text(U"step"), lines, 40);
    main = code(file, text(U"größe"), lines, 1);
  }
  uintptr_t file, lines, step, main;
};

TEST_P(Chain, IsReadFromTheInnermostFrameOutwards) {
  Frames image(GetParam());
  image.frame(image.step, 7, true), image.frame(image.step, 0, false), image.frame(image.main, 99, true);
  PythonReading in_place, through_kernel;
  ASSERT_TRUE(ChainReader<InPlace>(image.interpreter).read(image.state, in_place));
  ASSERT_TRUE(ChainReader<ThroughKernel>(image.interpreter).read(image.state, through_kernel));
  for (const PythonReading* reading : {&in_place, &through_kernel}) {
    ASSERT_EQ(reading->count, 3);
    EXPECT_FALSE(reading->cut);
    const bool each = GetParam().chain == Layout::Chain::objects;
    const struct {
      uintptr_t code;
      uint32_t instruction;
      bool entry;
    } expected[] = {{image.step, 7, true}, {image.step, 0, each}, {image.main, 99, true}};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(reading->entries[i].code, expected[i].code);
      EXPECT_EQ(reading->entries[i].instruction, expected[i].instruction);
      EXPECT_EQ(reading->entries[i].entry, expected[i].entry) << i;
    }
  }
  EXPECT_EQ(in_place.hash, through_kernel.hash);
}

TEST_P(Chain, WithoutFramesIsEmpty) {
  const Frames image(GetParam());
  PythonReading reading;
  EXPECT_TRUE(ChainReader<InPlace>(image.interpreter).read(image.state, reading));
  EXPECT_EQ(reading.count, 0);
}

TEST_P(Chain, ThatIsDeepIsCut) {
  Frames image(GetParam());
  for (int i = 0; i < kMaximumFrames + 1; ++i) image.frame(image.step, 1, false);
  PythonReading reading;
  ASSERT_TRUE(ChainReader<InPlace>(image.interpreter).read(image.state, reading));
  EXPECT_EQ(reading.count, kMaximumFrames);
  EXPECT_TRUE(reading.cut);
}

TEST_P(Chain, ThatIsNoneIsRefused) {
  Frames image(GetParam());
  const uintptr_t frame = image.frame(image.step, 1, false);
  PythonReading reading;
  const ChainReader<ThroughKernel> reader(image.interpreter);
  ASSERT_TRUE(reader.read(image.state, reading));
  for (const uintptr_t code : {image.file, uintptr_t{0}, uintptr_t{8}, ~uintptr_t{0} - 7, image.state}) {
    image.put(frame + GetParam().code, code);
    EXPECT_FALSE(reader.read(image.state, reading));
  }
  image.put(frame + GetParam().code, image.step);
  image.put(frame + GetParam().previous, uintptr_t{64});
  EXPECT_FALSE(reader.read(image.state, reading));
  EXPECT_FALSE(reader.read(0x1000, reading));
}

// The name of a file, of a class of the program's: its text lies elsewhere.
TEST_P(Chain, WithTextElsewhereIsRefused) {
  Frames image(GetParam());
  image.frame(image.step, 1, false);
  PythonReading reading;
  const ChainReader<InPlace> reader(image.interpreter);
  ASSERT_TRUE(reader.read(image.state, reading));
  image.put(image.file + GetParam().text_state, 1u << GetParam().kind_shift);
  image.put(image.file + GetParam().text_length, uint64_t{15} << 20);  // nothing is there
  EXPECT_FALSE(reader.read(image.state, reading));
}

// A frame that leads back to itself: as many frames as are kept, or none.
TEST_P(Chain, ThatHasNoEndComesToAnEnd) {
  Frames image(GetParam());
  const uintptr_t frame = image.frame(image.step, 1, false);
  image.put(frame + GetParam().previous, frame);
  PythonReading reading;
  ChainReader<InPlace>(image.interpreter).read(image.state, reading);
  EXPECT_LE(reading.count, kMaximumFrames);
  if (GetParam().owner == 0) return;
  image.put(frame + GetParam().owner, kNotPython);
  EXPECT_FALSE(ChainReader<InPlace>(image.interpreter).read(image.state, reading));
}

// Another function at the same place, its parts at the places of the old one's.
TEST_P(Chain, TellsFunctionsApartThatLieAtOnePlace) {
  Frames image(GetParam());
  image.frame(image.step, 1, true);
  const ChainReader<InPlace> reader(image.interpreter);
  PythonReading before, after, again;
  ASSERT_TRUE(reader.read(image.state, before));
  image.put(image.file + GetParam().ascii_bytes + 12, 'x');  // the last letter
  ASSERT_TRUE(reader.read(image.state, after));
  EXPECT_NE(before.hash, after.hash);
  EXPECT_NE(before.entries[0].fingerprint, after.entries[0].fingerprint);
  image.put(image.file + GetParam().ascii_bytes + 12, 'y');
  ASSERT_TRUE(reader.read(image.state, again));
  EXPECT_EQ(before.hash, again.hash);
  image.put(image.lines + GetParam().bytes_data + 1, 'z');
  ASSERT_TRUE(reader.read(image.state, after));
  EXPECT_NE(before.hash, after.hash);
}

// Whatever is read, nothing happens to the program.
TEST_P(Chain, SurvivesDamage) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 400; ++round) {
    Frames image(GetParam());
    for (int i = 0; i < 6; ++i) image.frame(i % 2 ? image.step : image.main, 3, i == 3);
    for (int damage = 0; damage < 8; ++damage) {
      const size_t word = random() % (image.used() / 8);
      const uint64_t values[] = {random(), random() % 4096, 0, image.state + random() % 4096 / 8 * 8,
                                 ~uint64_t{0} - random() % 64};
      image.put(reinterpret_cast<uintptr_t>(image.memory()) + word * 8, values[random() % 5]);
    }
    PythonReading reading;
    ChainReader<ThroughKernel>(image.interpreter).read(image.state, reading);
    EXPECT_LE(reading.count, kMaximumFrames);
  }
}

INSTANTIATE_TEST_SUITE_P(, Chain, ::testing::ValuesIn(all_layouts()), title);

// A thread of a free-threaded interpreter runs a copy of the bytecode.
TEST(FreeThreaded, InstructionsAreCountedInTheThreadsOwnCopy) {
  uint64_t offsets[kDebugOffsetWords];
  testing::debug_offsets(0x030e, true, offsets);
  const Layout layout = layout_from_debug_offsets(offsets);
  Frames image(layout);
  const uintptr_t frame = image.frame(image.step, 0, true), copies = image.reserve(64),
                  copy = image.reserve(256);
  image.put(image.step + layout.thread_codes, copies);
  image.put(copies, uint64_t{2});
  image.put(copies + 16, copy);
  image.put(frame + layout.thread_code, int32_t{1});
  image.put(frame + layout.instruction, copy + 2 * 42);
  PythonReading reading;
  ASSERT_TRUE(ChainReader<InPlace>(image.interpreter).read(image.state, reading));
  EXPECT_EQ(reading.entries[0].instruction, 42u);
  image.put(frame + layout.instruction, copy + 2 * 100);  // behind its end
  ASSERT_TRUE(ChainReader<InPlace>(image.interpreter).read(image.state, reading));
  EXPECT_EQ(reading.entries[0].instruction, PythonFrame::kNoInstruction);
}

TEST(Layouts, AreKnownFrom3_8To3_15) {
  for (const Layout& layout : all_layouts()) EXPECT_TRUE(layout.known());
  for (const uint32_t version : {0u, 0x0207u, 0x0307u, 0x030du, 0x030fu, 0x0400u})
    EXPECT_FALSE(layout_from_table(version).known());
}

TEST(Layouts, ThatContradictThemselvesAreNotKnown) {
  uint64_t offsets[kDebugOffsetWords];
  const auto with = [&](int position, uint64_t value) {
    testing::debug_offsets(0x030d, false, offsets);
    offsets[position] = value;
    return layout_from_debug_offsets(offsets).known();
  };
  EXPECT_TRUE(with(2, 0));
  EXPECT_FALSE(with(0, 1));           // no table
  EXPECT_FALSE(with(1, 0x03100000));  // a version to come, whose table may be another
  EXPECT_FALSE(with(1, 0x030e00f0));  // the table of 3.13 read as that of 3.14
  EXPECT_FALSE(with(23, 1 << 20));    // an offset beyond any structure
  EXPECT_FALSE(with(33, 300));        // a frame larger than what is looked at
  std::mt19937_64 random(2);
  for (int round = 0; round < 10'000; ++round) {
    testing::debug_offsets(0x030d + random() % 3, random() % 2, offsets);
    for (int i = 0; i < 4; ++i)
      offsets[3 + random() % (kDebugOffsetWords - 3)] = random() % 3 ? random() % 512 : random();
    const Layout layout = layout_from_debug_offsets(offsets);
    EXPECT_LE(layout.frame_bytes, kLargestView);
    EXPECT_LE(layout.code_bytes, kLargestView);
  }
}

}  // namespace
}  // namespace diogenes::python
