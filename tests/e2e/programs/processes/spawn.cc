// spawn exec|exec-after|spawn|system|vfork: other programs are started while results wait to be read.
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>

#include "cuda_user.h"

extern char** environ;

static int reap(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int, char** argv) {
  char* self = argv[0];
  const char* mode = argv[1];
  if (strcmp(mode, "exec") == 0) {  // into a program that uses CUDA, before doing so itself
    execl(self, self, "spawn", nullptr);
    return 97;
  }
  CudaUser user;
  uint32_t* result = CudaUser::pinned();
  // What another program is told lies in memory that the GPU wrote and nobody has read: "echo \0..." as
  // words.
  auto* command = static_cast<char*>(malloc(kBytes));
  user.compute(command, 0x00003a20);  // " :": a command that does nothing
  user.compute_pinned(result, 11);

  if (strcmp(mode, "exec-after") == 0) {
    execl(self, self, "system", nullptr);
    return 97;
  }
  if (strcmp(mode, "spawn") == 0) {
    char word[] = "echo", text[] = "spawned";
    char* arguments[] = {word, text, nullptr};
    pid_t child = 0;
    if (posix_spawnp(&child, "echo", nullptr, nullptr, arguments, environ) != 0) return 96;
    say("spawned program ended with %d\n", reap(child));
  }
  if (strcmp(mode, "system") == 0) {
    say("system: %d\n", system(command));
    say("system: %d\n", WEXITSTATUS(system("echo from the shell; exit 6")));
    FILE* pipe = popen("echo through a pipe", "r");
    char line[64] = "";
    if (pipe == nullptr || fgets(line, sizeof line, pipe) == nullptr) return 95;
    say("popen: %s", line);
    pclose(pipe);
  }
  if (strcmp(mode, "vfork") == 0) {
    const pid_t child = vfork();
    if (child == 0) {
      execlp("echo", "echo", "from vfork", nullptr);
      _exit(94);
    }
    say("vfork: %d\n", reap(child));
  }
  say("result %lu\n", static_cast<unsigned long>(sum(result)));
  return 0;
}
