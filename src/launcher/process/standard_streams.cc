#include "launcher/process/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace diogenes::launcher {
namespace {

struct stat status_of(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) status.st_mode = S_IFCHR;
  return status;
}

bool is_stream(mode_t mode) { return S_ISFIFO(mode) || S_ISSOCK(mode); }

// Where the next byte written to a file goes.
uint64_t write_position(int fd) {
  if (fcntl(fd, F_GETFL) & O_APPEND) return static_cast<uint64_t>(status_of(fd).st_size);
  off_t position = lseek(fd, 0, SEEK_CUR);
  return position < 0 ? 0 : static_cast<uint64_t>(position);
}

int open_again(int fd) {
  return open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

}  // namespace

StandardStreams::StandardStreams(std::filesystem::path folder, const Session& session)
    : session_(std::move(folder)) {
  auto kind_of = [](int fd) {
    mode_t mode = status_of(fd).st_mode;
    return S_ISREG(mode)     ? Kind::file
           : is_stream(mode) ? Kind::stream
           : isatty(fd)      ? Kind::terminal
                             : Kind::device;
  };
  input_kind_ = kind_of(STDIN_FILENO);
  if (input_kind_ == Kind::file) {
    input_begin_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
    std::error_code failed;
    input_file_ = std::filesystem::read_symlink("/proc/self/fd/0", failed).string();
  }
  if (input_kind_ == Kind::stream) input_file_ = "stdin";
  output_ = {.fd = STDOUT_FILENO, .name = "stdout", .kind = kind_of(STDOUT_FILENO)};
  errors_ = {.fd = STDERR_FILENO, .name = "stderr", .kind = kind_of(STDERR_FILENO)};
  for (auto* output : {&output_, &errors_})
    if (output->kind == Kind::file) output->begin = write_position(output->fd);
  struct stat out = status_of(STDOUT_FILENO), err = status_of(STDERR_FILENO);
  joined_ = out.st_dev == err.st_dev && out.st_ino == err.st_ino && output_.kind != Kind::device;
  if (!session.runs.empty()) go_on(session);
}

void StandardStreams::go_on(const Session& session) {
  first_ = false;
  joined_ = session.streams.joined;
  input_file_ = session.streams.input;
  input_begin_ = session.streams.input_begin;
  // Our own stdin is not what the first run read.
  input_kind_ = input_file_.empty() ? Kind::device : Kind::stream;
  for (auto* output : {&output_, &errors_}) output->kind = Kind::device;
  for (const std::string& name : session.streams.terminal)
    for (auto* output : {&output_, &errors_})
      if (name == output->name) output->kind = Kind::terminal;
  for (auto* output : {&output_, &errors_})
    for (const StageRun& run : session.runs) {
      output->reference = OutputCopy::of_file(session_ / run.name / output->name);
      output->reference_is_first = &run == &session.runs.front();
      if (output->reference) break;
    }
}

StreamsRecord StandardStreams::record() const {
  StreamsRecord record{input_file_, input_begin_, joined_, {}};
  if (input_kind_ == Kind::terminal) record.terminal.emplace_back("stdin");
  for (const auto* output : {&output_, &errors_})
    if (output->kind == Kind::terminal) record.terminal.emplace_back(output->name);
  return record;
}

StandardStreams::~StandardStreams() {
  if (input_again_ >= 0) close(input_again_);
}

void StandardStreams::route(Target& target, const std::filesystem::path& folder) {
  route_input(target);
  target.output = route_output(output_, folder);
  if (!joined_)
    target.errors = route_output(errors_, folder);
  else if (target.output.kind == StreamRoute::Kind::relay)
    target.errors = {.kind = StreamRoute::Kind::with_stdout};
  else
    target.errors = {};
}

void StandardStreams::route_input(Target& target) {
  target.input = {};
  if (first_ && input_kind_ == Kind::stream) {
    input_copy_ = std::make_unique<OutputCopy>(session_ / "stdin", UINT64_MAX);
    target.input = {.kind = StreamRoute::Kind::relay, .fd = STDIN_FILENO, .copy = input_copy_.get()};
  }
  if (first_) return;
  if (input_again_ >= 0) close(input_again_);
  if (input_kind_ == Kind::stream)
    input_again_ = open((session_ / input_file_).c_str(), O_RDONLY | O_CLOEXEC);
  if (input_kind_ == Kind::file) input_again_ = open_again(STDIN_FILENO);
  if (input_kind_ == Kind::device || input_kind_ == Kind::terminal) input_again_ = -1;
  if (input_again_ >= 0) lseek(input_again_, input_begin_, SEEK_SET);
  if (input_again_ < 0) input_again_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  target.input = {.kind = StreamRoute::Kind::open, .fd = input_again_};
}

StreamRoute StandardStreams::route_output(Output& output, const std::filesystem::path& folder) {
  output.current.reset();
  if (first_ && (output.kind == Kind::device || output.kind == Kind::terminal)) return {};
  output.current = std::make_unique<OutputCopy>(folder / output.name);
  if (first_ && output.kind == Kind::file) return {};
  return {.kind = StreamRoute::Kind::relay,
          .fd = first_ ? output.fd : -1,
          .copy = output.current.get(),
          .as_terminal = output.kind == Kind::terminal};
}

void StandardStreams::read_back(Output& output) {
  int fd = open_again(output.fd);
  if (fd < 0) {  // we may write the file, and not read it
    output.current.reset();
    return;
  }
  output.current->add_file(fd, output.begin, write_position(output.fd));
  close(fd);
}

std::vector<std::string> StandardStreams::finish(const TargetResult& result) {
  std::vector<std::string> differences;
  if (first_ && input_copy_ && input_copy_->kept() < input_copy_->length())
    differences.push_back(
        "the standard input could not be kept (disk full?): later runs read only its beginning");
  for (auto* output : {&output_, &errors_}) {
    if (first_ && output->current && output->kind == Kind::file) read_back(*output);
    // What a reader cut short, or we did by ending the program, tells nothing about the program.
    if (!output->current || result.reader_left || result.timed_out || result.interrupted_by != 0) continue;
    if (!output->reference) {
      output->reference = std::move(output->current);
      output->reference_is_first = first_;
    } else if (!output->current->same_as(*output->reference)) {
      std::string where = output->current->difference(*output->reference);
      differences.push_back(
          fmt::format("{} differs from {} {}{}", output->name,
                      output->reference_is_first ? "the first run's" : "an earlier run's",
                      where.empty() ? "(past what was kept)" : where,
                      output->current->only_figures_differ(*output->reference) ? ", in numbers only" : ""));
    }
  }
  first_ = false;
  return differences;
}

}  // namespace diogenes::launcher
