#include "launcher/doctor/started_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "base/units.h"
#include "driver/discovery/child_output.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kAnswerTime{5'000'000'000};
constexpr int kMostSteps = 8;  // scripts that start scripts
constexpr size_t kLongestScript = 64 << 10;

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Programs that start another one: that one is looked at.
bool starts_another(const std::string& name) {
  return is_one_of(name, {"mpirun", "mpiexec", "srun", "aprun", "jsrun", "env", "numactl", "taskset", "nice",
                          "time", "timeout", "setarch", "stdbuf", "torchrun"});
}

// ... and that look for it in an environment of their own.
bool has_environments(const std::string& name) {
  return is_one_of(name,
                   {"conda", "mamba", "micromamba", "uv", "poetry", "pipenv", "pixi", "pyenv", "hatch"});
}

bool is_shell(const std::string& name) {
  return is_one_of(name, {"sh", "bash", "dash", "ash", "ksh", "zsh"});
}

// "python", "python3", "python3.12": no script of the user's, which nobody asked to run.
bool is_python(const std::string& name) {
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

std::string beginning_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(kLongestScript, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

// The interpreter of a script, from its first line; "" of other files.
std::string interpreter_of(const std::string& text) {
  if (!text.starts_with("#!")) return "";
  std::istringstream words(text.substr(2, text.find('\n')));
  std::string first, second;
  words >> first >> second;
  if (fs::path(first).filename() != "env") return first;
  if (second == "-S") words >> second;
  return second.empty() || second[0] == '-' ? first : second;
}

// Of one line, as far as a shell would find them without doing anything: quotes taken off.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;
  for (char c : line) {
    if (quote == 0 && (c == ';' || c == '|' || c == '&')) break;
    if (quote == 0 && (c == ' ' || c == '\t')) {
      if (any) words.push_back(word);
      word.clear();
      any = false;
    } else if (quote == 0 ? c == '"' || c == '\'' : c == quote) {
      quote = quote == 0 ? c : '\0';
      any = true;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

class Follower {
 public:
  StartedProgram follow(const std::vector<std::string>& words) {
    const FoundProgram found = find_program(words.front());
    result_.program = found;
    if (found.status != 0) return result_;
    const std::string name = fs::path(words.front()).filename().string();
    if (++steps_ > kMostSteps) return unclear("too many scripts start each other");
    if (has_environments(name))
      return unclear(name + " starts a program in an environment of its own: activate that first");
    if (starts_another(name))
      for (size_t i = 1; i < words.size(); ++i)
        if (!words[i].empty() && words[i][0] != '-' && find_program(words[i]).status == 0)
          return follow({words.begin() + static_cast<ptrdiff_t>(i), words.end()});
    const std::string text = beginning_of(found.path);
    if (is_shell(name)) return shell(words);
    if (text.starts_with("\x7f"
                         "ELF"))
      return result_;
    return script(found.path, text);
  }

 private:
  StartedProgram unclear(std::string why) {
    result_.unclear = std::move(why);
    return result_;
  }

  // `bash -e run.sh`.
  StartedProgram shell(const std::vector<std::string>& words) {
    const auto file = std::find_if(words.begin() + 1, words.end(),
                                   [](const std::string& word) { return !word.starts_with("-"); });
    const bool given = std::any_of(words.begin() + 1, file, [](const std::string& word) {
      return !word.starts_with("--") && word.find('c') != std::string::npos;
    });
    std::error_code failed;
    if (given || file == words.end() || !fs::is_regular_file(*file, failed))
      return unclear(words.front() + " runs commands, which doctor does not follow");
    return shell_script(*file, beginning_of(*file));
  }

  StartedProgram script(const fs::path& file, const std::string& text) {
    const std::string interpreter = interpreter_of(text);
    const std::string name = fs::path(interpreter).filename().string();
    if (is_python(file.filename().string())) return asked(file);
    if (name.starts_with("python")) return follow({interpreter});
    if (interpreter.empty() || is_shell(name)) return shell_script(file, text);
    return unclear(fmt::format("{} is a script of {}", file.string(), name));
  }

  StartedProgram shell_script(const fs::path& file, const std::string& text) {
    const std::vector<std::string> command = command_of_script(text);
    if (command.empty() || find_program(command.front()).status != 0)
      return unclear(file.string() + " is a shell script, and it cannot be told what it starts");
    result_.through = file.string();
    return follow(command);
  }

  // A shim of pyenv or asdf, say, finds the interpreter by the folder that it is called in.
  StartedProgram asked(const fs::path& file) {
    Result<ChildOutput> output =
        run_child({file.string(), "-c", "import sys; print(sys.executable)"}, kAnswerTime);
    const std::string path =
        output ? output->standard_output.substr(0, output->standard_output.find('\n')) : "";
    if (path.empty() || path[0] != '/' || find_program(path).status != 0)
      return unclear(file.string() + " is a script, and it did not say which interpreter it starts");
    result_.through = file.string();
    result_.program = find_program(path);
    return result_;
  }

  StartedProgram result_;
  int steps_ = 0;
};

}  // namespace

std::vector<std::string> command_of_script(const std::string& text) {
  std::vector<std::string> command;
  std::istringstream lines(text);
  bool other_path = false;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words = words_of(line);
    for (const std::string& word : words) {
      if (word.starts_with("#")) break;
      other_path = other_path || word.starts_with("PATH=") || word.ends_with("activate") || word == "module";
    }
    if (words.empty() || words.front() != "exec") continue;
    words.erase(words.begin());
    while (!words.empty() && words.front().starts_with("-"))
      words.erase(words.begin(),
                  words.begin() + std::min<ptrdiff_t>(words.front() == "-a" ? 2 : 1, std::ssize(words)));
    // `exec 2>&1` starts nothing.
    if (words.empty() || words.front().find_first_of("<>") != std::string::npos) continue;
    if (words.front().find_first_of("$`*?~(){}=") != std::string::npos) return {};
    if (!command.empty() && command.front() != words.front()) return {};
    command = std::move(words);
  }
  if (!command.empty() && other_path && command.front().find('/') == std::string::npos) return {};
  return command;
}

StartedProgram started_program(const std::vector<std::string>& command) { return Follower().follow(command); }

}  // namespace diogenes::launcher
