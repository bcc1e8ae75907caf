#include "launcher/installed/known_hooks.h"

#include <unistd.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "driver/hooking/image.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOwnProgram = "/proc/self/exe";

// What comes behind it: `text` bytes of JSON, then the hooks.
struct Header {
  char magic[8] = {'D', 'I', 'O', 'H', 'O', 'O', 'K', '1'};
  uint64_t checksum = 0;  // of the rest, this header's too
  uint32_t text = 0, waits = 0, all = 0, reserved = 0;
};

std::string text_of(const BuildId& id) {
  char text[41];
  to_hex(id, text);
  return text;
}

// "": no such file, since one of the two has no build-id.
fs::path file_for(const fs::path& cache, const BuildId& driver) {
  const Result<BuildId> own = build_id_of(kOwnProgram);
  if (cache.empty() || driver.length == 0 || !own || own->length == 0) return {};
  return cache / (text_of(driver) + "." + text_of(*own) + ".hooks");
}

uint64_t checksum_of(std::string bytes) {
  memset(bytes.data() + offsetof(Header, checksum), 0, sizeof Header::checksum);
  return XXH3_64bits(bytes.data(), bytes.size());
}

json text_of(const DriverHooks& hooks) {
  json waits = json::array();
  for (const WaitFunction& wait : hooks.wait_functions)
    waits.push_back({wait.offset, wait.agreed, wait.known, wait.queue});
  return {{"version", hooks.version},
          {"waits", waits},
          {"problems", hooks.problems},
          {"evidence", hooks.evidence_json}};
}

void read_text(const json& text, DriverHooks& hooks) {
  hooks.version = text.at("version");
  hooks.problems = text.at("problems").get<std::vector<std::string>>();
  hooks.evidence_json = text.at("evidence");
  for (const json& wait : text.at("waits"))
    hooks.wait_functions.push_back({wait.at(0), wait.at(1), wait.at(2), wait.at(3)});
}

}  // namespace

std::optional<DriverHooks> read_known_hooks(const fs::path& cache, const ChosenDriver& driver) {
  const Result<BuildId> id = build_id_of(driver.library);
  const fs::path path = id ? file_for(cache, *id) : fs::path();
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Header header, expected;
  if (bytes.size() < sizeof header) return std::nullopt;
  memcpy(&header, bytes.data(), sizeof header);
  const uint64_t sites = uint64_t{header.waits} + header.all;
  if (memcmp(header.magic, expected.magic, sizeof header.magic) != 0 ||
      bytes.size() != sizeof header + header.text + sites * sizeof(HookSite) ||
      header.checksum != checksum_of(bytes))
    return std::nullopt;
  DriverHooks result{.driver = driver, .build_id = *id, .build_id_text = text_of(*id), .from_cache = true};
  const char* at = bytes.data() + sizeof header;
  const json text = json::parse(at, at + header.text, nullptr, false);
  try {
    read_text(text, result);
  } catch (const json::exception&) {
    return std::nullopt;
  }
  at += header.text;
  for (auto [hooks, count] : {std::pair(&result.waits, header.waits), std::pair(&result.all, header.all)}) {
    hooks->resize(count);
    memcpy(hooks->data(), at, count * sizeof(HookSite));
    at += count * sizeof(HookSite);
  }
  return result;
}

void keep_hooks(const fs::path& cache, const DriverHooks& hooks) {
  const fs::path path = file_for(cache, hooks.build_id);
  if (path.empty() || hooks.wait_functions.empty()) return;
  std::error_code ignored;
  fs::create_directories(cache, ignored);
  // Those of other builds of this program are of no use any more.
  for (fs::directory_iterator entry(cache, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code failed;
    const std::string name = entry->path().filename().string();
    if (name.starts_with(hooks.build_id_text + ".") && name.ends_with(".hooks"))
      fs::remove(entry->path(), failed);
  }
  const std::string text = text_of(hooks).dump(-1, ' ', false, json::error_handler_t::replace);
  Header header{.text = static_cast<uint32_t>(text.size()),
                .waits = static_cast<uint32_t>(hooks.waits.size()),
                .all = static_cast<uint32_t>(hooks.all.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += text;
  for (const std::vector<HookSite>* sites : {&hooks.waits, &hooks.all})
    bytes.append(reinterpret_cast<const char*>(sites->data()), sites->size() * sizeof(HookSite));
  header.checksum = checksum_of(bytes);
  memcpy(bytes.data(), &header, sizeof header);
  const fs::path temporary = path.string() + "." + std::to_string(getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << bytes;
  file.close();
  if (file) fs::rename(temporary, path, ignored);
  if (!file || ignored) fs::remove(temporary, ignored);
}

}  // namespace diogenes::launcher
