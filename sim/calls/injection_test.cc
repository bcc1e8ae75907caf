// CUDA_INJECTION64_PATH, as the real driver honours it: the library is loaded by cuInit and its entry called
// once.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "driver/cuda_abi.h"

TEST(Injection, LibraryIsLoadedByInit) {
  setenv("CUDA_INJECTION64_PATH", INJECTED_LIBRARY, 1);
  ASSERT_EQ(nullptr, getenv("DIOGENES_TEST_INJECTED"));
  ASSERT_EQ(CUDA_SUCCESS, cuInit(0));
  ASSERT_NE(nullptr, getenv("DIOGENES_TEST_INJECTED"));
  EXPECT_STREQ("yes", getenv("DIOGENES_TEST_INJECTED"));
  unsetenv("DIOGENES_TEST_INJECTED");
  ASSERT_EQ(CUDA_SUCCESS, cuInit(0));
  EXPECT_EQ(nullptr, getenv("DIOGENES_TEST_INJECTED"));
}
