#include "views/text/idle_table.h"

#include <fmt/format.h>

#include "views/shared/figures.h"
#include "views/shared/idle.h"
#include "views/shared/shortened_name.h"

namespace diogenes {
namespace {

class IdleTable {
 public:
  IdleTable(Page& page, const ReportProfile& profile, size_t most)
      : page_(page), profile_(profile), idle_(*profile.idle), most_(most) {}

  void print() {
    page_.line();
    page_.line(page_.bold("Why the GPU is idle"));
    const std::string loop = idle_of_loop(idle_);
    page_.wrapped("", 0,
                  "It is idle for " + idle_phrase(idle_) + ". " + loop + (loop.empty() ? "" : " ") +
                      "Meanwhile, in all:");
    for (const IdleMeanwhile& part : idle_meanwhile(idle_)) {
      const std::string lead = "    " + figures(part.seconds);
      page_.wrapped(lead, lead.size(), part.what);
    }
    print_places();
    print_loops();
  }

 private:
  std::string figures(double seconds) const {
    return fmt::format("{:>8} {:>6}  ", seconds_text(seconds), percent_text(100 * seconds / idle_.idle_s));
  }
  size_t room_for(const std::string& lead, const std::string& behind) const {
    const size_t used = lead.size() + behind.size();
    return page_.width() > used + 20 ? page_.width() - used : 20;
  }
  void print_row(size_t number, double seconds, const std::string& name, std::string place) {
    const std::string lead = fmt::format("{:>2}. ", number) + figures(seconds);
    if (!place.empty()) place = "  " + place;
    page_.line(lead + page_.bold(shortened_name(name, room_for(lead, place))) + page_.faint(place));
  }

  void print_places() {
    const std::vector<IdlePlace> places = idle_places(profile_);
    if (places.empty()) return;
    page_.line("By function of yours, with what libraries and the driver do for it:");
    bool much_short_work = false, of_python = false;
    for (size_t i = 0; i < places.size() && i < most_; ++i) {
      const IdlePlace& one = places[i];
      print_row(i + 1, one.seconds, one.name, one.place);
      if (!one.short_work.empty()) page_.wrapped("      ", 6, one.short_work);
      much_short_work |= !one.short_work.empty();
      if (one.of_python) page_.wrapped("      ", 6, kPythonAlone);
      of_python |= one.of_python;
      for (const IdlePlace::Part& part : one.parts) {
        const std::string of_it = "      " + figures(part.seconds);
        const std::string where = part.where.empty() ? "" : part.where + ": ";
        page_.line(of_it + page_.faint(where) + shortened_name(part.what, room_for(of_it, where)));
      }
    }
    page_.wrapped("    ", 4, kIdleGain);
    if (much_short_work) page_.wrapped("    ", 4, short_work_advice(profile_));
    if (of_python) page_.wrapped("    ", 4, kWorkOfPython);
  }

  void print_loops() {
    const std::vector<IdleLoop> loops = idle_loops(profile_);
    if (loops.empty()) return;
    page_.line("Loops of yours that the CPU is in meanwhile, as samples found it:");
    for (size_t i = 0; i < loops.size() && i < most_; ++i) {
      print_row(i + 1, loops[i].seconds, loops[i].name, loops[i].place);
      if (loops[i].caller.empty()) continue;
      const std::string lead = "      called by ";
      page_.line(lead + shortened_name(loops[i].caller, room_for(lead, loops[i].caller_place)) +
                 loops[i].caller_place);
    }
    page_.wrapped("    ", 4, kIdleLoops);
  }

  Page& page_;
  const ReportProfile& profile_;
  const ReportIdle& idle_;
  const size_t most_;
};

}  // namespace

void idle_table(Page& page, const ReportProfile& profile, size_t most) {
  if (idle_is_worth_a_word(profile)) IdleTable(page, profile, most).print();
}

}  // namespace diogenes
