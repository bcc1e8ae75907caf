#include "corrector/memory/own_pages.h"

#include <gtest/gtest.h>

namespace diogenes::corrector {
namespace {

// As the driver does: pieces in steps of 512 bytes, whatever lies in the same page.
alignas(4096) char chunk[16 * 4096];
size_t given = 0;

CUresult host_alloc(void** memory, size_t bytes, unsigned) {
  if (given + bytes > sizeof chunk) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = chunk + given;
  given += (bytes + 511) / 512 * 512;
  return CUDA_SUCCESS;
}

uintptr_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

TEST(OwnPages, HoldNothingOfTheProgram) {
  for (const size_t before : {size_t{0}, size_t{8}, size_t{4096 - 512}, size_t{5000}}) {
    given = 0;
    void *theirs = nullptr, *next = nullptr;
    if (before > 0) {
      ASSERT_EQ(host_alloc(&theirs, before, 0), CUDA_SUCCESS);
    }
    const uintptr_t ours = address(pinned_pages(host_alloc, 2 * 4096, 0));
    ASSERT_EQ(host_alloc(&next, 8, 0), CUDA_SUCCESS);
    EXPECT_EQ(ours % 4096, 0u);
    EXPECT_GE(ours, address(chunk) + before);
    EXPECT_GE(address(next), ours + 2 * 4096);
  }
}

TEST(OwnPages, AreNoneWhereTheDriverRefuses) {
  given = sizeof chunk;
  EXPECT_EQ(pinned_pages(host_alloc, 4096, 0), nullptr);
}

}  // namespace
}  // namespace diogenes::corrector
