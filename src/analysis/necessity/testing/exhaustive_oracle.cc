#include "analysis/necessity/testing/exhaustive_oracle.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace diogenes::necessity::testing {
namespace {

struct StreamOperation {
  size_t event;
  EventSet done;
};

template <typename Map, typename Key>
auto* found(Map& map, const Key& key) {
  auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

bool overlap(const Access& access, MemoryNumber memory, AddressRange range) {
  return !access.memory.valid() || !memory.valid() ||
         (access.memory == memory && access.range.overlaps(range));
}

}  // namespace

Oracle::Oracle(const std::vector<Event>& events) : events_(events) {
  std::map<uint32_t, size_t> call, last;
  number_.resize(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    calls_.push_back(i);
    before_.push_back(kMostEvents);
    if (!event.thread.valid()) continue;
    if (auto* before = found(last, event.thread.value)) before_[i] = *before;
    last[event.thread.value] = i;
    if (event.kind == EventKind::call_begin) call[event.thread.value] = i;
    if (auto* begin = found(call, event.thread.value)) calls_[i] = *begin;
    if (event.kind == EventKind::call_end) call.erase(event.thread.value);
    if (event.kind == EventKind::covers) {
      number_[i] = synchronizations_.size();
      synchronizations_.push_back(i);
    }
  }
  const std::vector<bool> none(synchronizations_.size());
  solid_ = order(Level::solid, none);
  certain_ = order(Level::certain, none);
  lets_go_.resize(events.size());
  EventSet known_done;
  std::map<uint32_t, size_t> latest;
  for (size_t e = 0; e < events.size(); ++e) {
    done_before_.push_back(known_done);
    known_done |= certain_.cpu[e];
    if (events[e].kind == EventKind::work && events[e].gate) {
      for (const auto& [thread, event] : latest) lets_go_[e].push_back(event);  // it may go on from there
    }
    if (events[e].thread.valid()) latest[events[e].thread.value] = e;
    for (size_t g = 0; g < e; ++g) {
      if (events[g].kind != EventKind::work || !events[g].gate || known_done[g]) continue;
      if (events[e].thread.valid()) lets_go_[g].push_back(e);
    }
  }
  find_work_that_lets_go();
  possible_ = order(Level::possible, none);
  find_pairs();
}

// What a gate was given, and other work writes in no order with it.
void Oracle::find_work_that_lets_go() {
  let_go_by_.resize(events_.size());
  const auto gone = [&](const Access& access, size_t from, size_t until) {
    return std::any_of(events_.begin() + from, events_.begin() + until, [&](const Event& event) {
      return event.kind == EventKind::releases && access.memory.valid() && access.memory == event.memory &&
             event.range.contains(access.range);
    });
  };
  const auto writes_it = [&](size_t writer, size_t gate) {
    for (const Access& write : events_[writer].accesses)
      for (const Access& access : events_[gate].accesses)
        if (write.writes && overlap(write, access.memory, access.range) &&
            !gone(writer < gate ? write : access, std::min(writer, gate), std::max(writer, gate)))
          return true;
    return false;
  };
  for (size_t g = 0; g < events_.size(); ++g) {
    if (events_[g].kind != EventKind::work || !events_[g].gate) continue;
    for (size_t k = 0; k < events_.size(); ++k) {
      const size_t first = std::min(g, k), later = std::max(g, k);
      if (k == g || events_[k].kind != EventKind::work || events_[k].stream == events_[g].stream) continue;
      if (certain_.gpu[later][first] || !writes_it(k, g)) continue;
      let_go_by_[g].push_back({k, later});
    }
  }
}

Oracle::Order Oracle::order(Level level, const std::vector<bool>& removed,
                            const std::vector<bool>& orders) const {
  Order order;
  order.cpu.resize(events_.size());
  order.gpu.resize(events_.size());
  order.covered.resize(events_.size());
  order.marked.resize(events_.size());
  std::map<uint32_t, std::vector<StreamOperation>> streams;
  struct Mark {
    EventSet done;
    bool doubtful = false;
    size_t event = kMostEvents;
  };
  std::map<uint32_t, Mark> marks;
  std::map<uint32_t, std::vector<std::pair<uint32_t, EventSet>>> objects;  // by sequence
  std::map<std::pair<uint32_t, uint32_t>, EventSet> asked;                 // thread, stream
  std::map<uint32_t, EventSet> ordered;  // by thread: before what it gives the GPU
  auto of_stream = [&](StreamNumber stream, size_t before) {
    EventSet done;
    for (const StreamOperation& operation : streams[stream.value]) {
      if (operation.event < before) done |= operation.done;
    }
    return done;
  };
  auto everything = [&] {
    EventSet done;
    for (const auto& [stream, operations] : streams) {
      for (const StreamOperation& operation : operations) done |= operation.done;
    }
    return done;
  };
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    EventSet known;
    if (before_[i] != kMostEvents) known = order.cpu[before_[i]];
    const size_t call = call_of(i);
    switch (event.kind) {
      case EventKind::work: {
        EventSet done = known | of_stream(event.stream, i) | ordered[event.thread.value];
        for (StreamNumber other : event.streams) done |= of_stream(other, call);
        done.set(i);
        order.gpu[i] = done;
        streams[event.stream.value].push_back({i, done});
        break;
      }
      case EventKind::record_mark:
        order.gpu[i] = known | of_stream(event.stream, i) | ordered[event.thread.value];
        order.marked[i] = known | of_stream(event.stream, call);
        if (event.marker.valid()) order.gpu[i].set(i), order.marked[i].set(i);
        marks[event.mark.value] = {order.marked[i], event.doubtful, i};
        streams[event.stream.value].push_back({i, order.gpu[i]});
        break;
      case EventKind::wait_mark: {
        const Mark& mark = marks[event.mark.value];
        EventSet done = known | of_stream(event.stream, i) | mark.done | ordered[event.thread.value];
        if (mark.doubtful && level == Level::possible) done |= everything();
        order.gpu[i] = done;
        streams[event.stream.value].push_back({i, done});
        break;
      }
      case EventKind::covers: {
        EventSet certain, possible;
        EventSet direct;  // what is done with these by GPU order alone
        auto add_direct = [&](StreamNumber stream) {
          if (level != Level::possible) return;
          for (const StreamOperation& operation : streams[stream.value])
            direct |= solid_.gpu[operation.event];
        };
        auto add_everything = [&] {
          possible |= everything();
          for (const auto& stream : streams) add_direct(StreamNumber{stream.first});
        };
        for (StreamNumber stream : event.streams) {
          certain |= of_stream(stream, call);
          possible |= of_stream(stream, i);
          add_direct(stream);
        }
        if (event.mark.valid()) {
          const Mark& mark = marks[event.mark.value];
          certain |= mark.done;
          if (level == Level::possible && mark.event != kMostEvents) direct |= solid_.marked[mark.event];
          if (mark.doubtful) add_everything();
        }
        if (event.covers_own_work) {
          for (size_t own = call; own < i; ++own) {
            if (events_[own].kind != EventKind::work || events_[own].thread != event.thread) continue;
            bool others = false;
            for (size_t k = call; k < own; ++k) {
              others |= events_[k].kind == EventKind::work && events_[k].stream == events_[own].stream &&
                        events_[k].thread != event.thread;
            }
            (others ? possible : certain) |= order.gpu[own];
            if (level == Level::possible) direct |= solid_.gpu[own];
          }
        }
        for (StreamNumber stream : event.may_streams) {
          possible |= of_stream(stream, i);
          add_direct(stream);
        }
        if (event.may_cover == MayCover::everything) add_everything();
        EventSet covered = certain;
        if (level == Level::possible) {
          covered |= possible;
          EventSet let_go;
          for (size_t g = 0; g < i; ++g) {
            if (!direct[g] || events_[g].kind != EventKind::work || !events_[g].gate) continue;
            if (done_before_[i][g]) continue;
            for (size_t e : lets_go_[g]) {
              if (e < i) let_go |= order.cpu[e];
            }
            for (const auto& [work, since] : let_go_by_[g]) {
              if (since >= i) continue;
              const StreamNumber stream = events_[work].stream;
              EventSet before = of_stream(stream, since + 1);
              for (size_t later = work + 1; later <= since; ++later)
                if (events_[later].stream == stream) before.reset(later);
              let_go |= before;
            }
          }
          covered |= let_go;
        }
        order.covered[i] = covered;
        const bool kept = !removed[number_[i]] && level != Level::solid;
        if (kept || event.wait.own_work)
          known |= covered;
        else if (!orders.empty() && orders[number_[i]] && level != Level::solid)
          ordered[event.thread.value] |= covered;
        break;
      }
      case EventKind::query: {
        auto key = std::pair(event.thread.value, event.stream.value);
        if (!event.succeeded) {
          asked[key] = of_stream(event.stream, call);
        } else if (auto* done = found(asked, key)) {
          known |= *done;
          asked.erase(key);
        }
        break;
      }
      case EventKind::release:
        objects[event.object.value].push_back({event.sequence, known});
        break;
      case EventKind::acquire:
        for (const auto& [sequence, told] : objects[event.object.value])
          if (level == Level::possible || (event.forced && sequence <= event.sequence)) known |= told;
        break;
      default:
        break;
    }
    order.cpu[i] = known;
  }
  return order;
}

