// What values of options are good. In: a value's text. Out: as CLI11 has it, "" or what is wrong with it, in words that a person
// can read.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/findings/problem_kinds.h"
#include "ffm/plan.h"
#include "views/shared/context_tree.h"
#include "views/shared/phrases.h"

namespace diogenes::launcher {

inline CLI::Validator in_range(double above, double up_to, const char* sentence) {
  auto check = [=](const std::string& text) {
    double value = 0;
    bool good = CLI::detail::lexical_cast(text, value) && value > above && value <= up_to;
    return good ? std::string() : fmt::format("{} {}", text, sentence);
  };
  return {check, ""};
}
inline const CLI::Validator kPositive = in_range(0, 1e9, "is not a number above 0");
inline const CLI::Validator kOverhead = in_range(1.1 - 1e-9, 1e6, "is not a number of 1.1 or more");
inline const CLI::Validator kShare = in_range(1e-6, 0.9, "is not a share from 0.000001 to 0.9");
inline const CLI::Validator kPercent = in_range(-1e-12, 100, "is not a percentage from 0 to 100");

inline constexpr uint64_t kLeastTrace = uint64_t{1} << 20;

// "500M": bytes, or with K, M, G or T so many KiB, MiB, GiB, TiB. Nothing for anything else.
inline std::optional<uint64_t> bytes_of(const std::string& text) {
  uint64_t number = 0;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  constexpr std::string_view kUnits = "KMGT";
  if (wrong != std::errc{} || unit.size() > 1) return {};
  const size_t power = unit.empty() ? 0 : kUnits.find(unit.front()) + 1;  // npos + 1 is 0
  if (!unit.empty() && power == 0) return {};
  if (number > UINT64_MAX >> (10 * power)) return {};
  return number << (10 * power);
}
inline const CLI::Validator kSize = {[](const std::string& text) {
                                       return bytes_of(text).value_or(0) >= kLeastTrace
                                                  ? std::string()
                                                  : text + " is not a size of 1M or more (500M, 2G)";
                                     },
                                     ""};

inline const CLI::Validator kAnySize = {
    [](const std::string& text) {
      return bytes_of(text) ? std::string() : text + " is not a size (500M, 2G; 0: nothing)";
    },
    ""};

inline const CLI::Validator kRangeName = {
    [](const std::string& text) {
      return text.empty() || text.size() > kMostRegionBytes
                 ? fmt::format("the name of an NVTX range has 1 to {} bytes, and not {}", kMostRegionBytes,
                               text.size())
                 : std::string();
    },
    ""};

// As reports print it ("needless wait"), or as files have it.
inline const CLI::Validator kKind(
    [](std::string& text) -> std::string {
      std::string known;
      for (const std::string& name : kind_names()) {
        if (text == name || text == kind_phrase(name)) {
          text = name;
          return "";
        }
        known += (known.empty() ? "'" : ", '") + kind_phrase(name) + "'";
      }
      return "there is no kind '" + text + "'; the kinds are " + known;
    },
    "");

inline const CLI::Validator kTreeColumn(
    [](const std::string& text) -> std::string {
      if (tree_column_named(text)) return "";
      std::string known;
      for (const TreeColumn column : all_tree_columns())
        known += (known.empty() ? "" : ", ") + std::string(name_of(column));
      return "there is no column '" + text + "'; the columns are " + known;
    },
    "");

}  // namespace diogenes::launcher
