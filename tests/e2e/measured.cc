#include "measured.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace diogenes::e2e {
namespace {

using nlohmann::json;

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

json parsed(const std::string& text) { return json::parse(text, nullptr, false); }

// The cache is the build's own: what discovery finds is kept between tests, and the user's is left alone.
std::vector<std::string> environment_of_tool() { return {"XDG_CACHE_HOME=" + built("e2e-cache")}; }

void compare(std::vector<std::string>& result, const std::string& what, const std::string& alone,
             const std::string& measured) {
  if (alone != measured) result.push_back(what + " was:\n" + alone + "\nand is, measured:\n" + measured);
}

}  // namespace

std::string built(const std::string& name) { return std::string(DIOGENES_TOP) + "/" + name; }

bench::ProcessRun run_alone(const std::vector<std::string>& command, const std::string& input) {
  return bench::run_process(command,
                            {.environment = {"LD_LIBRARY_PATH=" + built("lib/simulated")}, .input = input});
}

Measured run_measured(const std::vector<std::string>& command, const std::string& input,
                      const std::function<void(const std::string&)>& look, const std::string& max_overhead,
                      const std::vector<std::string>& options) {
  const bench::TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes", report = folder.path() / "report.txt";
  std::vector<std::string> run = {
      built("bin/diogenes"), "run",      "--driver", "simulated", "--max-overhead",
      max_overhead,          "--output", session,    "--report",  report};
  run.insert(run.end(), options.begin(), options.end());
  run.emplace_back("--");
  run.insert(run.end(), command.begin(), command.end());
  Measured result;
  result.run =
      bench::run_process(run, {.environment = environment_of_tool(), .input = input, .limit_s = 180});
  result.session = parsed(contents(session + "/session.json"));
  result.report_text = contents(report);
  const auto exported = bench::run_process({built("bin/diogenes"), "export", session, "--format", "json"},
                                           {.environment = environment_of_tool()});
  result.report = parsed(exported.output);
  result.export_errors = exported.errors;
  if (look) look(session);
  return result;
}

std::string text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> changes(const bench::ProcessRun& alone, const Measured& measured) {
  std::vector<std::string> result;
  if (measured.run.timed_out) result.push_back("diogenes run did not come to an end");
  compare(result, "exit status", std::to_string(alone.exit_status), std::to_string(measured.run.exit_status));
  compare(result, "output", alone.output, measured.run.output);
  if (measured.run.errors.find(alone.errors) == std::string::npos)
    compare(result, "stderr", alone.errors, measured.run.errors);
  if (!measured.session.is_object()) {
    result.push_back("no session.json was written; diogenes said:\n" + measured.run.errors);
    return result;
  }
  for (const auto& run : measured.session.value("runs", json::array())) {
    const std::string name = "run '" + run.value("name", "") + "'";
    compare(result, "exit status of " + name, std::to_string(alone.exit_status),
            std::to_string(run.value("exit_status", -1)));
    if (const std::string difference = run.value("output_difference", "unknown"); !difference.empty())
      result.push_back(name + ": " + difference);
  }
  return result;
}

}  // namespace diogenes::e2e
