#include "views/shared/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "views/shared/figures.h"
#include "views/shared/idle.h"
#include "views/shared/shortened_name.h"

namespace diogenes {
namespace {

struct KindPhrase {
  std::string_view kind, phrase;
};

constexpr std::array kPhrases = {
    KindPhrase{"unnecessary-synchronization", "needless wait"},
    KindPhrase{"misplaced-synchronization", "early wait"},
    KindPhrase{"wide-synchronization", "waits for too much"},
    KindPhrase{"ordering-synchronization", "only orders GPU work"},
    KindPhrase{"duplicate-transfer", "data was there"},
    KindPhrase{"duplicate-transfer-elsewhere", "data was sent before"},
    KindPhrase{"constant-transfer", "sends one value"},
    KindPhrase{"round-trip-transfer", "data goes back unchanged"},
    KindPhrase{"unused-transfer", "data is not used"},
    KindPhrase{"small-transfers", "one copy would do"},
    KindPhrase{"pageable-transfer", "pageable copy"},
    KindPhrase{"repeated-allocation", "allocates again"},
    KindPhrase{"unused-allocation", "memory is not used"},
};

bool plain_argument(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("_-./=+:,@%").find(c) != std::string_view::npos;
}

// The last part of a path, without what would move the cursor.
std::string base(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (char& c : name)
    if (std::iscntrl(static_cast<unsigned char>(c))) c = '?';
  return name;
}

constexpr size_t kLongestCall = 60;  // characters; a Python function with its modules has some 50

template <typename Entry>
std::string caller_of(const Entry& entry) {
  if (!entry.via.empty()) return shortened_name(entry.via, kLongestCall);
  return shortened_name(entry.api.empty() ? entry.operation : entry.api, kLongestCall);
}

}  // namespace

std::string kind_phrase(const std::string& kind) {
  for (const KindPhrase& known : kPhrases)
    if (known.kind == kind) return std::string(known.phrase);
  std::string words = kind;
  std::replace(words.begin(), words.end(), '-', ' ');
  return words;
}

std::string grouping_phrase(const std::string& grouping) {
  static constexpr std::array kGroupings = {
      KindPhrase{"single-point", "same call path"},    KindPhrase{"caller", "same line"},
      KindPhrase{"folded-function", "same function"},  KindPhrase{"sequence", "one after the other"},
      KindPhrase{"subsequence", "part of a sequence"},
  };
  for (const KindPhrase& known : kGroupings)
    if (known.kind == grouping) return std::string(known.phrase);
  return grouping;
}

std::string not_judged_phrase(const std::string& code) {
  static constexpr std::array kReasons = {
      KindPhrase{"small-range", "no free hardware watchpoint for small data"},
      KindPhrase{"exposed", "memory not guarded for a while"},
      KindPhrase{"guard-refused", "memory could not be guarded"},
      KindPhrase{"undecoded", "not known which memory the work writes"},
      KindPhrase{"driver-access", "the driver itself accessed the data"},
      KindPhrase{"unresolved", "ended before a use could be seen"},
      KindPhrase{"over-budget", "not looked at, to keep within --max-overhead"},
      KindPhrase{"unknown-memory", "managed or mapped memory of which not enough is known"},
  };
  for (const KindPhrase& reason : kReasons)
    if (reason.kind == code) return std::string(reason.phrase);
  return code;
}

std::string program_name(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  std::string program = base(command[0]);
  const bool runs_scripts = program.starts_with("python") || program.starts_with("mpirun") ||
                            program.starts_with("mpiexec") || program == "sh" || program == "bash";
  if (!runs_scripts) return program;
  for (size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "-m" && i + 1 < command.size()) return command[i + 1];
    const bool number = !command[i].empty() && std::all_of(command[i].begin(), command[i].end(),
                                                           [](unsigned char c) { return std::isdigit(c); });
    if (!command[i].starts_with("-") && !number) return base(command[i]);
  }
  return program;
}

std::string quoted(const std::string& argument) {
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain_argument)) return argument;
  std::string result = "'";
  for (char c : argument) {
    if (c == '\'')
      result += "'\\''";
    else
      result += std::iscntrl(static_cast<unsigned char>(c)) ? '?' : c;
  }
  return result + "'";
}

