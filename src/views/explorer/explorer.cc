#include "views/explorer/explorer.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/explorer/lists/context_list.h"
#include "views/explorer/lists/findings_view.h"
#include "views/explorer/lists/kernel_list.h"
#include "views/explorer/lists/required_list.h"
#include "views/explorer/lists/sequence_views.h"
#include "views/explorer/pages.h"
#include "views/shared/figures.h"
#include "views/shared/outline.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"

namespace diogenes::explorer {
namespace {

constexpr size_t kFewestColumns = 20, kFewestLines = 4;

std::string utf8(char32_t code) {
  std::string text;
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
  return text;
}

std::string headline_of(const Report& report) {
  const std::string runs = counted(report.stages.size(), "run");
  return program_name(report.command) + ": " + headline(report, outline(report)) + "; " + runs +
         (report.incomplete.empty() ? ", complete" : ", not complete");
}

}  // namespace

Explorer::Explorer(Report report, const std::string& folder)
    : report_(std::move(report)),
      folder_(common_folder(report_, folder)),
      headline_(headline_of(report_)),
      context_{report_, folder_, estimates_} {
  lists_.push_back(std::make_unique<FindingsView>(context_));
  lists_.push_back(std::make_unique<SequenceList>(context_));
  lists_.push_back(std::make_unique<RequiredList>(context_));
  lists_.push_back(functions_view(context_));
  lists_.push_back(session_view(context_));
  lists_.push_back(std::make_unique<KernelList>(context_));
  lists_.push_back(std::make_unique<ContextList>(context_));
  resize(size_);
}

View& Explorer::view() { return pages_.empty() ? *lists_[list_] : *pages_.back(); }
const View& Explorer::view() const { return pages_.empty() ? *lists_[list_] : *pages_.back(); }

Size Explorer::view_size() const {
  return {size_.columns, size_.lines - std::min(size_.lines, head().size() + 1)};
}

void Explorer::resize(Size size) {
  size_ = {std::max(size.columns, kFewestColumns), std::max(size.lines, kFewestLines)};
  view().resize(view_size());
}

void Explorer::show_list(size_t list) {
  list_ = list;
  pages_.clear();
  view().resize(view_size());
}

void Explorer::open(std::unique_ptr<View> page) {
  pages_.push_back(std::move(page));
  view().resize(view_size());
}

void Explorer::back() {
  pages_.pop_back();
  view().resize(view_size());  // the terminal may have another size by now
}

void Explorer::press(const KeyPress& key) {
  if (typing_) return press_in_prompt(key);
  message_.clear();
  Reply reply = view().press(key);
  if (!reply.message.empty()) message_ = reply.message;
  if (reply.open) open(std::move(reply.open));
  if (!reply.known && !press_everywhere(key) && key.key == Key::character)
    message_ = "this key does nothing here; ? shows the keys";
}

bool Explorer::press_everywhere(const KeyPress& key) {
  if (key.is('Q') || (key.is('q') && pages_.empty())) {
    done_ = true;
  } else if (key.key == Key::escape || key.is('q') || key.key == Key::left || key.is('h') ||
             key.key == Key::backspace) {
    if (!pages_.empty()) back();
  } else if (key.key == Key::tab) {
    show_list((list_ + 1) % lists_.size());
  } else if (key.key == Key::back_tab) {
    show_list((list_ + lists_.size() - 1) % lists_.size());
  } else if (key.key == Key::character && key.character >= '1' && key.character < '1' + lists_.size()) {
    show_list(key.character - '1');
  } else if (key.is('?')) {
    if (view().title() != help_view()->title()) open(help_view());
  } else if (key.is('/')) {
    typing_ = true;
    typed_.clear();
  } else if (key.is('n') || key.is('N')) {
    search(key.is('n'), false);
  } else {
    return false;
  }
  return true;
}

void Explorer::press_in_prompt(const KeyPress& key) {
  if (key.key == Key::character && key.character >= 0x20) {
    typed_ += utf8(key.character);
  } else if (key.key == Key::backspace && !typed_.empty()) {
    while ((static_cast<unsigned char>(typed_.back()) & 0xc0) == 0x80) typed_.pop_back();
    typed_.pop_back();
  } else if (key.key == Key::enter) {
    typing_ = false;
    message_.clear();
    if (!typed_.empty()) sought_ = typed_;
    search(true, !typed_.empty());
  } else if (key.key == Key::escape || key.key == Key::backspace) {
    typing_ = false;
  }
}

void Explorer::search(bool forward, bool from_here) {
  if (sought_.empty()) {
    message_ = "nothing to search for yet; / begins a search";
    return;
  }
  const size_t count = view().rows(), begin = view().current_row();
  for (size_t step = from_here ? 0 : 1; count > 0 && step <= count; ++step) {
    const size_t row = forward ? (begin + step) % count : (begin + count - step % count) % count;
    if (find_text(view().row_text(row), sought_) == std::string::npos) continue;
    view().go_to(row);
    const bool around = step > 0 && (forward ? row <= begin : row >= begin);
    message_ = "/" + sought_ + (around ? "  (continued from the other end)" : "");
    return;
  }
  message_ = "/" + sought_ + ": not found here";
}

std::vector<std::string> Explorer::wanted() const {
  std::vector<std::string> problems = view().wanted();
  if (estimates_.contains(problems)) problems.clear();
  return problems;
}

void Explorer::estimated(const std::vector<std::string>& problems, Estimate estimate) {
  estimates_[problems] = std::move(estimate);
}

Line Explorer::lists_line() const {
  Line line;
  const auto wide = [&](bool all, bool apart) {
    line.spans.clear();
    for (size_t i = 0; i < lists_.size(); ++i) {
      const std::string name =
          all || i == list_ ? fmt::format("{} {}", i + 1, lists_[i]->title()) : std::to_string(i + 1);
      const std::string free = apart ? " " + name + " " : name;
      line.add(i == list_ ? "[" + name + "]" : free, i == list_ ? Style::bold : Style::faint);
      line.add(" ");
    }
    return columns_of(line.text());
  };
  if (wide(true, true) > size_.columns && wide(true, false) > size_.columns + 1) wide(false, true);
  return cut(line, size_.columns);
}

// A list: what the session says in one or two lines, and which lists there are. A page: the way to it.
std::vector<Line> Explorer::head() const {
  std::vector<Line> lines;
  if (!pages_.empty()) {
    std::string path = lists_[list_]->title();
    for (const auto& page : pages_) path += " > " + page->title();
    // The end says most.
    if (const size_t width = columns_of(printable(path)); width > size_.columns)
      path = lists_.empty() ? path : pages_.back()->title();
    lines.emplace_back(cut(path, size_.columns), Style::bold);
    if (size_.lines > 12) lines.emplace_back();
    return lines;
  }
  const Style style = report_.incomplete.empty() ? Style::bold : Style::warning;
  const size_t most = size_.lines > 16 ? 3 : 1;
  if (most == 1) {
    lines.emplace_back(cut(headline_, size_.columns), style);
  } else {
    std::string rest = printable(headline_);
    while (!rest.empty() && lines.size() < most) {
      size_t end = rest.size();
      if (columns_of(rest) > size_.columns && lines.size() + 1 < most) {
        end = rest.rfind(' ', size_.columns);
        if (end == std::string::npos || end == 0) end = size_.columns;
      }
      lines.emplace_back(cut(rest.substr(0, end), size_.columns), style);
      rest.erase(0, end);
      rest.erase(0, rest.find_first_not_of(' '));
    }
  }
  if (size_.lines > kFewestLines + 1) lines.push_back(lists_line());
  return lines;
}

std::string Explorer::last_line(size_t columns) const {
  if (typing_) return "/" + typed_;
  if (!message_.empty()) return message_;
  std::string hints;
  for (const std::string& hint : view().keys())
    if (columns_of(hints) + 2 + hint.size() <= columns) hints += (hints.empty() ? "" : "  ") + hint;
  return hints;
}

Screen Explorer::screen() const {
  Screen screen;
  screen.lines = head();
  const Size room = view_size();
  std::vector<Line> lines = view().lines();
  lines.resize(std::min(lines.size(), room.lines));
  for (Line& line : lines) {
    if (!sought_.empty()) line = with_found(line, sought_);
    screen.lines.push_back(std::move(line));
  }
  screen.lines.resize(size_.lines - 1);
  const std::string position = view().position();
  const size_t left = size_.columns - std::min(size_.columns - 1, position.size() + 1);
  Line last;
  last.add(fitted(last_line(left), left), typing_            ? Style::plain
                                          : message_.empty() ? Style::faint
                                                             : Style::bold);
  last.add(" " + position, Style::faint);
  screen.lines.push_back(cut(last, size_.columns));
  if (typing_) screen.cursor = std::min(columns_of(last_line(left)), size_.columns - 1);
  return screen;
}

Screen waiting_screen(const std::string& session, double seconds, Size size) {
  Screen screen;
  const size_t columns = std::max<size_t>(size.columns, 1);
  screen.lines.emplace_back(
      cut(fmt::format("Analysing {} ... {:.0f} s", printable(session), seconds), columns), Style::bold);
  for (const Line& line :
       broken(Line("Its report is kept in the session, so it opens at once the next time. Ctrl-C quits."),
              columns, 0))
    screen.lines.push_back(line);
  screen.lines.resize(std::min<size_t>(screen.lines.size(), std::max<size_t>(size.lines, 1)));
  return screen;
}

}  // namespace diogenes::explorer
