#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "views/exports/exports.h"
#include "views/testing/sample_profile.h"
#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

using nlohmann::json;

// The part of JSON Schema that docs/report-schema.json uses. Beyond the standard: a key that the schema does
// not name is an error, so that none can be added without its sentence.
class Checker {
 public:
  explicit Checker(const json& schema) : root_(schema) {}
  std::vector<std::string> check(const json& value) {
    check(root_, value, "report");
    return errors_;
  }

 private:
  static bool is(const std::string& type, const json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }
  void check(const json& schema, const json& value, const std::string& where) {
    if (schema.contains("$ref"))
      return check(root_.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, where);
    const json& type = schema.at("type");
    bool fits = type.is_string()
                    ? is(type, value)
                    : std::any_of(type.begin(), type.end(), [&](const json& one) { return is(one, value); });
    if (!fits) return errors_.push_back(where + " is no " + type.dump() + ": " + value.dump());
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      errors_.push_back(where + " is none of " + schema["enum"].dump());
    if (schema.contains("minimum") && value.is_number() &&
        value.get<double>() < schema["minimum"].get<double>())
      errors_.push_back(where + " is too small");
    if (schema.contains("pattern") &&
        !std::regex_search(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
      errors_.push_back(where + " does not look like " + schema["pattern"].dump());
    if (value.is_object()) {
      for (auto& key : schema.at("required"))
        if (!value.contains(key)) errors_.push_back(where + " has no " + key.get<std::string>());
      for (auto& [key, member] : value.items()) {
        if (!schema["properties"].contains(key))
          errors_.push_back(where + "." + key + " is not in the schema");
        else
          check(schema["properties"][key], member, where + "." + key);
      }
    }
    if (value.is_array())
      for (size_t i = 0; i < value.size(); ++i)
        check(schema.at("items"), value[i], where + "[" + std::to_string(i) + "]");
  }
  const json& root_;
  std::vector<std::string> errors_;
};

json schema() {
  std::ifstream in(DIOGENES_REPORT_SCHEMA);
  return json::parse(in);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string result;
  for (auto& line : lines) result += line + "\n";
  return result;
}

TEST(Json, FollowsItsSchema) {
  json described = schema();
  for (const Report& report : {Report{}, empty_report(), als_report(), bare_report(), crowded_report(),
                               proved_report(), profiled_report(), contexts_report()})
    EXPECT_EQ(joined(Checker(described).check(json::parse(to_json(report)))), "");
}

TEST(Json, TheCheckFindsWhatIsWrong) {
  json described = schema();
  json good = json::parse(to_json(als_report()));
  auto errors = [&](auto change) {
    json bad = good;
    change(bad);
    return Checker(described).check(bad).size();
  };
  EXPECT_EQ(errors([](json&) {}), 0u);
  EXPECT_EQ(errors([](json& bad) { bad.erase("model"); }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["model"] = "guess"; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["problems"][0]["count"] = "many"; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["problems"][0]["stack"][0]["offset"] = "12"; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["problems"][0]["operation"] = nullptr; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["totals"]["new"] = 1; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["totals"]["transfers"] = -1; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["problems"][0]["where"]["owner"] = "nobody"; }), 1u);
  EXPECT_EQ(errors([](json& bad) { bad["required"][0].erase("up_to_s"); }), 1u);
}

TEST(Json, TheProfileIsATreeWithItsSums) {
  const json profile = json::parse(to_json(profiled_report()))["profile"];
  EXPECT_TRUE(json::parse(to_json(als_report()))["profile"].is_null());
  EXPECT_EQ(profile["work"][0]["id"], "K1");
  EXPECT_EQ(profile["work"][0]["shapes"][0]["grid"], json({64, 8, 1}));
  EXPECT_EQ(profile["work"][1]["kind"], "copy-to-device");
  EXPECT_TRUE(profile["contexts"][0]["parent"].is_null());
  const json& update = profile["contexts"][3];
  EXPECT_EQ(update["name"], "als::update_x(int)");
  EXPECT_EQ(update["parent"], 2);
  EXPECT_DOUBLE_EQ(update["inclusive"]["gpu_s"], 0.4);
  EXPECT_DOUBLE_EQ(update["gpu_importance"], 0.5);  // 0.4 s of 0.8 s
  EXPECT_FALSE(update["own"].contains("gpu_s"));
}

TEST(Json, InsideKernelsIsATreeOfPlaces) {
  const json profile = json::parse(to_json(contexts_report()))["profile"];
  const json &axpy = profile["work"][0]["inside"], &loop = axpy["nodes"][1], &norm = axpy["nodes"][5];
  EXPECT_EQ(axpy["hottest"], (json{1, 6}));
  EXPECT_EQ(loop["kind"], "loop");
  EXPECT_EQ(loop["line"], 12);
  EXPECT_EQ(loop["last_line"], 18);
  EXPECT_EQ(loop["share"], 0.62);
  EXPECT_EQ(loop["all"]["stalls"][0], (json{{"reason", "long_scoreboard"}, {"samples", 440.0}}));
  EXPECT_EQ(loop["what_if"]["half"]["seconds"], 0.1);
  EXPECT_EQ(norm["estimated"], true);
  EXPECT_EQ(norm["called_line"], 20);
  EXPECT_TRUE(profile["work"][2]["inside"].is_null());
  EXPECT_FALSE(profile["work"][1]["inside"]["why_no_lines"].is_null());
  EXPECT_EQ(profile["contexts"][15]["kind"], "gpu-loop");
  EXPECT_DOUBLE_EQ(profile["contexts"][15]["inclusive"]["gpu_s"], 0.186);  // 62% of 300 ms
}

// Every key of the schema has a sentence.
void expect_sentences(const json& node, const std::string& where) {
  if (!node.is_object()) return;
  if (node.contains("type")) {
    std::string text = node.value("description", "");
    EXPECT_TRUE(text.size() > 5 && text.back() == '.') << where << ": " << text;
  }
  for (auto& [key, child] : node.items())
    if (child.is_object()) expect_sentences(child, where + "/" + key);
}
TEST(Json, EveryKeyHasASentence) { expect_sentences(schema(), ""); }

TEST(Json, ToTheLetter) {
  json report = json::parse(to_json(als_report()));
  EXPECT_EQ(report["schema"], "diogenes-report/2");
  EXPECT_EQ(report["application"]["command"][4], "two words");
  EXPECT_EQ(report["driver"]["wait_functions"][0],
            (json{{"offset", "0x22bb00"}, {"agreed", 27}, {"known", 28}}));
  EXPECT_EQ(report["problems"][0]["api"], "cudaFree");
  EXPECT_EQ(report["problems"][1]["api"], nullptr);
  EXPECT_EQ(report["problems"][0]["first_use"], nullptr);
  EXPECT_EQ(report["problems"][0]["duplicate_of"], nullptr);
  EXPECT_EQ(report["problems"][1]["duplicate_of"]["stack"][0]["line"], 190);
  EXPECT_EQ(report["problems"][3]["first_use"]["after_s"], 0.00123);
  EXPECT_EQ(report["problems"][0]["count"], 500);
  EXPECT_EQ(report["processes"],
            json::parse(
                R"([{"rank": null, "pid": 4242, "host": "node7", "executable": "/home/me/als/build/als"}])"));
  EXPECT_EQ(report["problems"][3]["occurrences"],
            json::parse(R"([{"process": 0, "count": 500, "thread_count": 2,
      "threads": [{"thread": 2, "main": false, "count": 380}, {"thread": 0, "main": true, "count": 120}]}])"));
  EXPECT_EQ(report["problems"][0]["stack"][1]["inlined"], true);
  EXPECT_EQ(report["problems"][0]["stack"][1]["offset"], "0x1a30");
  EXPECT_EQ(report["groups"][0]["members"], (json{"P1", "P2"}));
  EXPECT_EQ(report["totals"]["transferred_bytes"], 4'000'000'000);
  EXPECT_EQ(report["stages"][2]["name"], "memory-tracing");
  EXPECT_EQ(report["complete"], true);
  EXPECT_EQ(report["coverage"]["not_judged"][0], (json{{"code", "small-range"}, {"count", 1}}));
  EXPECT_EQ(report["application"]["gpu_phase_s"], 0.95);
  EXPECT_EQ(report["application"]["gpu_in_use_s"], 0.9);
  EXPECT_EQ(report["problems"][0]["where"]["line"], 88);
  EXPECT_EQ(report["problems"][0]["where"]["column"], 3);
  EXPECT_EQ(report["problems"][0]["where"]["owner"], "application");
  EXPECT_EQ(report["problems"][0]["stack"][0]["file"], nullptr);  // unknown is null
  EXPECT_EQ(report["problems"][0]["stack"][0]["line"], nullptr);
  EXPECT_EQ(report["problems"][0]["via"], nullptr);
  EXPECT_EQ(report["problems"][1]["via"], "thrust::copy");
  EXPECT_EQ(report["problems"][0]["conditions"][0]["code"], "usual");
  EXPECT_EQ(report["problems"][0]["source"]["first_line"], 86);
  EXPECT_EQ(report["required"][0]["id"], "R1");
  EXPECT_EQ(report["required"][0]["up_to_range_s"], (json{0.17, 0.2}));
  EXPECT_EQ(report["required"][0]["calls"][1]["waits"], false);
  EXPECT_EQ(report["required_together"]["up_to_range_s"], (json{0.17, 0.2}));
  EXPECT_EQ(report["required"][0]["same_value"], (json{{"count", 480}, {"of", 500}}));
  EXPECT_EQ(report["notices"][0]["code"], "output-differs");
  json unfinished = json::parse(to_json(bare_report()));
  EXPECT_EQ(unfinished["complete"], false);
  EXPECT_EQ(unfinished["incomplete"].size(), 2u);
  EXPECT_EQ(unfinished["application"]["gpu_phase_s"], nullptr);
}

TEST(Json, StrangeTextAndFiguresStayValid) {
  Report report = bare_report();
  report.waited_s = std::numeric_limits<double>::quiet_NaN();
  report.runtime_s = std::numeric_limits<double>::infinity();
  report.transferred_bytes = std::numeric_limits<uint64_t>::max();
  json parsed = json::parse(to_json(report));
  EXPECT_EQ(parsed["totals"]["waited_s"], 0.0);
  EXPECT_EQ(parsed["totals"]["transferred_bytes"], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parsed["application"]["command"][2], "it's \xef\xbf\xbd");
}

}  // namespace
}  // namespace diogenes
