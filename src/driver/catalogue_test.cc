// The catalogue against a list of a driver's exports, and each row against itself.
#include "driver/catalogue.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace diogenes {
namespace {

// Test data travels with the sources; CMake says where they are.
std::set<std::string> exports() {
  std::ifstream file(DIOGENES_DRIVER_TESTDATA "/exports-13.0.txt");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') names.insert(line);
  return names;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string without_suffixes(std::string name) {
  static const std::regex suffix("(_v[0-9]|_ptds|_ptsz)$");
  for (std::string shorter; (shorter = std::regex_replace(name, suffix, "")) != name;) name = shorter;
  return name;
}

TEST(Catalogue, HoldsEachSymbolOnce) {
  std::set<std::string> seen;
  for (const DriverFunction& function : kCatalogue)
    EXPECT_TRUE(seen.insert(function.symbol).second) << function.symbol << " is there twice";
}

TEST(Catalogue, OperationIsTheSymbolWithoutVersionAndStreamSuffix) {
  for (const DriverFunction& function : kCatalogue)
    EXPECT_EQ(function.operation, without_suffixes(function.symbol)) << function.symbol;
}

TEST(Catalogue, HoldsEveryExportOfTheWantedFamilies) {
  const std::set<std::string> names = exports();
  ASSERT_GT(names.size(), 600u) << "the list of exports could not be read";
  static const std::regex wanted(
      "cu(Memcpy|Memset|Mem(Alloc|Free|Host|Pool|Prefetch|Map|Unmap|Advise|Create|Release)).*"
      "|cu.*Synchronize(_v2)?(_ptsz)?"
      "|cu(Module|Library)(Load|Unload).*|cuLink.*|cuLaunch.*"
      "|cuGraph(Instantiate|Launch|Upload|Exec(Update|Destroy)|Destroy|Add.*Node).*"
      "|cuGraph(Exec)?(Memcpy|Kernel|Host|Memset)NodeSetParams.*"
      "|cuStream(Create|Destroy|Wait|Write|Query|BeginCapture|EndCapture|IsCapturing|GetCaptureInfo|"
      "AddCallback|BatchMemOp|AttachMem).*"
      "|cuEvent(Create|Destroy|Record|Query).*"
      "|cuCtx(Create|Destroy|Attach|Detach|PushCurrent|PopCurrent|SetCurrent).*"
      "|cuDevicePrimaryCtx(Retain|Release|Reset).*"
      "|cuInit|cuGetProcAddress.*|cuGetExportTable");
  int matched = 0;
  for (const std::string& name : names) {
    if (!std::regex_match(name, wanted)) continue;
    ++matched;
    EXPECT_NE(find_driver_function(name), kNoFunction) << name << " has no line in catalogue.def";
  }
  EXPECT_GT(matched, 280);
}

// A name that no driver exports is a typing error: its hook would be skipped without anybody noticing.
TEST(Catalogue, HoldsNothingThatIsNotExported) {
  const std::set<std::string> names = exports();
  for (const DriverFunction& function : kCatalogue)
    EXPECT_TRUE(names.count(function.symbol)) << function.symbol << " is no export of CUDA 13.0";
}

TEST(Catalogue, StreamArgumentGoesWithStreamOf) {
  for (const DriverFunction& f : kCatalogue) {
    const bool by_argument = f.stream_of == StreamOf::argument || f.stream_of == StreamOf::argument_ptsz;
    EXPECT_EQ(by_argument, f.stream_argument >= 0) << f.symbol;
    EXPECT_LE(f.stream_argument, 8) << f.symbol;
  }
}

TEST(Catalogue, PerThreadVariantsNameThePerThreadStream) {
  for (const DriverFunction& f : kCatalogue) {
    const std::string symbol = f.symbol;
    if (ends_with(symbol, "_ptds")) {
      EXPECT_EQ(f.stream_of, StreamOf::per_thread) << symbol;
    }
    EXPECT_EQ(f.stream_of == StreamOf::per_thread, ends_with(symbol, "_ptds")) << symbol;
    EXPECT_EQ(f.stream_of == StreamOf::argument_ptsz, ends_with(symbol, "_ptsz") && f.stream_argument >= 0)
        << symbol << " takes its stream for the other default";
    // The same call, but for the default stream: everything else agrees with the variant without the suffix.
    if (!ends_with(symbol, "_ptds") && !ends_with(symbol, "_ptsz")) continue;
    const DriverFunction* plain = driver_function(find_driver_function(symbol.substr(0, symbol.size() - 5)));
    ASSERT_NE(plain, nullptr) << symbol;
    EXPECT_EQ(plain->role, f.role) << symbol;
    EXPECT_EQ(plain->arguments, f.arguments) << symbol;
    EXPECT_EQ(plain->stream_argument, f.stream_argument) << symbol;
    EXPECT_EQ(plain->direction, f.direction) << symbol;
    EXPECT_EQ(plain->asynchronous, f.asynchronous) << symbol;
  }
}

TEST(Catalogue, ArgumentsBelongToTheRole) {
  for (const DriverFunction& f : kCatalogue) {
    const Arguments a = f.arguments;
    const bool copies = a >= Arguments::copy && a <= Arguments::copy_batch;
    const bool fills = a == Arguments::fill || a == Arguments::fill_2d;
    const bool allocates = a >= Arguments::allocate && a <= Arguments::allocate_flags;
    const bool launches = a >= Arguments::launch && a <= Arguments::launch_list;
    EXPECT_EQ(copies, f.role == Role::transfer) << f.symbol;
    if (fills) {
      EXPECT_EQ(f.role, Role::fill) << f.symbol;
    }
    if (allocates) {
      EXPECT_EQ(f.role, Role::allocate) << f.symbol;
    }
    if (a == Arguments::release) {
      EXPECT_EQ(f.role, Role::release) << f.symbol;
    }
    EXPECT_EQ(launches, f.role == Role::launch) << f.symbol;
    EXPECT_EQ(a == Arguments::graph_launch, f.role == Role::graph_launch) << f.symbol;
    // What the argument kinds fix about the position of the stream.
    if (a == Arguments::stream || a == Arguments::stream_destroy || a == Arguments::stream_wait) {
      EXPECT_EQ(f.stream_argument, 0) << f.symbol;
    }
    if (a == Arguments::event_record || a == Arguments::graph_launch) {
      EXPECT_EQ(f.stream_argument, 1) << f.symbol;
    }
    if (a == Arguments::launch || a == Arguments::launch_cooperative) {
      EXPECT_EQ(f.stream_argument, 8) << f.symbol;
    }
    if (a == Arguments::copy && f.asynchronous) {
      EXPECT_EQ(f.stream_argument, 3) << f.symbol;
    }
    if (a == Arguments::copy_peer && f.asynchronous) {
      EXPECT_EQ(f.stream_argument, 5) << f.symbol;
    }
    if (a == Arguments::launch_ex) {
      EXPECT_EQ(f.stream_of, StreamOf::configuration) << f.symbol;
    }
    if (a == Arguments::event && f.role != Role::event) {
      EXPECT_EQ(f.stream_of, StreamOf::event) << f.symbol;
    }
  }
}

TEST(Catalogue, TransfersAndFillsHaveAStream) {
  for (const DriverFunction& f : kCatalogue) {
    if (f.role != Role::transfer && f.role != Role::fill) continue;
    EXPECT_NE(f.stream_of, StreamOf::none) << f.symbol;
    EXPECT_EQ(f.asynchronous, f.stream_argument >= 0) << f.symbol;
  }
}

TEST(Catalogue, DirectionIsThatOfTheName) {
  for (const DriverFunction& f : kCatalogue) {
    const std::string operation = f.operation;
    const bool to_device = operation.find("cpyHto") != std::string::npos;
    const bool to_host =
        operation.find("toH") != std::string::npos && operation.find("cpyHto") == std::string::npos;
    EXPECT_EQ(to_device, f.direction == Direction::host_to_device) << f.symbol;
    EXPECT_EQ(to_host && f.role == Role::transfer, f.direction == Direction::device_to_host) << f.symbol;
    if (f.role != Role::transfer) {
      EXPECT_EQ(f.direction, Direction::unknown) << f.symbol;
    }
  }
}

// One hand-checked row of each kind, so that a shift of a whole column is seen.
TEST(Catalogue, RowsCheckedByHand) {
  const auto row = [](const char* symbol) { return *driver_function(find_driver_function(symbol)); };
  EXPECT_EQ(row("cuMemcpyHtoD_v2").stream_of, StreamOf::legacy);
  EXPECT_EQ(row("cuMemcpyHtoD_v2_ptds").stream_of, StreamOf::per_thread);
  EXPECT_EQ(row("cuMemcpyHtoAAsync_v2").stream_argument, 4);
  EXPECT_EQ(row("cuMemsetD2D32Async").stream_argument, 5);
  EXPECT_EQ(row("cuMemcpyBatchAsync").stream_argument, 8);
  EXPECT_EQ(row("cuMemcpyBatchAsync_v2").stream_argument, 7);
  EXPECT_EQ(row("cuMemPrefetchAsync").stream_argument, 3);
  EXPECT_EQ(row("cuMemPrefetchAsync_v2").stream_argument, 4);
  EXPECT_EQ(row("cuMemFree_v2").stream_of, StreamOf::context);
  EXPECT_EQ(row("cuMemFree_v2").arguments, Arguments::release);
  EXPECT_EQ(row("cuMemFree").arguments, Arguments::none);  // the 32-bit interface
  EXPECT_EQ(row("cuMemFreeAsync_ptsz").stream_argument, 1);
  EXPECT_EQ(row("cuCtxSynchronize").stream_of, StreamOf::context);
  EXPECT_EQ(row("cuEventSynchronize").stream_of, StreamOf::event);
  EXPECT_EQ(row("cuStreamWaitEvent").role, Role::stream_wait);
  EXPECT_EQ(row("cuDevicePrimaryCtxRetain").stream_of, StreamOf::context);
  EXPECT_EQ(row("cuModuleUnload").role, Role::module);
}

}  // namespace
}  // namespace diogenes
