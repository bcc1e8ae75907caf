#include "analysis/necessity/testing/event_text.h"

#include <cstdio>

namespace diogenes::necessity::testing {
namespace {

const char* name_of(EventKind kind) {
  static constexpr const char* kNames[] = {
      "begin",     "work",      "record",    "wait_mark",   "covers",        "query",
      "uses_mark", "allocates", "releases",  "end",         "watch",         "touch",
      "unwatch",   "unwatched", "release",   "acquire",     "sleep",         "thread_ends",
      "peer",      "ends",      "mark_ends", "stream_ends", "window_begins", "knows"};
  return kNames[static_cast<size_t>(kind)];
}

template <typename Number>
std::string numbered(char letter, Number number) {
  return number.valid() ? std::string(" ") + letter + std::to_string(number.value) : std::string();
}

std::string text_of(MemoryNumber memory, AddressRange range) {
  if (!memory.valid()) return "any";
  char text[96];
  snprintf(text, sizeof text, "m%u 0x%lx+%lu", memory.value, range.begin, range.size());
  return text;
}

std::string text_of(const Access& access) {
  std::string text = " [" + text_of(access.memory, access.range) + (access.writes ? " w" : " r");
  if (access.whole) text += " whole";
  if (access.on_host) text += " host";
  if (access.argument) text += " argument";
  return text + "]";
}

std::string list(const char* name, std::span<const StreamNumber> streams) {
  std::string text;
  for (StreamNumber stream : streams) text += (text.empty() ? "s" : ",s") + std::to_string(stream.value);
  return text.empty() ? text : std::string(" ") + name + "=" + text;
}

void add_flags(const Event& event, std::string& text) {
  auto flag = [&text](bool set, const char* name) {
    if (set) text += std::string(" ") + name;
  };
  switch (event.kind) {
    case EventKind::work:
      for (const Access& access : event.accesses) text += text_of(access);
      text += list("behind", event.streams);
      flag(event.gate, "gate");
      break;
    case EventKind::covers:
    case EventKind::query:
      text += list("certain", event.streams) + list("may", event.may_streams);
      flag(event.may_cover == MayCover::everything, "may=all");
      flag(event.covers_own_work, "own");
      flag(event.kind == EventKind::query && !event.succeeded, "not_ready");
      if (event.kind == EventKind::query) break;
      flag(event.wait.implicit, "implicit");
      flag(!event.wait.documented, "undocumented");
      flag(event.wait.own_work, "for_itself");
      break;
    case EventKind::record_mark:
      flag(event.doubtful, "doubtful");
      flag(event.marker.valid(), "timed");
      break;
    case EventKind::releases:
      flag(event.lives_on, "lives_on");
      flag(event.in_reach, "in_reach");
      flag(event.deferrable, "deferrable");
      break;
    case EventKind::watch:
      flag(event.read_only, "read_only");
      break;
    case EventKind::touch:
    case EventKind::peer:
      flag(event.writes, "writes");
      break;
    case EventKind::unwatch:
      flag(event.lost, "lost");
      break;
    case EventKind::acquire:
      flag(event.forced, "forced");
      break;
    default:
      break;
  }
}

}  // namespace

std::string text_of(const Event& event) {
  std::string text = std::to_string(event.at_ns) + " " + name_of(event.kind) + numbered('t', event.thread) +
                     numbered('s', event.stream) + numbered('e', event.mark) + numbered('o', event.object) +
                     numbered('w', event.watch);
  if (event.memory.valid()) text += " " + text_of(event.memory, event.range);
  add_flags(event, text);
  if (event.blind != 0) {
    char blind[32];
    snprintf(blind, sizeof blind, " blind=0x%x", event.blind);
    text += blind;
  }
  return text;
}

}  // namespace diogenes::necessity::testing
