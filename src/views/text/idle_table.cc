#include "views/text/idle_table.h"

#include <fmt/format.h>

#include "views/shared/figures.h"
#include "views/shared/idle.h"
#include "views/shared/shortened_name.h"

namespace diogenes {

void idle_table(Page& page, const ReportProfile& profile, size_t most) {
  if (!idle_is_worth_a_word(profile)) return;
  const ReportIdle& idle = *profile.idle;
  const auto figures = [&](double seconds) {
    return fmt::format("{:>8} {:>6}  ", seconds_text(seconds), percent_text(100 * seconds / idle.idle_s));
  };
  const auto room_for = [&](const std::string& lead, const std::string& behind) {
    const size_t used = lead.size() + behind.size();
    return page.width() > used + 20 ? page.width() - used : 20;
  };
  page.line();
  page.line(page.bold("Why the GPU is idle"));
  const std::string loop = idle_of_loop(idle);
  page.wrapped(
      "", 0,
      "It is idle for " + idle_phrase(idle) + ". " + loop + (loop.empty() ? "" : " ") + "Meanwhile, in all:");
  for (const IdleMeanwhile& part : idle_meanwhile(idle)) {
    const std::string lead = "    " + figures(part.seconds);
    page.wrapped(lead, lead.size(), part.what);
  }
  const std::vector<IdlePlace> places = idle_places(profile);
  if (places.empty()) return;
  page.line("By function of yours, with what libraries and the driver do for it:");
  bool much_short_work = false;
  for (size_t i = 0; i < places.size() && i < most; ++i) {
    const IdlePlace& one = places[i];
    const std::string lead = fmt::format("{:>2}. ", i + 1) + figures(one.seconds);
    const std::string place = one.place.empty() ? "" : "  " + one.place;
    page.line(lead + page.bold(shortened_name(one.name, room_for(lead, place))) + page.faint(place));
    if (!one.short_work.empty()) page.wrapped("      ", 6, one.short_work);
    much_short_work |= !one.short_work.empty();
    for (const IdlePlace::Part& part : one.parts) {
      const std::string of_it = "      " + figures(part.seconds);
      const std::string where = part.where.empty() ? "" : part.where + ": ";
      page.line(of_it + page.faint(where) + shortened_name(part.what, room_for(of_it, where)));
    }
  }
  page.wrapped("    ", 4, kIdleGain);
  if (much_short_work) page.wrapped("    ", 4, kShortWork);
}

}  // namespace diogenes
