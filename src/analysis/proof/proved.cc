#include "analysis/proof/proved.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace diogenes {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "diogenes-proved/4";

Json counts_json(const std::vector<std::pair<std::string, uint64_t>>& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}

Json correction_json(const ProvedCorrection& one) {
  return {{"id", one.id},
          {"keys", one.keys},
          {"expected_s", one.expected_s},
          {"expected_range_s", {one.low_s, one.high_s}},
          {"up_to", one.up_to},
          {"proved_s", one.proved_s},
          {"error_s", one.error_s},
          {"differences_s", one.differences_s},
          {"calls", one.calls},
          {"applied", one.applied},
          {"touched", one.touched},
          {"not_applied", counts_json(one.not_applied)},
          {"used", counts_json(one.used)},
          {"awaited_s", one.awaited_s},
          {"correcting_s", one.correcting_s},
          {"looked_s", one.looked_s},
          {"other_content", one.other_content},
          {"ordered", one.ordered},
          {"results_equal", one.difference.empty()},
          {"difference", one.difference}};
}

// Reads an object's members; remembers the first that is missing or of another kind.
class JsonMembers {
 public:
  JsonMembers(const Json& object, std::string& wrong) : object_(object), wrong_(wrong) {
    if (!object.is_object()) fail("an object");
  }
  void take(const char* key, double& value) {
    if (const Json* found = at(key, &Json::is_number)) value = found->get<double>();
    if (!std::isfinite(value)) fail(key);
  }
  void take(const char* key, uint64_t& value) {
    if (const Json* found = at(key, &Json::is_number_unsigned)) value = found->get<uint64_t>();
  }
  void take(const char* key, int64_t& value) {
    if (const Json* found = at(key, &Json::is_number_integer)) value = found->get<int64_t>();
  }
  void take(const char* key, bool& value) {
    if (const Json* found = at(key, &Json::is_boolean)) value = found->get<bool>();
  }
  void take(const char* key, std::string& value) {
    if (const Json* found = at(key, &Json::is_string)) value = found->get<std::string>();
  }
  void take(const char* key, std::vector<std::string>& values) {
    for (const Json& item : list(key))
      item.is_string() ? values.push_back(item.get<std::string>()) : fail(key);
  }
  void take(const char* key, std::vector<double>& values) {
    for (const Json& item : list(key)) item.is_number() ? values.push_back(item.get<double>()) : fail(key);
  }
  void take(const char* key, std::vector<std::pair<std::string, uint64_t>>& counts) {
    const Json* found = at(key, &Json::is_object);
    if (!found) return;
    for (const auto& [name, count] : found->items()) {
      if (!count.is_number_unsigned()) return fail(key);
      counts.emplace_back(name, count.get<uint64_t>());
    }
  }
  const Json& list(const char* key) {
    static const Json kEmpty = Json::array();
    const Json* found = at(key, &Json::is_array);
    return found ? *found : kEmpty;
  }
  template <typename Value>
  void fail(const Value& what) {
    if (wrong_.empty()) wrong_ = what;
  }

 private:
  const Json* at(const char* key, bool (Json::*is)() const noexcept) {
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    if (found != object_.end() && ((*found).*is)()) return &*found;
    fail(key);
    return nullptr;
  }

  const Json& object_;
  std::string& wrong_;
};

ProvedCorrection correction_from(const Json& object, std::string& wrong) {
  ProvedCorrection one;
  JsonMembers members(object, wrong);
  bool equal = false;
  std::vector<double> range;
  members.take("id", one.id);
  members.take("keys", one.keys);
  members.take("expected_s", one.expected_s);
  members.take("expected_range_s", range);
  members.take("up_to", one.up_to);
  members.take("proved_s", one.proved_s);
  members.take("error_s", one.error_s);
  members.take("differences_s", one.differences_s);
  members.take("calls", one.calls);
  members.take("applied", one.applied);
  members.take("touched", one.touched);
  members.take("not_applied", one.not_applied);
  members.take("used", one.used);
  members.take("awaited_s", one.awaited_s);
  members.take("correcting_s", one.correcting_s);
  members.take("looked_s", one.looked_s);
  members.take("other_content", one.other_content);
  members.take("ordered", one.ordered);
  members.take("results_equal", equal);
  members.take("difference", one.difference);
  if (range.size() == 2)
    one.low_s = range[0], one.high_s = range[1];
  else
    members.fail("expected_range_s");
  if (equal != one.difference.empty()) members.fail("results_equal");
  if (one.applied > one.calls) members.fail("applied");
  if (one.error_s < 0) members.fail("error_s");
  return one;
}

}  // namespace

