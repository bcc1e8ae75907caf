// peers: other processes read and write this one's results, by its process's id. One is a fork of this
// program, the other another program. What they get does not depend on who else looks at the memory.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <initializer_list>

#include "cuda_user.h"

namespace {

constexpr size_t kPage = 4096;

enum class How : int { readv, pread, read, writev };

struct Request {
  How how;
  int process;
  char* address;
  size_t bytes;
};

struct Answer {
  ssize_t got;
  int error;
  uint64_t sum;
};

ssize_t copy(const Request& request, char* buffer) {
  // In pieces that do not fit onto each other.
  const size_t half = request.bytes / 2 + 100, third = request.bytes / 3;
  const iovec here[] = {{buffer, third}, {nullptr, 0}, {buffer + third, request.bytes - third}};
  const iovec there[] = {{request.address, half}, {request.address + half, request.bytes - half}};
  if (request.how == How::readv) return process_vm_readv(request.process, here, 3, there, 2, 0);
  if (request.how == How::writev) return process_vm_writev(request.process, here, 3, there, 2, 0);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", request.process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(request.address));
  ssize_t got = 0;
  if (request.how == How::pread) {
    got = pread(file, buffer, request.bytes, at);
  } else {
    lseek(file, at, SEEK_SET);
    got = read(file, buffer, request.bytes);
  }
  close(file);
  return got;
}

int serve(int in, int out) {
  Request request;
  auto* buffer = static_cast<char*>(malloc(2 * kBytes));
  while (read(in, &request, sizeof request) == sizeof request) {
    memset(buffer, 1, 2 * kBytes);
    errno = 0;
    Answer answer{copy(request, buffer), 0, 0};
    answer.error = errno;
    for (ssize_t i = 0; i < answer.got; ++i) answer.sum += static_cast<unsigned char>(buffer[i]);
    if (write(out, &answer, sizeof answer) != sizeof answer) break;
  }
  free(buffer);
  return 0;
}

class Peer {
 public:
  explicit Peer(bool other_program) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) _exit(97);
    process_ = fork();
    if (process_ == 0) {
      close(to[1]), close(from[0]);
      if (!other_program) _exit(serve(to[0], from[1]));
      char in[16], out[16];
      snprintf(in, sizeof in, "%d", to[0]);
      snprintf(out, sizeof out, "%d", from[1]);
      execl("/proc/self/exe", "peers", in, out, nullptr);
      _exit(96);
    }
    close(to[0]), close(from[1]);
    to_ = to[1], from_ = from[0];
  }
  void ask(const char* what, How how, void* address, size_t bytes) {
    const Request request{how, getpid(), static_cast<char*>(address), bytes};
    Answer answer{};
    if (write(to_, &request, sizeof request) != sizeof request) _exit(95);
    if (read(from_, &answer, sizeof answer) != sizeof answer) _exit(94);
    say("%s: %zd bytes, error %d, sum %lu\n", what, answer.got, answer.error,
        static_cast<unsigned long>(answer.sum));
  }
  // The second has inherited the first one's pipe: it ends before the first does.
  void end() { close(to_), close(from_); }
  void wait() { waitpid(process_, nullptr, 0); }

 private:
  pid_t process_;
  int to_, from_;
};

}  // namespace

int main(int count, char** words) {
  if (count == 3) return serve(atoi(words[1]), atoi(words[2]));
  Peer same(false), other(true);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // where only ancestors may
  CudaUser user;
  // Behind the result lie a page that nobody may read, and nothing.
  auto* memory = static_cast<char*>(
      mmap(nullptr, kBytes + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(memory + kBytes + kPage, kPage);
  mprotect(memory + kBytes, kPage, PROT_NONE);
  CHECK(cuMemHostRegister(memory, kBytes, 0));
  auto* result = reinterpret_cast<uint32_t*>(memory);
  uint32_t* const pinned = CudaUser::pinned();
  for (uint32_t i = 1; i < 4; ++i) {
    for (Peer* peer : {&same, &other}) {
      user.compute_pinned(result, i);
      peer->ask("readv", How::readv, result, kBytes);
      user.compute_pinned(result, i + 10);
      peer->ask("readv, too much", How::readv, result, kBytes + kPage);
      user.compute_pinned(result, i + 20);
      peer->ask("readv, from the middle", How::readv, memory + kBytes / 2 + 5, kBytes / 4);
      peer->ask("readv, all", How::readv, result, kBytes);
      user.compute_pinned(pinned, i + 30);
      peer->ask("readv, pinned", How::readv, pinned, kBytes);
      user.compute_pinned(result, i + 40);
      peer->ask("pread", How::pread, result, kBytes);
      user.compute_pinned(result, i + 50);
      peer->ask("read", How::read, result, kBytes);
      user.compute_pinned(result, i + 60);
      peer->ask("writev", How::writev, result, kBytes / 2);
      say("sum %lu\n", static_cast<unsigned long>(sum(result)));
      peer->ask("readv, closed", How::readv, memory + kBytes, kPage);
      peer->ask("readv, nothing", How::readv, memory + kBytes + kPage, kPage);
    }
  }
  CHECK(cuMemHostUnregister(memory));
  same.end(), other.end();
  other.wait(), same.wait();
  return 5;
}