void Oracle::find_pairs() {
  struct Live {
    size_t work;
    Access access;
    bool effect = false, exposed = false, used = false;
    size_t dies = kMostEvents;
  };
  struct Watch {
    MemoryNumber memory;
    AddressRange range;
    bool read_only;
  };
  std::vector<Live> all;
  std::map<uint32_t, Watch> watches;
  std::map<uint32_t, size_t> last;  // of each thread
  std::set<uint32_t> awake, in_call;
  bool orderly = false;
  auto watched = [&](const Live& live) {
    if (live.effect) return false;
    for (uintptr_t byte = live.access.range.begin; byte < live.access.range.end; ++byte) {
      bool seen = false;
      for (const auto& [number, watch] : watches) {
        seen |= watch.memory == live.access.memory && watch.range.contains(byte) &&
                !(watch.read_only && live.access.writes);
      }
      if (!seen) return false;
    }
    return true;
  };
  auto may_touch = [&](Live& live, uint32_t thread) { pairs_.push_back({live.work, last[thread], false}); };
  auto expose = [&](Live& live) {
    live.exposed = live.used = true;
    for (uint32_t thread : awake)
      if (!in_call.contains(thread)) may_touch(live, thread);
  };
  auto alive = [](const Live& live) { return live.dies == kMostEvents; };
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    // Inside a call a thread runs the driver, which touches nothing of the program unseen.
    bool appeared = event.kind == EventKind::acquire && call_of(i) == i;
    if (event.thread.valid()) {
      last[event.thread.value] = i;
      appeared |= awake.insert(event.thread.value).second;
      if (event.kind == EventKind::call_begin) in_call.insert(event.thread.value);
      if (event.kind == EventKind::call_end) appeared |= in_call.erase(event.thread.value) > 0;
    }
    switch (event.kind) {
      case EventKind::work:
        for (const Access& access : event.accesses) {
          for (Live& live : all) {
            if (!alive(live) || live.effect || live.work == i) continue;
            const bool meet = overlap(live.access, access.memory, access.range);
            live.used |= meet && !access.writes;
            if (meet && (live.access.writes || access.writes)) pairs_.push_back({live.work, i, true});
          }
        }
        for (const Access& access : event.accesses) all.push_back({i, access});
        if (event.blind != 0) all.push_back({i, {}, true});
        break;
      case EventKind::uses_mark:
        for (size_t r = i; r-- > 0;) {
          if (events_[r].kind != EventKind::record_mark || events_[r].mark != event.mark) continue;
          if (events_[r].marker.valid()) {
            pairs_.push_back({r, i, false});
            break;
          }
          for (size_t w = call_of(r); w-- > 0;) {  // the last work that it stands for
            if (events_[w].kind != EventKind::work || events_[w].stream != events_[r].stream) continue;
            pairs_.push_back({w, i, false});
            break;
          }
          break;
        }
        break;
      case EventKind::releases:
        for (Live& live : all) {
          if (!alive(live) || live.effect || !overlap(live.access, event.memory, event.range)) continue;
          // A download that nobody has used goes with its copy.
          const bool dead = live.access.on_host && live.access.writes && !live.access.argument && !live.used;
          if (!event.deferrable && !dead) pairs_.push_back({live.work, i, false});
          if (live.access.memory.valid() && event.range.contains(live.access.range)) live.dies = i;
        }
        std::erase_if(watches, [&](const auto& watch) {
          return watch.second.memory == event.memory && event.range.contains(watch.second.range);
        });
        break;
      case EventKind::call_end:
        for (size_t k = call_of(i); k < i; ++k) {
          if (events_[k].kind != EventKind::covers || events_[k].thread != event.thread) continue;
          for (Live& live : all) {
            if (!alive(live) || (!live.effect && !live.access.on_host) || watched(live)) continue;
            if (!possible_.covered[k][live.work]) continue;
            if (live.exposed) {
              may_touch(live, event.thread.value);
            } else {
              expose(live);
            }
          }
        }
        break;
      case EventKind::watch:
        watches[event.watch.value] = {event.memory, event.range, event.read_only};
        for (Live& live : all) {
          if (watched(live)) live.exposed = false;
        }
        break;
      case EventKind::touch:
      case EventKind::unwatch: {
        auto* at = found(watches, event.watch.value);
        if (!at) break;
        const Watch watch = *at;
        watches.erase(event.watch.value);
        if (event.kind == EventKind::unwatch && !event.lost) break;
        for (Live& live : all) {
          if (!alive(live) || live.effect || !live.access.on_host ||
              !overlap(live.access, watch.memory, watch.range)) {
            continue;
          }
          live.used = true;
          if (event.kind == EventKind::touch && event.thread.valid() &&
              (live.access.writes || event.writes)) {
            pairs_.push_back({live.work, i, false});
          }
          if (!watched(live)) expose(live);
        }
        break;
      }
      case EventKind::unwatched:
        for (Live& live : all) {
          if (!alive(live) || live.effect || !live.access.on_host ||
              !overlap(live.access, event.memory, event.range)) {
            continue;
          }
          if (!watched(live)) expose(live);
        }
        break;
      case EventKind::peer:
        for (Live& live : all) {
          if (!alive(live) || live.effect || !live.access.on_host) continue;
          live.used |= overlap(live.access, event.memory, event.range);
        }
        break;
      case EventKind::sleep:
      case EventKind::thread_ends:
        awake.erase(event.thread.value);
        appeared = false;
        break;
      case EventKind::ends:
        orderly = true;
        break;
      default:
        break;
    }
    if (appeared && !in_call.contains(event.thread.value)) {
      for (Live& live : all) {
        if (alive(live) && live.exposed) may_touch(live, event.thread.value);
      }
    }
  }
  // Killed: anybody may have touched anything.
  if (!orderly) {
    for (Live& live : all) {
      if (!alive(live) || !live.access.on_host) continue;
      for (const auto& [thread, event] : last) may_touch(live, thread);
    }
  }
  for (const Live& gated : all) {
    for (const Live& other : all) {
      if (gated.effect || other.effect || gated.work == other.work) continue;
      if (!(gated.access.writes || other.access.writes)) continue;
      if (!overlap(gated.access, other.access.memory, other.access.range)) continue;
      for (size_t g = 0; g < events_.size(); ++g) {
        if (events_[g].kind != EventKind::work || !events_[g].gate || !solid_.gpu[gated.work][g]) continue;
        for (size_t e : lets_go_[g]) {
          if (std::max(e, gated.work) >= other.dies || std::max(e, other.work) >= gated.dies) continue;
          if (solid_.gpu[other.work][gated.work]) continue;  // it cannot have come before what it follows
          if (solid_.gpu[gated.work][other.work] || certain_.gpu[gated.work][other.work]) continue;
          pairs_.push_back({other.work, e, false, true, gated.work});
        }
      }
    }
  }
}

