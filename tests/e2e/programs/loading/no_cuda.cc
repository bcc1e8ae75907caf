// no_cuda: never uses CUDA; copies its input to its output and ends with its own status.
#include <cstdio>

int main() {
  char line[256];
  while (fgets(line, sizeof line, stdin) != nullptr) printf("line: %s", line);
  fprintf(stderr, "to stderr\n");
  return 7;
}