void keep_proved(const ProvedSession& before, ProvedSession& proved) {
  if (before.session_started_ns != proved.session_started_ns || before.model != proved.model ||
      before.from_first_call != proved.from_first_call)
    return;
  const auto is_new = [&](const ProvedCorrection& old) {
    return std::any_of(proved.corrections.begin(), proved.corrections.end(),
                       [&](const ProvedCorrection& one) {
                         return one.id.empty() == old.id.empty() && (one.id.empty() || one.keys == old.keys);
                       });
  };
  std::vector<ProvedCorrection> kept;
  std::copy_if(before.corrections.begin(), before.corrections.end(), std::back_inserter(kept),
               [&](const ProvedCorrection& old) { return !is_new(old); });
  proved.corrections.insert(proved.corrections.end(), kept.begin(), kept.end());
  for (const std::string& sentence : before.left_out)
    if (!contains(proved.left_out, sentence)) proved.left_out.push_back(sentence);
}

std::string proved_json(const ProvedSession& proved) {
  Json corrections = Json::array();
  for (const ProvedCorrection& one : proved.corrections) corrections.push_back(correction_json(one));
  const Json all = {{"schema", kSchema},
                    {"session_started_ns", proved.session_started_ns},
                    {"model", proved.model},
                    {"runtime_s", proved.runtime_s},
                    {"own_cost_s", proved.own_cost_s},
                    {"own_cost_error_s", proved.own_cost_error_s},
                    {"from_first_call", proved.from_first_call},
                    {"pairs", proved.pairs},
                    {"corrections", corrections},
                    {"left_out", proved.left_out}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ProvedSession> proved_from_json(std::string_view text) {
  const Json all = Json::parse(text, nullptr, false);
  if (all.is_discarded()) return error("is not complete, or no JSON");
  std::string wrong, schema;
  ProvedSession proved;
  JsonMembers members(all, wrong);
  members.take("schema", schema);
  if (schema != kSchema) return error("is not of the schema %s", kSchema);
  members.take("session_started_ns", proved.session_started_ns);
  members.take("model", proved.model);
  members.take("runtime_s", proved.runtime_s);
  members.take("own_cost_s", proved.own_cost_s);
  members.take("own_cost_error_s", proved.own_cost_error_s);
  members.take("from_first_call", proved.from_first_call);
  members.take("pairs", proved.pairs);
  members.take("left_out", proved.left_out);
  for (const Json& one : members.list("corrections"))
    proved.corrections.push_back(correction_from(one, wrong));
  if (proved.pairs == 0) members.fail("pairs");
  if (!wrong.empty()) return error("has no %s that can be read", wrong.c_str());
  return proved;
}

// Standard errors within which the mean of so many values lies in 95 of 100 cases: Student's t, two-sided.
static double errors_of_95_percent(size_t values) {
  constexpr double kByFreedom[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  if (values < 2) return 0;
  const size_t freedom = values - 1;
  return freedom <= std::size(kByFreedom) ? kByFreedom[freedom - 1]
                                          : 1.96 + 2.4 / static_cast<double>(freedom);  // to within 0.03
}

bool meets_expected(const ProvedCorrection& one, double hidden_s, double expected_s, double low_s,
                    double high_s) {
  const double error_s = one.error_s / 2 * errors_of_95_percent(one.differences_s.size());
  return one.proved_s + error_s + std::max(hidden_s, 0.0) >= std::min(low_s, expected_s) &&
         one.proved_s - error_s <= std::max(high_s, expected_s);
}

bool is_too_dear(const ProvedCorrection& one) {
  return one.applied > 0 && one.proved_s <= 0 && one.correcting_s >= one.expected_s;
}

std::vector<WithdrawnKey> withdrawn_keys(const ProvedSession& proved) {
  std::set<std::string> equal;
  std::vector<const ProvedCorrection*> different;
  std::set<std::string> used;
  for (const ProvedCorrection& one : proved.corrections) {
    for (const auto& [key, times] : one.used) used.insert(key);
    if (!one.difference.empty())
      different.push_back(&one);
    else if (one.applied > 0)
      equal.insert(one.keys.begin(), one.keys.end());
  }
  std::stable_sort(different.begin(), different.end(),
                   [](const auto* a, const auto* b) { return a->keys.size() < b->keys.size(); });
  std::vector<std::string> keys;
  std::vector<WithdrawnKey> result;
  for (const std::string& key : used) {
    keys.push_back(key);
    result.push_back(
        {key, "when it was corrected, the program used what it waits for before any other wait"});
  }
  for (const ProvedCorrection* one : different) {
    const bool alone = one->keys.size() == 1;
    if (!alone && std::any_of(one->keys.begin(), one->keys.end(),
                              [&](const std::string& key) { return contains(keys, key); }))
      continue;
    for (const std::string& key : one->keys) {
      if (contains(keys, key) || (!alone && equal.contains(key))) continue;
      keys.push_back(key);
      result.push_back({key, "correcting it changed the results (" + one->difference + ")"});
    }
  }
  return result;
}

}  // namespace diogenes