std::string Oracle::broken_without(const std::vector<bool>& removed, const std::vector<bool>& orders) const {
  const Order certain = order(Level::certain, removed, orders),
              possible = order(Level::possible, removed, orders);
  for (const Pair& pair : pairs_) {
    const char* lost = nullptr;
    if (!pair.let_go && ordered(certain_, pair) && !ordered(certain, pair)) lost = "certain";
    if (ordered(possible_, pair) && !ordered(possible, pair)) lost = "possible";
    if (!lost) continue;
    std::ostringstream text;
    text << "work " << pair.work << " was before " << (pair.on_gpu ? "work " : "event ") << pair.use << " ("
         << lost << ')' << (pair.let_go ? ", which lets work go" : "");
    return text.str();
  }
  return {};
}

size_t Oracle::fewest_sites() const {
  std::vector<uint32_t> sites;
  for (size_t event : synchronizations_) {
    if (!events_[event].wait.own_work) sites.push_back(events_[event].site.value);
  }
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  size_t fewest = sites.size();
  for (uint32_t kept = 0; kept < 1u << sites.size(); ++kept) {
    const size_t count = static_cast<size_t>(__builtin_popcount(kept));
    if (count >= fewest) continue;
    std::vector<bool> removed(synchronizations_.size());
    for (size_t i = 0; i < synchronizations_.size(); ++i) {
      const Event& event = events_[synchronizations_[i]];
      if (event.wait.own_work) continue;
      const auto at = std::lower_bound(sites.begin(), sites.end(), event.site.value) - sites.begin();
      removed[i] = (kept >> at & 1) == 0;
    }
    if (broken_without(removed).empty()) fewest = count;
  }
  return fewest;
}

}  // namespace diogenes::necessity::testing
