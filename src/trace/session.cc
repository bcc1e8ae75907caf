#include "trace/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace diogenes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFile = "session.json";

// The value at `key`, if it is there and of T's kind; else `value` stays as it is.
template <typename T>
void take(const json& object, const char* key, T& value) {
  auto found = object.find(key);
  if (found == object.end()) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) value = found->get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (found->is_number()) value = found->get<T>();
  } else if constexpr (std::is_integral_v<T>) {
    if (found->is_number_integer()) value = found->get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) value = found->get<std::string>();
  } else {
    static_assert(std::is_same_v<T, std::vector<std::string>>);
    if (!found->is_array()) return;
    value.clear();
    for (const auto& item : *found)
      if (item.is_string()) value.push_back(item.get<std::string>());
  }
}

const json& object_at(const json& object, const char* key) {
  static const json kEmpty = json::object();
  auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kEmpty;
}

const json& array_at(const json& object, const char* key) {
  static const json kEmpty = json::array();
  auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

Session from_json(const json& object) {
  Session session;
  take(object, "schema", session.schema);
  take(object, "tool_version", session.tool_version);
  take(object, "command", session.command);
  take(object, "working_folder", session.working_folder);
  take(object, "machine", session.machine);
  take(object, "started_at", session.started_at);
  take(object, "started_ns", session.started_ns);
  take(object, "simulated", session.simulated);
  take(object, "driver_path", session.driver_path);
  take(object, "driver_build_id", session.driver_build_id);
  take(object, "driver_version", session.driver_version);
  const json& request = object_at(object, "request");
  take(request, "plain_run", session.request.plain_run);
  take(request, "prepare", session.request.prepare);
  take(request, "timeout_s", session.request.timeout_s);
  take(request, "gpu_times", session.request.gpu_times);
  take(request, "samples", session.request.samples);
  take(request, "repeat", session.request.repeat);
  take(request, "follow_values", session.request.follow_values);
  take(request, "max_trace_bytes", session.request.max_trace_bytes);
  take(request, "max_overhead", session.request.max_overhead);
  take(request, "region", session.request.region);
  take(request, "profile", session.request.profile);
  const json& owners = object_at(object, "owners");
  take(owners, "own", session.owners.own);
  take(owners, "library", session.owners.library);
  const json& streams = object_at(object, "streams");
  take(streams, "input", session.streams.input);
  take(streams, "input_begin", session.streams.input_begin);
  take(streams, "joined", session.streams.joined);
  take(streams, "terminal", session.streams.terminal);
  take(object, "finished", session.finished);
  take(object, "threshold_percent", session.threshold_percent);
  take(object, "exit_status", session.exit_status);
  take(object, "notices", session.notices);
  for (const auto& item : array_at(object, "environment"))
    if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string())
      session.environment.emplace_back(item[0].get<std::string>(), item[1].get<std::string>());
  for (const auto& item : array_at(object, "wait_functions")) {
    if (!item.is_object()) continue;
    WaitFunction& function = session.wait_functions.emplace_back();
    take(item, "offset", function.offset);
    take(item, "agreed", function.agreed);
    take(item, "known", function.known);
    take(item, "queue", function.queue);
  }
  for (const auto& item : array_at(object, "runs")) {
    if (!item.is_object()) continue;
    StageRun& run = session.runs.emplace_back();
    take(item, "name", run.name);
    take(item, "folder", run.folder);
    take(item, "state", run.state);
    take(item, "runtime_s", run.runtime_s);
    take(item, "cpu_s", run.cpu_s);
    take(item, "exit_status", run.exit_status);
    take(item, "signal", run.signal);
    take(item, "others_busy", run.others_busy);
    take(item, "processors", run.processors);
    take(item, "output_difference", run.output_difference);
    take(item, "repeat", run.repeat);
  }
  for (const auto& item : array_at(object, "sleep_costs")) {
    if (!item.is_object()) continue;
    SleepCost& cost = session.sleep_costs.emplace_back();
    take(item, "slept_ns", cost.slept);
    take(item, "wakes_after_ns", cost.wakes_after);
    take(item, "waker_pays_ns", cost.waker_pays);
  }
  for (const auto& item : array_at(object, "gpu_code")) {
    if (!item.is_object()) continue;
    GpuCodeRecord& record = session.gpu_code.emplace_back();
    take(item, "file", record.file);
    take(item, "native", record.native);
    take(item, "compiled", record.compiled);
    take(item, "neither", record.neither);
    take(item, "built_for", record.built_for);
  }
  return session;
}