namespace {
const ReportCondition* apart(const ReportProblem& problem) {
  const auto found = std::find_if(problem.conditions.begin(), problem.conditions.end(),
                                  [](const ReportCondition& one) { return one.code == "not-together"; });
  return found == problem.conditions.end() ? nullptr : &*found;
}
}  // namespace

bool stands_apart(const Finding& finding) {
  return std::all_of(finding.problems.begin(), finding.problems.end(),
                     [](const ReportProblem* problem) { return apart(*problem) != nullptr; });
}

std::string apart_text(const Finding& finding) {
  for (const ReportProblem* problem : finding.problems)
    if (const ReportCondition* condition = apart(*problem)) return condition->text;
  return "";
}

std::string finding_phrase(const Finding& finding, size_t room) {
  std::vector<std::string> calls, phrases;
  const auto add = [](std::vector<std::string>& all, std::string one) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  };
  for (const ReportProblem* problem : finding.problems) {
    add(calls, caller_of(*problem));
    add(phrases, kind_phrase(problem->kind));
  }
  if (calls.empty()) return "";
  const std::string who =
      calls.size() == 1 ? calls[0] : fmt::format("{} and {} more", calls[0], calls.size() - 1);
  const std::string behind = stands_apart(finding) ? " (not with the others)" : "";
  if (phrases.size() == 2)
    if (std::string text = who + ": " + phrases[0] + " and " + phrases[1] + behind; text.size() <= room)
      return text;
  std::string what = ": " + phrases[0];
  if (phrases.size() > 1) what += fmt::format(" and {} more", phrases.size() - 1);
  std::string text = who + what + behind;
  if (text.size() <= room) return text;
  constexpr size_t kLeast = 12;  // of the name
  const size_t left = room - std::min(room, what.size() + 3);
  if (left >= kLeast) return who.substr(0, left) + "..." + what;
  return text.substr(0, room - std::min<size_t>(room, 3)) + "...";
}

bool can_break(const ReportCondition& condition) {
  static constexpr std::array<std::string_view, 7> kHarmless = {
      "usual", "timer", "errors-surface", "throttles", "sampled", "wait-included", "wait-only"};
  return std::find(kHarmless.begin(), kHarmless.end(), condition.code) == kHarmless.end();
}

std::string required_phrase(const ReportRequired& required) { return caller_of(required); }

bool is_judged(const ReportRequired& required) {
  return required.not_judged < required.count || required.not_judged == 0;
}

std::string required_kind(const ReportRequired& required) {
  if (required.sends) return "data that the CPU makes and sends";
  return is_judged(required) ? "needed wait" : "wait not judged";
}

std::string required_title(const std::vector<ReportRequired>& required) {
  size_t judged = 0, not_judged = 0;
  for (const ReportRequired& one : required)
    if (!one.sends) ++(is_judged(one) ? judged : not_judged);
  if (not_judged == 0) return "Needed waits";
  return judged > 0 ? "Waits needed or not judged" : "Waits not judged";
}

std::string required_heading(const Report& report) {
  const auto sends = std::count_if(report.required.begin(), report.required.end(),
                                   [](const auto& one) { return one.sends; });
  const std::string waits = required_title(report.required) + " that cost most";
  if (sends == 0) return waits;
  if (static_cast<size_t>(sends) == report.required.size()) return "Data that the CPU makes and sends";
  return waits + ", and data that the CPU makes and sends";
}

