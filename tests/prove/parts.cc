// parts SEED COUNT: random turns with large pinned buffers, of which the GPU is given all and the program and its system calls
// touch little; with the last seed, other threads do, too. Guards over such buffers are left up between waits. Memory that the
// GPU may be using is not touched. Prints what was seen, turn by turn.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "gpu.h"

namespace {

constexpr size_t kPage = 4096, kBytes = 256 * kPage;
constexpr size_t kNear = 77 * kPage + 1024;
constexpr int kBuffers = 3, kStreams = 2, kTurns = 60;

struct Part {
  size_t begin, bytes;
};

class Parts {
 public:
  Parts(example::Gpu& gpu, unsigned seed, bool threads) : gpu_(gpu), random_(seed), threads_(threads) {
    for (CUstream& stream : streams_) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (Buffer& buffer : buffers_) make(buffer);
    zeros_ = open("/dev/zero", O_RDONLY);
    nowhere_ = open("/dev/null", O_WRONLY);
  }
  ~Parts() {
    CHECK(cuCtxSynchronize());
    for (Buffer& buffer : buffers_) release(buffer);
    for (CUstream stream : streams_) CHECK(cuStreamDestroy(stream));
    close(zeros_), close(nowhere_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // The GPU is given it, it is waited for, perhaps something makes sure that it is done, and little of it is touched.
  void turn() {
    const size_t which =
        below(kBuffers);  // the first is mostly copied to the GPU, the second mostly from there
    Buffer& buffer = buffers_[which];
    const bool to_gpu = which == 0 ? below(30) > 0 : which == 1 ? below(30) == 0 : below(2) > 0;
    to_gpu ? upload(buffer) : download(buffer);
    if (below(4)) wait_for(buffer);
    if (below(2)) (void)cuStreamQuery(streams_[below(kStreams)]);
    for (size_t touches = below(3); touches > 0; --touches)
      touch(below(4) ? buffer : buffers_[below(kBuffers)]);
    if (below(40) == 0) {
      settle(buffer);
      release(buffer);
      make(buffer);
    }
  }
  uint64_t seen() const { return seen_; }

 private:
  struct Buffer {
    char* host = nullptr;
    CUdeviceptr device = 0;
    int pending = -1;  // the stream whose work may be using `host`
  };

  size_t below(size_t end) { return random_() % end; }
  // Mostly little, and near one place.
  Part part() {
    const size_t most = below(20) ? kPage : kBytes, near = below(20) ? 40 * kPage : kBytes;
    const size_t bytes = 8 * (1 + below(most / 8));
    if (near == kBytes || most == kBytes) return {8 * below((kBytes - bytes) / 8 + 1), bytes};
    return {kNear + (below(2) ? 0 : 8 * below(near / 8)), bytes};
  }
  void make(Buffer& buffer) {
    void* memory = nullptr;
    CHECK(cuMemAllocHost(&memory, kBytes));
    memset(memory, 1, kBytes);
    buffer.host = static_cast<char*>(memory);
    CHECK(cuMemAlloc(&buffer.device, kBytes));
    CHECK(cuMemsetD32(buffer.device, 7, kBytes / 4));
    CHECK(cuStreamSynchronize(nullptr));
  }
  static void release(Buffer& buffer) {
    CHECK(cuMemFreeHost(buffer.host));
    CHECK(cuMemFree(buffer.device));
  }
  // One stream at a time uses a buffer.
  int stream_for(Buffer& buffer) {
    const int stream = static_cast<int>(below(kStreams));
    if (buffer.pending >= 0 && buffer.pending != stream) settle(buffer);
    return buffer.pending = stream;
  }
  void upload(Buffer& buffer) {
    const Part one = below(30) ? Part{0, kBytes} : part();
    CUstream stream = streams_[static_cast<size_t>(stream_for(buffer))];
    gpu_.fill(buffer.device, ++value_, 1, below(300), stream);
    CHECK(cuMemcpyHtoDAsync(buffer.device + one.begin, buffer.host + one.begin, one.bytes, stream));
  }
  void download(Buffer& buffer) {
    const Part one = below(30) ? Part{0, kBytes} : part();
    CUstream stream = streams_[static_cast<size_t>(stream_for(buffer))];
    // What was uploaded, or something new.
    gpu_.fill(buffer.device, ++value_, below(2) ? kBytes / 4 : 1, below(300), stream);
    CHECK(cuMemcpyDtoHAsync(buffer.host + one.begin, buffer.device + one.begin, one.bytes, stream));
  }
  void settle(Buffer& buffer) {
    if (buffer.pending < 0) return;
    const int stream = buffer.pending;
    CHECK(cuStreamSynchronize(streams_[static_cast<size_t>(stream)]));
    for (Buffer& one : buffers_)
      if (one.pending == stream) one.pending = -1;
  }
  void wait_for(Buffer& buffer) {
    if (below(2)) return settle(buffer);
    CHECK(cuCtxSynchronize());
    for (Buffer& one : buffers_) one.pending = -1;
  }
  void touch(Buffer& buffer) {
    if (below(30) == 0) return call(buffer);
    const size_t how = below(threads_ ? 7 : 5);
    if (how < 2) return write_to(buffer, part());
    if (how < 5) return read_from(buffer, part());
    settle(buffer);
    std::thread([&] { how == 5 ? write_to(buffer, part()) : read_from(buffer, part()); }).join();
  }
  void write_to(Buffer& buffer, Part one) {
    settle(buffer);
    memset(buffer.host + one.begin, static_cast<int>(++value_), one.bytes);
  }
  void read_from(Buffer& buffer, Part one) {
    settle(buffer);
    for (size_t i = 0; i < one.bytes; i += 8) {
      uint64_t word;
      memcpy(&word, buffer.host + one.begin + i, sizeof word);
      seen_ = (seen_ ^ word) * 0x100000001b3;
    }
  }
  void call(Buffer& buffer) {
    settle(buffer);
    const Part one = part();
    const bool reads = below(2);
    const ssize_t done = reads ? read(zeros_, buffer.host + one.begin, one.bytes)
                               : write(nowhere_, buffer.host + one.begin, one.bytes);
    if (done != static_cast<ssize_t>(one.bytes)) seen_ += 1;
  }

  example::Gpu& gpu_;
  std::mt19937 random_;
  bool threads_;
  std::array<CUstream, kStreams> streams_ = {};
  std::array<Buffer, kBuffers> buffers_;
  uint64_t seen_ = 1;
  uint32_t value_ = 0;
  int zeros_ = -1, nowhere_ = -1;
};

}  // namespace

int main(int count, char** arguments) {
  const unsigned first = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 1;
  const unsigned programs = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 1;
  example::Gpu gpu;
  for (unsigned seed = first; seed < first + programs; ++seed) {
    Parts parts(gpu, seed, seed == first + programs - 1);
    for (int i = 0; i < kTurns; ++i) {
      parts.turn();
      std::printf("%u %d %016lx\n", seed, i, static_cast<unsigned long>(parts.seen()));
    }
  }
  return 0;
}
