#include "driver/discovery/discovery.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "driver/discovery/child_output.h"
#include "driver/discovery/wait_evidence.h"
#include "driver/hooking/image.h"

namespace diogenes {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSchema = "diogenes-wait-functions/1";
constexpr Nanoseconds kTimeout{25'000'000'000};  // the child ends itself after 20 s
constexpr size_t kMostCandidates = 12;
constexpr double kMatches = 0.8;  // of the hold must be inside the function

std::string text_of(const BuildId& id) {
  char text[41];
  to_hex(id, text);
  return text;
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(value));
  return text;
}

uint64_t number(const json& value) {
  const std::string text = value.get<std::string>();
  return strtoull(text.c_str(), nullptr, 0);
}

// "libcuda.so.580.159.04" -> "580.159.04"; "" for a name that says nothing.
std::string version_in_name(const fs::path& file) {
  std::smatch match;
  const std::string name = file.filename().string();
  return std::regex_search(name, match, std::regex(R"(\.so\.([0-9]+\.[0-9.]*[0-9])$)")) ? match[1].str() : "";
}

Result<json> ask(const std::vector<std::string>& command) {
  auto output = run_child(command, kTimeout);
  if (!output) return output.error();
  json answer = json::parse(output->standard_output, nullptr, false);
  if (answer.is_object() && answer.contains("error") && answer["error"].is_string())
    return error("%s", answer["error"].get<std::string>().c_str());
  if (output->timed_out)
    return error("%s did not end within 25 s; is the GPU hung or used by others?", command[0].c_str());
  if (answer.is_object()) return answer;
  const std::string& line = output->last_error_line;
  if (WIFSIGNALED(output->status))
    return error("%s was ended by signal %d%s%s", command[0].c_str(), WTERMSIG(output->status),
                 line.empty() ? "" : ": ", line.c_str());
  return error("%s gave no answer (exit status %d)%s%s", command[0].c_str(), WEXITSTATUS(output->status),
               line.empty() ? "" : ": ", line.c_str());
}

CallEvidence evidence_of(const json& call) {
  CallEvidence evidence;
  evidence.name = call.at("name");
  evidence.error = call.at("error");
  evidence.queue = call.value("queue", false);
  evidence.waited = call.at("waited");
  evidence.held_s = call.at("held_s");
  for (const json& sample : call.at("samples")) {
    DriverStack stack;
    for (const json& function : sample.at("stack")) stack.push_back(number(function));
    for (int i = sample.at("count"); i > 0; --i) evidence.samples.push_back(stack);
  }
  return evidence;
}

// In how many of the given calls was the time inside the candidate that of the hold?
struct Check {
  int matched = 0, compared = 0;
  bool passed() const { return compared > 0 && matched * 10 >= compared * 9; }
};

Check check_of(const json& candidates, uint64_t offset, const std::function<bool(const json&)>& counts) {
  Check result;
  for (const json& candidate : candidates) {
    if (number(candidate.at("offset")) != offset) continue;
    for (const json& call : candidate.at("calls")) {
      if (!call.at("waited").get<bool>() || !counts(call)) continue;
      ++result.compared;
      const double longest = call.at("longest_s"), held = call.at("held_s"), lasted = call.at("lasted_s");
      result.matched += longest >= kMatches * held && longest <= lasted;
    }
  }
  return result;
}

class Search {
 public:
  Search(const Image& image, const json& found) : image_(image) {
    for (const json& call : found.at("calls")) calls_.push_back(evidence_of(call));
    for (const CallEvidence& call : calls_)
      if (call.queue) queue_ = &call;
    is_export_ = [this](uint64_t offset) { return image_.is_export(offset); };
    candidates_ = rank_wait_candidates(calls_, is_export_);
  }

  bool found_any() const { return !candidates_.empty(); }
  int waited() const { return waiting_calls(calls_); }
  std::string failures() const {  // the first calls that could not be tried, for the error
    for (const CallEvidence& call : calls_)
      if (!call.error.empty()) return call.name + ": " + call.error;
    return "";
  }

  // What the second child is to hook: the first candidates, and all that the full queue has on its stack.
  std::vector<uint64_t> to_check() const {
    std::vector<uint64_t> offsets;
    const auto add = [&](uint64_t offset) {
      if (offsets.size() < kMostCandidates &&
          std::find(offsets.begin(), offsets.end(), offset) == offsets.end())
        offsets.push_back(offset);
    };
    for (size_t i = 0; i < candidates_.size() && i < 4; ++i) add(candidates_[i].offset);
    if (queue_ != nullptr)
      for (const uint64_t offset : queue_candidates(*queue_, 0, is_export_)) add(offset);
    return offsets;
  }