namespace {

// What is gained in the main loop is divided by its iterations where it is so much of the whole gain.
constexpr double kWorthDividing = 0.1;
constexpr double kNothing = 0.0005;  // of the whole; shown as less than 0.1%

// What was proved of all findings at once, where it is not what was expected of them.
const ReportProved* refuted(const Report& report) {
  if (!report.proof || !report.proof->together || report.proof->findings != report.problems.size())
    return nullptr;
  const ReportProved& proved = *report.proof->together;
  const bool says_so = !proved.as_expected && !proved.too_dear && !proved.up_to && proved.difference.empty();
  return says_so ? &proved : nullptr;
}

// What costs much that is no mistake, once the mistakes are mended.
std::string needed_part(const Report& report, double gain) {
  const ReportRequired *wait = nullptr, *sends = nullptr;  // that cost most
  size_t waits = 0;
  for (const ReportRequired& required : report.required) {
    const ReportRequired*& first = required.sends ? sends : wait;
    if (!first) first = &required;
    waits += !required.sends;
  }
  std::string text;
  if (wait) {
    const bool all = report.required_together.has_value();
    const bool one = !all || waits == 1;
    std::string those = required_title(report.required);
    those[0] = static_cast<char>(tolower(those[0]));
    text += fmt::format(
        "; {} cost{} up to {} ({}){}", one ? fmt::format("a {} ({})", required_kind(*wait), wait->id) : those,
        one ? "s" : "", seconds_text(all ? report.required_together->expected_benefit_s : wait->up_to_s),
        percent_text(all ? report.required_together->expected_benefit_percent : wait->up_to_percent),
        gain > 0 ? " beyond that" : "");
    // The upper end holds what goes beside the waits, such as kernels that a line launches for its result.
    constexpr double kMuchMore = 1.5;
    const double likely = all ? report.required_together->expected_benefit_s : wait->up_to_s;
    const double most = all ? report.required_together->range.high_s : wait->at_most_s;
    const bool more = all || wait->at_most_s > 0;
    if (more && most > kMuchMore * likely) text += fmt::format(", {} at most", seconds_text(most));
  }
  if (sends)
    text += fmt::format("; making and sending data on the CPU costs up to {} ({}, {})",
                        seconds_text(sends->up_to_s), percent_text(sends->up_to_percent), sends->id);
  return text;
}

// Of `diogenes profile`.
std::string profile_headline(const Report& report) {
  const std::string judged = "; `diogenes run` finds out which waits were needed";
  if (!report.profile || report.profile->pieces == 0) return "it is not known when the GPU worked" + judged;
  const double busy = report.profile->gpu_busy_s;
  const bool several = report.processes.size() > 1;
  const bool idle = idle_is_worth_a_word(*report.profile);
  return fmt::format(
      "the GPU worked for {}{}{}{}{}", seconds_text(busy),
      several ? " (all processes together)"
              : fmt::format(" of {} ({})", seconds_text(report.runtime_s),
                            percent_text(report.runtime_s > 0 ? 100 * busy / report.runtime_s : 0)),
      idle ? ", and was idle for " + idle_phrase(*report.profile->idle) : "", needed_part(report, 0), judged);
}

}  // namespace

