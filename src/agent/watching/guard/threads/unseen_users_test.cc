// Rings of io_uring on the real kernel: what the program asked for arrives byte for byte, whenever its ring
// was made, and no guard lies in the kernel's way.
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "agent/watching/guard/testing/child.h"
#include "ffm/peer_copies.h"

namespace diogenes::agent {
namespace {

class Ring {
 public:
  Ring() : file_(static_cast<int>(syscall(SYS_io_uring_setup, 4, &about_))) {
    if (file_ < 0) return;
    submitted_ = at(IORING_OFF_SQ_RING, about_.sq_off.array + about_.sq_entries * sizeof(uint32_t));
    completed_ = at(IORING_OFF_CQ_RING, about_.cq_off.cqes + about_.cq_entries * sizeof(io_uring_cqe));
    entries_ = reinterpret_cast<io_uring_sqe*>(at(IORING_OFF_SQES, about_.sq_entries * sizeof(io_uring_sqe)));
  }
  ~Ring() { close(file_); }
  bool there() const { return file_ >= 0; }

  // Returns at once; the kernel reads when there is something.
  void read(int from, void* to, uint32_t bytes) {
    entries_[0] = {};
    entries_[0].opcode = IORING_OP_READ;
    entries_[0].fd = from;
    entries_[0].addr = address_of(to);
    entries_[0].len = bytes;
    entries_[0].off = ~0ull;
    word(submitted_, about_.sq_off.array) = 0;
    std::atomic_ref<uint32_t>(word(submitted_, about_.sq_off.tail)).fetch_add(1, std::memory_order_release);
    CHECK(syscall(SYS_io_uring_enter, file_, 1, 0, 0, nullptr, 0) == 1);
  }
  // What became of it.
  int result() {
    CHECK(syscall(SYS_io_uring_enter, file_, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0) >= 0);
    uint32_t head = word(completed_, about_.cq_off.head);
    CHECK(std::atomic_ref<uint32_t>(word(completed_, about_.cq_off.tail)).load(std::memory_order_acquire) !=
          head);
    auto* entries = reinterpret_cast<io_uring_cqe*>(completed_ + about_.cq_off.cqes);
    return entries[head & word(completed_, about_.cq_off.ring_mask)].res;
  }

 private:
  char* at(uint64_t offset, size_t bytes) const {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_,
                        static_cast<off_t>(offset));
    CHECK(memory != MAP_FAILED);
    return static_cast<char*>(memory);
  }
  static uint32_t& word(char* ring, uint32_t offset) { return *reinterpret_cast<uint32_t*>(ring + offset); }

  io_uring_params about_{};
  int file_;
  char *submitted_ = nullptr, *completed_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
};

struct Rings : ::testing::Test {
  void SetUp() override {
    if (!Ring().there()) GTEST_SKIP() << "this machine allows no io_uring: " << strerror(errno);
  }
};

struct Ends {
  int read, write;
  Ends() {
    int ends[2];
    CHECK(pipe(ends) == 0);
    read = ends[0], write = ends[1];
  }
};

// The read is under way when the guards come.
TEST_F(Rings, FromBeforeTheGuards) {
  RUN_IN_CHILD({
    Ends pipe;
    char* memory = pages(2);
    Ring ring;
    ring.read(pipe.read, memory, 8192);
    CHECK(start_guards());
    CHECK(raise_guard(range_of(memory, 8192), Protection::no_access) == kNoGuard);
    CHECK(write(pipe.write, "diogenes", 8) == 8);
    CHECK(ring.result() == 8);
    CHECK(memcmp(memory, "diogenes", 8) == 0);
  });
}

TEST_F(Rings, MadeUnderGuards) {
  RUN_IN_CHILD({
    Ends pipe;
    char* memory = pages(2);
    CHECK(start_guards());
    GuardHandle guard = raise_guard(range_of(memory, 8192), Protection::no_access);
    CHECK(guard != kNoGuard);
    Ring ring;
    CHECK(collect(guard).by == TouchBy::given_up);
    ring.read(pipe.read, memory, 8192);
    CHECK(raise_guard(range_of(memory, 8192), Protection::no_access) == kNoGuard);
    CHECK(write(pipe.write, "diogenes", 8) == 8);
    CHECK(ring.result() == 8);
    CHECK(memcmp(memory, "diogenes", 8) == 0);
  });
}

// What a process of Open MPI 4 finds in its environment, with the launcher's settings.
void in_job(const char* size) {
  for (const PeerCopySetting& setting : kNoPeerCopies) setenv(setting.name, setting.value, 1);
  setenv("OMPI_MCA_orte_launch", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", size, 1);
}

bool can_guard() {
  return start_guards() && raise_guard(range_of(pages(1), 4096), Protection::no_access) != kNoGuard;
}

TEST(Jobs, WithoutCopiesFromProcessToProcess) {
  RUN_IN_CHILD({
    in_job("2");
    CHECK(can_guard());
  });
}

TEST(Jobs, WithSuchCopies) {
  RUN_IN_CHILD({
    in_job("2");
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "cma", 1);
    CHECK(!can_guard());
  });
}

TEST(Jobs, OfAnotherMpi) {
  RUN_IN_CHILD({
    in_job("1");
    unsetenv("OMPI_MCA_orte_launch");
    setenv("PMI_SIZE", "4", 1);
    CHECK(!can_guard());
  });
}

TEST(Jobs, OfOneProcess) {
  RUN_IN_CHILD({
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("PMI_RANK", "0", 1);
    CHECK(can_guard());
  });
}

// Other files are no rings.
TEST(NoRings, PipesAndTheLike) {
  RUN_IN_CHILD({
    Ends pipe;
    CHECK(start_guards());
    CHECK(raise_guard(range_of(pages(1), 4096), Protection::no_access) != kNoGuard);
  });
}

}  // namespace
}  // namespace diogenes::agent
