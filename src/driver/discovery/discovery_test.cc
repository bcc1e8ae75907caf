// The discovery against the simulated driver, which knows the truth but is not asked by the code under test;
// and its errors.
#include "driver/discovery/discovery.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/discovery/driver_session.h"
#include "driver/hooking/image.h"
#include "simulated_driver.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

const fs::path kSimulated = DIOGENES_SIMULATED_DRIVER, kDiscover = DIOGENES_DISCOVER,
               kNoDevice = DIOGENES_NO_DEVICE;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "diogenes-discovery-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Truth {
  uint64_t wait, queue;
};

Truth true_offsets() {
  void* library = dlopen(kSimulated.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  auto* get_table =
      reinterpret_cast<CUresult (*)(const void**, const CUuuid*)>(dlsym(library, "cuGetExportTable"));
  const CUuuid id = DIOGENES_SIMULATED_TABLE_ID;
  const void* table = nullptr;
  EXPECT_EQ(get_table(&table, &id), CUDA_SUCCESS);
  link_map* map = nullptr;
  dlinfo(library, RTLD_DI_LINKMAP, &map);
  const auto* known = static_cast<const DiogenesSimulatedTable*>(table);
  return {reinterpret_cast<uintptr_t>(known->wait_function) - map->l_addr,
          reinterpret_cast<uintptr_t>(known->queue_wait_function) - map->l_addr};
}

std::string build_id_text(const BuildId& id) {
  char text[41];
  to_hex(id, text);
  return text;
}

TEST(Discovery, FindsTheWaitFunctionsWithoutBeingTold) {
  const TemporaryFolder folder;
  const auto found = find_wait_functions(kSimulated, kDiscover, folder.path() / "cache", true);
  ASSERT_TRUE(found.ok()) << found.error().c_str();
  const Truth truth = true_offsets();
  EXPECT_EQ(found->wait.offset, truth.wait);
  EXPECT_TRUE(found->wait.verified);
  EXPECT_EQ(found->wait.known, 28);  // as on a real driver: 27 calls share it, the full queue waits elsewhere
  EXPECT_EQ(found->wait.agreed, 27);
  ASSERT_TRUE(found->queue.has_value());
  EXPECT_EQ(found->queue->offset, truth.queue);
  EXPECT_TRUE(found->queue->verified);
  EXPECT_FALSE(found->from_cache);
  EXPECT_GT(found->version, 10000);
  const auto evidence = nlohmann::json::parse(found->evidence_json);
  EXPECT_GT(evidence.at("calls").size(), 28u);
  for (const auto& call : evidence.at("calls"))
    EXPECT_EQ(call.at("waited"), call.at("known_to_wait")) << call.at("name");

  // The second time nothing is started: a program that does not exist is not missed.
  const auto again = find_wait_functions(kSimulated, "/no/such/program", folder.path() / "cache", true);
  ASSERT_TRUE(again.ok()) << again.error().c_str();
  EXPECT_TRUE(again->from_cache);
  EXPECT_EQ(again->wait.offset, found->wait.offset);
  EXPECT_EQ(again->wait.agreed, found->wait.agreed);
  EXPECT_TRUE(again->wait.verified);
  EXPECT_EQ(again->queue->offset, found->queue->offset);
  EXPECT_EQ(again->version, found->version);
  EXPECT_EQ(nlohmann::json::parse(again->evidence_json), evidence);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "cache"), fs::directory_iterator()), 1);

  // Without the cache the program is needed.
  EXPECT_FALSE(find_wait_functions(kSimulated, "/no/such/program", folder.path() / "cache", false).ok());
}

