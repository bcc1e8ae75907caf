// Scenes whose readers are other processes, or system calls that name a process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "reading_process.h"
#include "shared.h"

namespace scenes {
namespace {

struct Request {
  ReadBy by;
  int process;
  const uint32_t* words;
  size_t count;
};

int to_reader[2], from_reader[2];
uint32_t* everyones = nullptr;

template <typename T>
bool send(int pipe, const T& what) {
  return write(pipe, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
}
template <typename T>
bool receive(int pipe, T* what) {
  return read(pipe, what, sizeof *what) == static_cast<ssize_t>(sizeof *what);
}

[[noreturn]] void serve() {
  Request request;
  while (receive(to_reader[0], &request))
    send(from_reader[1], request.by == ReadBy::shared_mapping
                             ? sum(everyones, request.count)
                             : read_process(request.by, request.process, request.words, request.count));
  _exit(0);
}

}  // namespace

void start_reader() {
  everyones = static_cast<uint32_t*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (everyones == MAP_FAILED || pipe(to_reader) != 0 || pipe(from_reader) != 0) perror("reader");
  const pid_t reader = fork();
  if (reader == 0) {
    close(to_reader[1]);
    close(from_reader[0]);
    serve();
  }
  close(to_reader[0]);
  close(from_reader[1]);
  prctl(PR_SET_PTRACER, reader);  // where only ancestors may
}

uint64_t read_process(ReadBy by, int process, const uint32_t* words, size_t count) {
  std::vector<uint32_t> copy(count);
  const size_t bytes = count * 4;
  ssize_t got = -1;
  if (by == ReadBy::readv) {
    const iovec to{copy.data(), bytes}, from{const_cast<uint32_t*>(words), bytes};
    got = process_vm_readv(process, &to, 1, &from, 1, 0);
  } else {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", process);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    got = pread(file, copy.data(), bytes, static_cast<off_t>(reinterpret_cast<uintptr_t>(words)));
    close(file);
  }
  return got == static_cast<ssize_t>(bytes) ? sum(copy.data(), count) : 0;
}

uint64_t ask_reader(ReadBy by, const uint32_t* words, size_t count) {
  uint64_t answer = 0;
  if (!send(to_reader[1], Request{by, getpid(), words, count}) || !receive(from_reader[0], &answer))
    perror("reader");
  return answer;
}

uint32_t* everyones_memory() { return everyones; }

namespace {

using Action = std::function<void()>;

// A download to registered memory, and somebody reads it.
uint64_t play_reader(uint32_t value, const Action& wait, uint64_t (*read)(const uint32_t*)) {
  Mapped memory;
  memory.add_registration();
  download(memory.words, value, shared->first);
  wait();
  const uint64_t seen = read(memory.words);
  finish();
  return seen;
}

}  // namespace

uint64_t process_readv(uint32_t value) {
  return play_reader(
      value, [] { TESTED(process_readv, cuStreamSynchronize, shared->first); },
      [](const uint32_t* words) { return ask_reader(ReadBy::readv, words, kWords); });
}
uint64_t process_mem(uint32_t value) {
  return play_reader(
      value, [] { TESTED(process_mem, cuStreamSynchronize, shared->first); },
      [](const uint32_t* words) { return ask_reader(ReadBy::mem, words, kWords); });
}
uint64_t own_readv(uint32_t value) {
  return play_reader(
      value, [] { TESTED(own_readv, cuStreamSynchronize, shared->first); },
      [](const uint32_t* words) { return read_process(ReadBy::readv, getpid(), words, kWords); });
}
uint64_t own_mem(uint32_t value) {
  return play_reader(
      value, [] { TESTED(own_mem, cuStreamSynchronize, shared->first); },
      [](const uint32_t* words) { return read_process(ReadBy::mem, getpid(), words, kWords); });
}
// Nothing of libc's that is looked at by name reads the file.
uint64_t own_mem_stdio(uint32_t value) {
  return play_reader(
      value, [] { TESTED(own_mem_stdio, cuStreamSynchronize, shared->first); },
      [](const uint32_t* words) {
        std::vector<uint32_t> copy(kWords);
        FILE* const file = fopen("/proc/self/mem", "r");
        fseeko(file, static_cast<off_t>(reinterpret_cast<uintptr_t>(words)), SEEK_SET);
        const bool whole = fread(copy.data(), 4, kWords, file) == kWords;
        fclose(file);
        return whole ? sum(copy.data(), kWords) : 0;
      });
}
uint64_t own_mem_call(uint32_t value) {
  return play_reader(
      value, [] { TESTED(own_mem_call, cuStreamSynchronize, shared->first); },
      [](const uint32_t* words) {
        std::vector<uint32_t> copy(kWords);
        const iovec to{copy.data(), kBytes};
        const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY);
        const long got = syscall(SYS_preadv2, file, &to, 1, words, 0, 0);
        close(static_cast<int>(file));
        return got == static_cast<long>(kBytes) ? sum(copy.data(), kWords) : 0;
      });
}

uint64_t process_shared(uint32_t value) {
  uint32_t* const memory = everyones_memory();
  set(memory, kWords, 7);
  CHECK(cuMemHostRegister(memory, kBytes, 0));
  download(memory, value, shared->first);
  TESTED(process_shared, cuStreamSynchronize, shared->first);
  const uint64_t seen = ask_reader(ReadBy::shared_mapping, memory, kWords);
  finish();
  CHECK(cuMemHostUnregister(memory));
  return seen;
}

uint64_t fork_inherits(uint32_t value) {
  constexpr size_t kLargeBytes = 384 * 1024;
  Mapped memory(kLargeBytes);
  int answers[2];
  if (pipe(answers) != 0) perror("pipe");
  shared->gpu.fill(shared->device, value, kLargeBytes / 4, kBusyUs);
  TESTED(fork_inherits, cuMemcpyDtoH, memory.words, shared->device, kLargeBytes);
  const pid_t child = fork();
  if (child == 0) {
    const uint64_t answer = sum(memory.words, kLargeBytes / 4);
    send(answers[1], answer);
    _exit(0);
  }
  uint64_t seen = 0;
  receive(answers[0], &seen);
  waitpid(child, nullptr, 0);
  close(answers[0]), close(answers[1]);
  finish();
  return seen;
}

}  // namespace scenes