std::string headline(const Report& report, const Outline& outline) {
  if (!report.judged) return profile_headline(report);
  const auto places =
      static_cast<size_t>(std::count_if(outline.findings.begin(), outline.findings.end(),
                                        [](const Finding& finding) { return !stands_apart(finding); }));
  if (places == 0) {
    if (!report.incomplete.empty()) return "nothing can be said yet";
    if (report.synchronizations == 0 && report.transfers == 0)
      return "nothing to measure: no synchronization and no transfer";
    return fmt::format("nothing to save was found in {} and {}",
                       counted(report.synchronizations, "synchronization"),
                       counted(report.transfers, "transfer")) +
           needed_part(report, 0);
  }
  double gain = 0, percent = 0;
  const ReportRange* range = nullptr;
  if (report.together) {
    gain = report.together->expected_benefit_s;
    percent = report.together->expected_benefit_percent;
    range = &report.together->range;
  } else {
    for (const Finding& finding : outline.findings) gain += finding.benefit_s();
    percent = report.whole_s() > 0 ? 100 * gain / report.whole_s() : 0;
  }
  // A range that reaches down to nothing says: do not count on it.
  const bool sure = !range || range->low_s > 0 || seconds_text(range->low_s) == seconds_text(range->high_s);
  const ReportProved* proved = refuted(report);
  const std::string range_text =
      range && seconds_text(range->low_s) != seconds_text(range->high_s)
          ? fmt::format(" [{} to {}]", seconds_text(range->low_s), seconds_text(range->high_s))
          : "";
  const double most = range ? std::max(gain, range->high_s) : gain;
  if (!proved && most < kNothing * report.whole_s())
    return fmt::format("fixing {} saves next to nothing: {} of {}{}", counted(places, "place"),
                       seconds_text(gain), seconds_text(report.whole_s()), range_text) +
           needed_part(report, gain);
  if (!proved && gain <= 0)
    return fmt::format("fixing {} may save up to {} of {}, or nothing{}", counted(places, "place"),
                       seconds_text(most), seconds_text(report.whole_s()), range_text) +
           needed_part(report, 0);
  std::string text = fmt::format("{} of {} ({}) {} at {}{}", seconds_text(gain),
                                 seconds_text(report.whole_s()), percent_text(percent),
                                 proved ? "were expected to be saved"
                                 : sure ? "can be saved"
                                        : "may be saved",
                                 counted(places, "place"), proved || sure ? "" : ", or nothing") +
                     range_text;
  if (proved)
    return fmt::format("{}, but {} +- {} was proved", text, seconds_text(proved->seconds),
                       seconds_text(proved->error_s));
  // What is saved once, before the loop or behind it, is no gain of an iteration.
  if (const auto& loop = report.main_loop;
      loop && loop->iterations > 0 && gain > 0 && loop->expected_benefit_s >= kWorthDividing * gain)
    text += fmt::format(", {} in each of {}",
                        seconds_text(loop->expected_benefit_s / static_cast<double>(loop->iterations)),
                        counted(loop->iterations, "iteration"));
  // Where the GPU is used for a part of the run only, the share of that part says more.
  if (!report.part && report.gpu_in_use_s > 0 && report.gpu_in_use_s < 0.8 * report.runtime_s)
    text += fmt::format(", {} of the {} in which the GPU is used",
                        percent_text(100 * gain / report.gpu_in_use_s), seconds_text(report.gpu_in_use_s));
  return text + needed_part(report, gain);
}

namespace {

std::string window_text(const ReportWindow& window) {
  std::string text = "recorded for " + seconds_text(window.seconds) + ", from " +
                     seconds_text(window.after_s) + " after the start on";
  if (window.count > 1) text += fmt::format(" (window {} of {})", window.number, window.count);
  if (window.slowdown > 0)
    text += fmt::format("; recorded, it took {:.2f} times as long as right before", window.slowdown);
  return text;
}

}  // namespace

std::string about_text(const Report& report) {
  std::string gpu = report.device_name.empty() ? "unknown GPU" : report.device_name;
  if (report.simulated) {
    gpu += " (simulated driver)";
  } else if (!report.driver_version.empty()) {
    gpu += ", driver " + report.driver_version;
  }
  std::string text =
      gpu + "; " +
      (report.window ? window_text(*report.window) : "run time " + seconds_text(report.runtime_s));
  if (report.exit_status != 0) text += fmt::format(", exit status {}", report.exit_status);
  if (report.synchronizations > 0) {
    text += "; " + counted(report.synchronizations, "synchronization") + " waited " +
            seconds_text(report.waited_s);
    // Summed over threads, waits can be longer than the run.
    if (report.waited_s > report.runtime_s) text += " (all threads together)";
  }
  if (report.transfers > 0)
    text += "; " + counted(report.transfers, "transfer") + " moved " + bytes_text(report.transferred_bytes);
  if (!report.judged && report.main_loop && report.main_loop->iterations > 0) {
    const double each_s = report.main_loop->seconds / static_cast<double>(report.main_loop->iterations);
    text += fmt::format("; the main loop made {} of {}", counted(report.main_loop->iterations, "iteration"),
                        seconds_text(each_s));
    if (report.window && report.window->slowdown > 0)
      text += fmt::format(" ({} undisturbed)", seconds_text(each_s / report.window->slowdown));
  }
  if (report.judged && report.profile && idle_is_worth_a_word(*report.profile))
    text += fmt::format("; the GPU was idle for {} ({})", seconds_text(report.profile->idle->idle_s),
                        percent_text(100 * report.profile->idle->idle_s / report.profile->idle->phase_s));
  double runs = 0;
  for (const ReportStage& stage : report.stages) runs += stage.overhead;
  if (runs > 0 && report.judged)
    text += fmt::format("; all runs together took as long as {:.1f} plain runs", runs);
  return text;
}

}  // namespace diogenes