  // The best candidate that passed; where none did (or nothing could be checked), the best, unverified.
  WaitFunctions::Found wait(const json& checked) const {
    const auto found = [&](const WaitCandidate& candidate, bool verified) {
      return WaitFunctions::Found{candidate.offset, candidate.agreed, waited(), verified};
    };
    for (const WaitCandidate& candidate : candidates_) {
      if (candidate.agreed * 2 < candidates_.front().agreed) break;  // shared by few calls: not the one
      if (check_of(checked, candidate.offset, [&](const json& call) {
            return was_on_stack(call, candidate.offset);
          }).passed())
        return found(candidate, true);
    }
    return found(candidates_.front(), false);
  }

  // The innermost function in which one single call lasted as long as the queue was held full. (A function
  // that only yields is entered again and again.) Not checked: the innermost that no other waiting call has
  // on its stack.
  std::optional<WaitFunctions::Found> queue(const json& checked, uint64_t wait_function) const {
    if (queue_ == nullptr) return std::nullopt;
    const DriverStack possible = queue_candidates(*queue_, wait_function, is_export_);
    for (const uint64_t offset : possible)
      if (check_of(checked, offset, [](const json& call) { return call.value("queue", false); }).passed())
        return WaitFunctions::Found{offset, 1, 1, true};
    for (const uint64_t offset : possible)
      if (std::none_of(candidates_.begin(), candidates_.end(), [&](const WaitCandidate& candidate) {
            return candidate.offset == offset && candidate.agreed > 1;
          }))
        return WaitFunctions::Found{offset, 1, 1, false};
    return std::nullopt;
  }

 private:
  bool was_on_stack(const json& call, uint64_t offset) const {
    for (const CallEvidence& evidence : calls_) {
      if (evidence.name != call.at("name").get<std::string>() || !evidence.waited) continue;
      const DriverStack stack = waiting_stack(evidence);
      return std::find(stack.begin(), stack.end(), offset) != stack.end();
    }
    return false;
  }