json to_json(const Session& session) {
  json wait_functions = json::array(), runs = json::array(), environment = json::array(),
       gpu_code = json::array(), sleep_costs = json::array();
  for (const SleepCost& cost : session.sleep_costs)
    sleep_costs.push_back(
        {{"slept_ns", cost.slept}, {"wakes_after_ns", cost.wakes_after}, {"waker_pays_ns", cost.waker_pays}});
  for (const auto& record : session.gpu_code)
    gpu_code.push_back({{"file", record.file},
                        {"native", record.native},
                        {"compiled", record.compiled},
                        {"neither", record.neither},
                        {"built_for", record.built_for}});
  for (const auto& [name, value] : session.environment) environment.push_back(json::array({name, value}));
  for (const auto& function : session.wait_functions)
    wait_functions.push_back({{"offset", function.offset},
                              {"agreed", function.agreed},
                              {"known", function.known},
                              {"queue", function.queue}});
  for (const auto& run : session.runs)
    runs.push_back({{"name", run.name},
                    {"folder", run.folder},
                    {"state", run.state},
                    {"runtime_s", run.runtime_s},
                    {"cpu_s", run.cpu_s},
                    {"exit_status", run.exit_status},
                    {"signal", run.signal},
                    {"others_busy", run.others_busy},
                    {"processors", run.processors},
                    {"output_difference", run.output_difference},
                    {"repeat", run.repeat}});
  return {{"schema", session.schema},
          {"tool_version", session.tool_version},
          {"command", session.command},
          {"working_folder", session.working_folder},
          {"environment", environment},
          {"machine", session.machine},
          {"started_at", session.started_at},
          {"started_ns", session.started_ns},
          {"simulated", session.simulated},
          {"driver_path", session.driver_path},
          {"driver_build_id", session.driver_build_id},
          {"driver_version", session.driver_version},
          {"wait_functions", wait_functions},
          {"request",
           {{"plain_run", session.request.plain_run},
            {"prepare", session.request.prepare},
            {"timeout_s", session.request.timeout_s},
            {"gpu_times", session.request.gpu_times},
            {"samples", session.request.samples},
            {"repeat", session.request.repeat},
            {"follow_values", session.request.follow_values},
            {"max_trace_bytes", session.request.max_trace_bytes},
            {"max_overhead", session.request.max_overhead},
            {"region", session.request.region},
            {"profile", session.request.profile}}},
          {"owners", {{"own", session.owners.own}, {"library", session.owners.library}}},
          {"streams",
           {{"input", session.streams.input},
            {"input_begin", session.streams.input_begin},
            {"joined", session.streams.joined},
            {"terminal", session.streams.terminal}}},
          {"runs", runs},
          {"gpu_code", gpu_code},
          {"sleep_costs", sleep_costs},
          {"finished", session.finished},
          {"threshold_percent", session.threshold_percent},
          {"exit_status", session.exit_status},
          {"notices", session.notices}};
}

Status write_all(const fs::path& path, const std::string& text) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return error("%s: %s; is the session's folder writable?", path.c_str(), strerror(errno));
  size_t written = 0;
  while (written < text.size()) {
    ssize_t count = write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      int cause = errno;
      close(descriptor);
      return error("%s: %s; is the disk full?", path.c_str(), strerror(cause));
    }
    written += static_cast<size_t>(count);
  }
  bool synced = fsync(descriptor) == 0 || errno == EINVAL;  // EINVAL: a file system without it
  int cause = errno;
  if (close(descriptor) != 0 || !synced)
    return error("%s: %s; is the disk full?", path.c_str(), strerror(cause));
  return Done{};
}

bool is_closed_to_us(const fs::path& file) {
  return access(file.c_str(), R_OK) != 0 && (errno == EACCES || errno == EPERM);
}

}  // namespace

std::string run_name(Stage stage, int number) {
  std::string name = stage_name(stage);
  return number == 1 ? name : name + "-" + std::to_string(number);
}

Result<Session> read_session(const fs::path& folder) {
  fs::path path = folder / kFile;
  std::error_code failed;
  if (is_closed_to_us(path))
    return error("%s may not be read: permission denied; its owner can allow it with chmod -R a+rX %s",
                 folder.c_str(), folder.c_str());
  if (!fs::is_directory(folder, failed))
    return error("%s: no such folder; name a session (APP.N.diogenes)", folder.c_str());
  std::ifstream file(path, std::ios::binary);
  if (!file) return error("%s: not a session: it has no readable session.json", folder.c_str());
  json object = json::parse(file, nullptr, false);
  if (object.is_discarded()) return error("%s: not valid JSON; the session is damaged", path.c_str());
  if (!object.is_object()) return error("%s: holds no object; the session is damaged", path.c_str());
  auto schema = object.find("schema");
  if (schema == object.end() || !schema->is_string() ||
      !schema->get<std::string>().starts_with("diogenes-session/"))
    return error("%s: its schema is not diogenes-session/1; this is no session of this tool", path.c_str());
  if (*schema != "diogenes-session/1")
    return error("%s: schema %.40s, this tool reads diogenes-session/1; use the tool that wrote it",
                 path.c_str(), schema->get<std::string>().c_str());
  return from_json(object);
}

Status write_session(const fs::path& folder, const Session& session) {
  // Invalid UTF-8 in a command line or a path must not stop the tool: it is replaced.
  std::string text = to_json(session).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  fs::path path = folder / kFile;
  fs::path fresh = folder / (std::string(kFile) + ".new");
  if (auto status = write_all(fresh, text); !status) return status.error();
  if (rename(fresh.c_str(), path.c_str()) != 0) return error("%s: %s", path.c_str(), strerror(errno));
  return Done{};
}

Result<fs::path> newest_session(const fs::path& dir) {
  std::error_code failed;
  fs::path newest, closed;
  int64_t latest = 0;
  fs::directory_iterator entries(dir, failed);
  if (failed) return error("%s: %s", dir.c_str(), failed.message().c_str());
  for (const auto& entry : entries) {
    if (entry.path().extension() != ".diogenes" || !entry.is_directory(failed)) continue;
    auto session = read_session(entry.path());
    if (!session && is_closed_to_us(entry.path() / kFile)) closed = entry.path();
    if (!session) continue;
    bool later = session->started_ns > latest ||
                 (session->started_ns == latest && entry.path().filename() > newest.filename());
    if (newest.empty() || later) {
      newest = entry.path();
      latest = session->started_ns;
    }
  }
  if (newest.empty() && !closed.empty()) return read_session(closed).error();
  if (newest.empty())
    return error("%s: no session here; make one with: diogenes run -- COMMAND, or name one", dir.c_str());
  return newest;
}

}  // namespace diogenes