// A cache that is cut off, of another build or of another format is measured again; one that cannot be
// written does no harm.
TEST(Discovery, ABadCacheIsNotBelieved) {
  const TemporaryFolder folder;
  const auto image = Image::open(kSimulated);
  ASSERT_TRUE(image.ok());
  const fs::path file = folder.path() / (build_id_text(image->build_id()) + ".json");
  const std::string id = build_id_text(image->build_id());
  const std::string bad[] = {
      "",
      "{",
      "[]",
      "{\"schema\": \"diogenes-wait-functions/1\"}",
      R"({"schema":"other/1","build_id":")" + id + "\"}",
      R"({"schema":"diogenes-wait-functions/1","build_id":")" + id +
          R"(","driver_version":"","version":1,"wait":{"offset":"0x7fffffff","agreed":27,"known":28,"verified":true},"queue":null,"evidence":{}})",
      R"({"schema":"diogenes-wait-functions/1","build_id":"00","driver_version":"","version":1,"wait":{"offset":"0x13300","agreed":27,"known":28,"verified":true},"queue":null,"evidence":{}})"};
  for (const std::string& text : bad) {
    std::ofstream(file) << text;
    EXPECT_FALSE(find_wait_functions(kSimulated, "/no/such/program", folder.path(), true).ok()) << text;
  }
  // The folder's name is taken by a file: found all the same.
  const auto found = find_wait_functions(kSimulated, kDiscover, file, true);
  ASSERT_TRUE(found.ok()) << found.error().c_str();
  EXPECT_EQ(found->wait.offset, true_offsets().wait);
}

TEST(Discovery, ErrorsSayWhatToDo) {
  const TemporaryFolder folder;
  const auto failure = [&](const fs::path& library, const fs::path& program) {
    auto found = find_wait_functions(library, program, folder.path(), true);
    EXPECT_FALSE(found.ok());
    return found.ok() ? std::string() : std::string(found.error().c_str());
  };
  const auto expect_part = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  expect_part(failure("/no/such/libcuda.so.1", kDiscover), "No such file");
  expect_part(failure(kDiscover, kDiscover), "lib");  // a program, no library: the dynamic linker says so
  expect_part(failure(kNoDevice, kDiscover), "cuInit failed: CUDA_ERROR_NO_DEVICE (100); is there a GPU");
  expect_part(failure(kSimulated, "/no/such/program"),
              "cannot be started: No such file or directory; is the installation");
  expect_part(failure(kSimulated, "/bin/false"), "gave no answer (exit status 1)");
  expect_part(failure(kSimulated, "/bin/echo"), "gave no answer");
  EXPECT_TRUE(fs::is_empty(folder.path()));  // no failure is stored
}

TEST(Discovery, LocatesTheDriverThatAProgramWouldGet) {
  const char* before = getenv("LD_LIBRARY_PATH");
  const std::string kept = before != nullptr ? before : "";
  setenv("LD_LIBRARY_PATH", kSimulated.parent_path().c_str(), 1);
  const auto found = locate_driver(kDiscover);
  setenv("LD_LIBRARY_PATH", kept.c_str(), 1);
  ASSERT_TRUE(found.ok()) << found.error().c_str();
  EXPECT_EQ(*found, fs::canonical(kSimulated));
}

// A preloaded library (the tool's own agent, or the user's) does not get into the child.
TEST(Discovery, TheChildRunsWithoutWhatThisProcessWasGiven) {
  setenv("LD_PRELOAD", "/no/such/preload.so", 1);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const TemporaryFolder folder;
  const fs::path script = folder.path() / "program";
  std::ofstream(script)
      << "#!/bin/sh\necho \"{\\\"error\\\": \\\"[$LD_PRELOAD][$CUDA_LAUNCH_BLOCKING]\\\"}\"\n";
  chmod(script.c_str(), 0755);
  const auto found = find_wait_functions(kSimulated, script, folder.path(), false);
  unsetenv("LD_PRELOAD");
  unsetenv("CUDA_LAUNCH_BLOCKING");
  ASSERT_FALSE(found.ok());
  EXPECT_STREQ(found.error().c_str(), "[][]");
}

TEST(Hold, EndsAtItsLimitWhateverHappens) {
  uint32_t word = 1;
  Hold hold;
  hold.release();  // before there is anything to release
  hold.use(&word);
  hold.begin({3'600'000'000'000});  // longer than this thread can be kept from running
  EXPECT_EQ(word, 0u);
  hold.check();
  EXPECT_EQ(word, 0u);
  hold.begin({5'000'000});
  const Nanoseconds until = monotonic_now() + Nanoseconds{6'000'000};
  while (monotonic_now() < until) usleep(500);
  hold.check();
  EXPECT_EQ(word, 1u);
  word = 0;
  hold.check();  // the hold is over: not again
  EXPECT_EQ(word, 0u);
}

}  // namespace
}  // namespace diogenes