  const Image& image_;
  std::vector<CallEvidence> calls_;
  const CallEvidence* queue_ = nullptr;
  std::function<bool(uint64_t)> is_export_;
  std::vector<WaitCandidate> candidates_;
};

json to_json(const WaitFunctions::Found& found) {
  return {{"offset", hexadecimal(found.offset)},
          {"agreed", found.agreed},
          {"known", found.known},
          {"verified", found.verified}};
}

WaitFunctions::Found found_in(const json& value) {
  return {number(value.at("offset")), value.at("agreed"), value.at("known"), value.at("verified")};
}

std::optional<WaitFunctions> known_build(const BuildId& id) {
  struct Known {
    const char *build_id, *driver_version;
    int version;
    uint64_t wait;
    int agreed, known;
    uint64_t queue;
  };
  static constexpr Known kKnown[] = {
#define KNOWN_DRIVER(...) {__VA_ARGS__},
#include "driver/discovery/known_drivers.def"
#undef KNOWN_DRIVER
      {"", "", 0, 0, 0, 0, 0}};
  for (const Known& known : kKnown) {
    if (id.length == 0 || text_of(id) != known.build_id) continue;
    WaitFunctions result{.build_id = id, .driver_version = known.driver_version, .version = known.version};
    result.wait = {known.wait, known.agreed, known.known, true};
    if (known.queue != 0) result.queue = WaitFunctions::Found{known.queue, 1, 1, true};
    result.evidence_json = R"({"source": "known build: shipped with this tool"})";
    result.from_cache = true;
    return result;
  }
  return std::nullopt;
}

// A file that is missing, of another format, cut off or of another build is none.
std::optional<WaitFunctions> read_cache(const fs::path& file, const Image& image) {
  std::ifstream stream(file);
  const json stored = json::parse(stream, nullptr, false);
  try {
    if (stored.at("schema") != kSchema || stored.at("build_id") != text_of(image.build_id()))
      return std::nullopt;
    WaitFunctions result{.build_id = image.build_id(),
                         .driver_version = stored.at("driver_version"),
                         .version = stored.at("version"),
                         .wait = found_in(stored.at("wait"))};
    if (!stored.at("queue").is_null()) result.queue = found_in(stored.at("queue"));
    if (!image.executable(result.wait.offset)) return std::nullopt;
    result.evidence_json = stored.at("evidence").dump();
    result.from_cache = true;
    return result;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

void write_cache(const fs::path& folder, const fs::path& file, const WaitFunctions& found,
                 const json& evidence) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const fs::path temporary = file.string() + "." + std::to_string(getpid());
  {
    std::ofstream stream(temporary);
    stream << json{{"schema", kSchema},
                   {"build_id", text_of(found.build_id)},
                   {"driver_version", found.driver_version},
                   {"version", found.version},
                   {"wait", to_json(found.wait)},
                   {"queue", found.queue ? to_json(*found.queue) : json()},
                   {"evidence", evidence}}
                  .dump(1, ' ', false, json::error_handler_t::replace);
    if (!stream.flush()) {
      fs::remove(temporary, ignored);
      return;
    }
  }
  fs::rename(temporary, file, ignored);
  if (ignored) fs::remove(temporary, ignored);
}

Result<WaitFunctions> measure(const Image& image, const fs::path& libcuda, const fs::path& program,
                              json* evidence) {
  auto found = ask({program.string(), "--libcuda", libcuda.string()});
  if (!found) return found.error();
  try {
    if (found->at("build_id") != text_of(image.build_id()))
      return error("the dynamic linker mapped %s instead of %s; give that file",
                   found->at("path").get<std::string>().c_str(), libcuda.c_str());
    const Search search(image, *found);
    if (search.waited() == 0)
      return error("no call waited for the GPU (first failure: %s); the driver's wait function stays unknown",
                   search.failures().empty() ? "none" : search.failures().c_str());
    if (!search.found_any())
      return error("%d calls waited, but their stacks share no function of %s; does it have .eh_frame?",
                   search.waited(), libcuda.c_str());
    std::string offsets;
    for (const uint64_t offset : search.to_check())
      offsets += (offsets.empty() ? "" : ",") + hexadecimal(offset);
    auto checked = ask({program.string(), "--libcuda", libcuda.string(), "--check", offsets});
    const json candidates = checked ? checked->at("candidates") : json::array();

    WaitFunctions result{.build_id = image.build_id(),
                         .driver_version = version_in_name(libcuda),
                         .version = found->at("version")};
    result.wait = search.wait(candidates);
    result.queue = search.queue(candidates, result.wait.offset);
    *evidence = {{"device", found->at("device")}, {"calls", found->at("calls")}, {"checks", candidates}};
    if (!checked) (*evidence)["check_failed"] = checked.error().c_str();
    result.evidence_json = evidence->dump(-1, ' ', false, json::error_handler_t::replace);
    return result;
  } catch (const json::exception& exception) {
    return error("%s answered in another form: %s; is it of another version?", program.c_str(),
                 exception.what());
  }
}

}  // namespace

Result<WaitFunctions> find_wait_functions(const fs::path& libcuda, const fs::path& discover_program,
                                          const fs::path& cache_folder, bool use_cache) {
  std::error_code unresolved;
  fs::path file = fs::canonical(libcuda, unresolved);
  if (unresolved) file = libcuda;
  auto image = Image::open(file);
  if (!image) return image.error();
  const bool has_id = image->build_id().length != 0, has_cache = !cache_folder.empty();
  const fs::path cached = cache_folder / (text_of(image->build_id()) + ".json");
  if (use_cache && has_id) {
    if (auto known = known_build(image->build_id())) return *known;
    if (auto stored = has_cache ? read_cache(cached, *image) : std::nullopt) return *stored;
  }
  json evidence;
  auto found = measure(*image, file, discover_program, &evidence);
  if (found && found->wait.verified && has_id && has_cache)
    write_cache(cache_folder, cached, *found, evidence);
  return found;
}

Result<FirstDevice> first_device(const fs::path& libcuda, const fs::path& discover_program) {
  auto answer = ask({discover_program.string(), "--libcuda", libcuda.string(), "--device"});
  if (!answer) return answer.error();
  try {
    return FirstDevice{answer->at("name"), answer->at("major"), answer->at("minor"), answer->at("count")};
  } catch (const json::exception&) {
    return error("%s answered in another form; is it of another version?", discover_program.c_str());
  }
}

Result<fs::path> locate_driver(const fs::path& discover_program) {
  auto answer = ask({discover_program.string(), "--locate"});
  if (!answer) return answer.error();
  if (!answer->contains("path") || !(*answer)["path"].is_string())
    return error("%s answered in another form; is it of another version?", discover_program.c_str());
  const fs::path path = (*answer)["path"].get<std::string>();
  std::error_code unresolved;
  const fs::path resolved = fs::canonical(path, unresolved);
  return unresolved ? path : resolved;
}

}  // namespace diogenes
