#include "analysis/program/code_loading.h"

#include <gtest/gtest.h>

#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// Own times in microseconds: two loads of PTX at 0x10 (30,000 each) and one of a cubin (500); a first launch that takes
// 2,000, a second from the same place, and one elsewhere that is as short as launches are.
struct LoadedCode {
  LoadedCode() {
    const Timeline trace = timeline()
                               .call("cuModuleLoadData", lasting(0), 30'000)
                               .image(CodeImage::ptx)
                               .from(0x10)
                               .call("cuModuleLoadData", lasting(0), 30'000)
                               .image(CodeImage::ptx)
                               .from(0x10)
                               .call("cuLibraryLoadData", lasting(0), 500)
                               .image(CodeImage::binary)
                               .from(0x20)
                               .launch(2'000)
                               .from(0x30)
                               .launch(3'000)
                               .from(0x30)
                               .launch(5)
                               .from(0x40);
    write_process(folder.path() / "2", trace, {.launches_traced = true});
    auto read = load_run(folder.path() / "2", sites, Load::operations);
    run = std::move(*read);
    loading = code_loading(run, sites);
  }
  std::vector<ReportNotice> notices(const std::vector<GpuCodeRecord>& files, double runtime_s) const {
    std::vector<ReportNotice> result;
    code_loading_notices(
        files, loading, {9, 0}, runtime_s, [](const std::string& file) { return file.starts_with("/app/"); },
        [](SiteIndex) { return "load.cc:7"; }, result);
    return result;
  }
  TemporaryFolder folder;
  SiteTable sites;
  Run run;
  CodeLoading loading;
};

TEST(CodeLoading, SumsUpWhatLoadsTook) {
  const LoadedCode loaded;
  EXPECT_EQ(loaded.loading.loads, 3u);
  EXPECT_EQ(loaded.loading.load_time.count, 60'500'000);
  EXPECT_EQ(loaded.loading.ptx_loads, 2u);
  EXPECT_EQ(loaded.loading.ptx_time.count, 60'000'000);
  EXPECT_EQ(loaded.loading.first_launches.count, 2'000'000) << "the first of its place, where it took long";
}

TEST(CodeLoading, SaysWhatPtxCosts) {
  const LoadedCode loaded;
  const auto notices = loaded.notices({}, 1.2);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "jit");
  EXPECT_EQ(
      notices[0].text,
      "2 modules were given to the driver as PTX, most of it at load.cc:7, which it compiles or takes from its "
      "cache of earlier runs: that took 60 ms (5.0% of the run time). A cubin needs no compiler: nvcc -cubin "
      "-arch=sm_90, or nvrtcGetCUBIN() with --gpu-architecture=sm_90");
  EXPECT_TRUE(loaded.notices({}, 100).empty()) << "less than a thousandth of the run";
}

TEST(CodeLoading, SaysWhichFilesWereBuiltForOtherGpus) {
  const LoadedCode loaded;
  const auto notices = loaded.notices({{"/app/app", 1, 2, 1, {"sm_70", "compute_70"}}}, 100);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(
      notices[0].text,
      "the driver compiled GPU code in this run, or took it from its cache of earlier runs: /app/app has only PTX "
      "for this GPU in 2 source files of 4 (built for sm_70, compute_70). Loading code took 60.5 ms (0.1% of the "
      "run time), first launches, in which code may be loaded, 2 ms (0.0% of the run time). Compile with "
      "-gencode arch=compute_90,code=sm_90 (CMake: CMAKE_CUDA_ARCHITECTURES=90)");
}

TEST(CodeLoading, OfLibrariesItSaysWhatHelpsThere) {
  // 62.5 ms of 1 s went into loading and first launches.
  const GpuCodeRecord library{"/usr/lib/libfft.so", 1, 2, 1, {"sm_70"}};
  const LoadedCode loaded;
  const auto notices = loaded.notices({library}, 1);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(
      notices[0].text,
      "libraries lack code for this GPU, so the driver compiles it when it is used, or takes it from its cache of "
      "earlier runs: /usr/lib/libfft.so has only PTX for this GPU in 2 source files of 4 (built for sm_70). Loading "
      "code took 60.5 ms (6.1% of the run time), first launches, in which code may be loaded, 2 ms (0.2% of the run "
      "time). A newer version of a library may have code for this GPU");
  EXPECT_TRUE(loaded.notices({library}, 100).empty()) << "less than a thousandth of the run";
  const auto both = loaded.notices({library, {"/app/app", 1, 2, 1, {"sm_70"}}}, 10);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_NE(both[0].text.find("/app/app has only PTX"), std::string::npos);
  EXPECT_EQ(both[0].text.find("libfft"), std::string::npos);
}

TEST(CodeLoading, OfALibraryThatLacksLittleItSaysNothing) {
  const GpuCodeRecord library{"/usr/lib/libsparse.so", 759, 1, 0, {"sm_80"}};
  const LoadedCode loaded;
  EXPECT_EQ(loaded.notices({library}, 10).size(), 1u) << "that of the modules alone";
  EXPECT_EQ(loaded.notices({library}, 1).size(), 2u) << "loading took 6% of the run";
}

}  // namespace
}  // namespace diogenes
