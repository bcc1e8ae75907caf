// kills DIOGENES COUNTED MOMENTS [SEED]: kills the program, then the launcher, at MOMENTS random moments of
// each run, and compares what is read back with what the program has counted. The verdict does not depend on
// when a kill comes: one that comes too late finds a run that is complete. Exit status 0: nothing was
// missing.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "ffm/stage.h"
#include "read_back.h"

namespace diogenes::faults {
namespace {

namespace fs = std::filesystem;

enum class Victim : bool { program, launcher };

pid_t start(const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = fork();
  if (child != 0) return child;
  int nothing = open("/dev/null", O_RDONLY);
  int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(nothing, 0);
  dup2(file, 1);
  dup2(file, 2);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int status_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Also those that a killed launcher has left: this process is their parent then.
void wait_for_all() {
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) continue;
}

const Counted* map_counted(const fs::path& file) {
  int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (fs::file_size(file) == sizeof(Counted))
    memory = mmap(nullptr, sizeof(Counted), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<const Counted*>(memory);
}

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Sums {
  int moments = 0, unfinished = 0, bad = 0;  // unfinished: the program had not come to its end
  uint64_t returned = 0, records = 0;
};

class Experiment {
 public:
  Experiment(std::string diogenes, std::string program, std::mt19937& random)
      : diogenes_(std::move(diogenes)), program_(std::move(program)), random_(random) {
    std::string pattern = (fs::temp_directory_path() / "diogenes-kills-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) _exit(99);
    folder_ = pattern;
  }
  ~Experiment() {
    if (counted_) munmap(const_cast<Counted*>(counted_), sizeof(Counted));
    std::error_code failed;
    if (good_) fs::remove_all(folder_, failed);
  }
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  void go(Victim victim, Stage stage, Sums& sums) {
    run_ = stage_name(stage);
    const pid_t launcher = start({diogenes_, "run", "--keep-going", "--driver", "simulated", "--output",
                                  session(), "--", program_, prefix()},
                                 output());
    int status = 0;
    if (!wait_for_moment(launcher, &status)) return bad("the run was never reached");
    kill(victim == Victim::program ? counted_->pid.load() : launcher, SIGKILL);
    waitpid(launcher, &status, 0);
    wait_for_all();
    ++sums.moments;
    sums.unfinished += counted_->finished == 0;
    ReadBack read = read_back(fs::path(session()) / run_, *counted_);
    sums.returned += read.returned;
    sums.records += read.records;
    for (size_t i = 0; i < std::min<size_t>(read.wrong.size(), 5); ++i) bad(read.wrong[i]);
    if (victim == Victim::program)
      check_launcher(stage, status_of(status));
    else
      check_session();
    sums.bad += !good_;
  }

 private:
  std::string session() const { return folder_ / "session.diogenes"; }
  std::string prefix() const { return folder_ / "counted"; }
  fs::path output() const { return folder_ / "output"; }

  void bad(const std::string& text) {
    good_ = false;
    printf("WRONG %s (%s)\n", text.c_str(), folder_.c_str());
  }

  // False: the launcher ended before that.
  bool wait_for_moment(pid_t launcher, int* status) {
    auto below = [&](uint64_t limit) { return random_() % limit; };
    const fs::path file = prefix() + "." + run_;
    while (!counted_ || counted_->pid == 0) {
      if (!counted_) counted_ = map_counted(file);
      siginfo_t ended{};
      if (waitid(P_PID, static_cast<id_t>(launcher), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          ended.si_pid == launcher) {
        waitpid(launcher, status, 0);
        return false;
      }
      usleep(200);
    }
    // One moment of four lies in the driver's initialization, or shortly behind it.
    const uint64_t calls = below(4) == 0 ? 0 : below(kCalls);
    while (counted_->returned() < calls && counted_->finished == 0 && kill(counted_->pid, 0) == 0) usleep(20);
    usleep(static_cast<useconds_t>(calls == 0 ? below(60'000) : below(300)));
    return true;
  }

  void check_launcher(Stage stage, int status) {
    const bool killed = counted_->finished == 0;
    const int expected = stage == Stage::baseline && killed ? 128 + SIGKILL : 0;
    // The program may have been killed between its last count and its exit.
    if (status != expected && !(stage == Stage::baseline && status == 128 + SIGKILL))
      bad("diogenes run exited with " + std::to_string(status) + ", not " + std::to_string(expected));
    const bool reported = fs::exists(fs::path(session()) / "report.json");
    const bool measured = stage != Stage::baseline || counted_->returned() > 0;
    if (measured && !reported) bad("there is no report; diogenes said: " + contents(output()));
    const std::string said = stage == Stage::baseline ? "baseline: signal 9 killed the program"
                                                      : run_ + ": the program was killed";
    if (killed && reported && contents(output()).find(said) == std::string::npos)
      bad("the report does not say what became of the run " + run_);
  }

  // What a killed launcher leaves can be reported as far as it goes, and resumed.
  void check_session() {
    int status = 0;
    waitpid(start({diogenes_, "report", session()}, output()), &status, 0);
    if (status_of(status) != 0 && status_of(status) != 125)
      bad("diogenes report exited with " + std::to_string(status_of(status)));
    const bool finished =
        contents(fs::path(session()) / "session.json").find("\"finished\": true") != std::string::npos;
    waitpid(start({diogenes_, "run", "--resume", session()}, output()), &status, 0);
    if (status_of(status) != (finished ? 125 : 0))
      bad("diogenes run --resume exited with " + std::to_string(status_of(status)) + ": " +
          contents(output()));
    if (!fs::exists(fs::path(session()) / "report.json")) bad("the resumed session has no report");
  }

  std::string diogenes_, program_;
  std::mt19937& random_;
  fs::path folder_;
  std::string run_;
  const Counted* counted_ = nullptr;
  bool good_ = true;
};

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "kills DIOGENES COUNTED MOMENTS [SEED]\n");
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const int moments = atoi(argv[3]);
  const unsigned seed = argc > 4 ? static_cast<unsigned>(atoi(argv[4])) : std::random_device{}();
  std::mt19937 random(seed);
  printf("seed %u\n", seed);
  printf("%-10s %-15s %8s %10s %18s %10s %8s\n", "killed", "in run", "moments", "unfinished",
         "calls that returned", "recorded", "wrong");
  int bad = 0;
  for (Victim victim : {Victim::program, Victim::launcher})
    for (Stage stage : {Stage::baseline, Stage::tracing, Stage::memory_tracing}) {
      Sums sums;
      for (int i = 0; i < moments; ++i) Experiment(argv[1], argv[2], random).go(victim, stage, sums);
      printf("%-10s %-15s %8d %10d %18llu %10llu %8d\n", victim == Victim::program ? "program" : "launcher",
             stage_name(stage), sums.moments, sums.unfinished, static_cast<unsigned long long>(sums.returned),
             static_cast<unsigned long long>(sums.records), sums.bad);
      bad += sums.bad + (moments - sums.moments);
    }
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace diogenes::faults

int main(int argc, char** argv) { return diogenes::faults::main(argc, argv); }
