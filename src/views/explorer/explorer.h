// `diogenes explore` without a terminal: a state machine. In: a report, keys, the size of the terminal, estimates that
// were asked for. Out: what the screen shows, and which estimate is wanted. The terminal is launcher/terminal/terminal.h.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "views/explorer/context.h"
#include "views/explorer/view.h"

namespace diogenes::explorer {

class Explorer {
 public:
  // `folder`: paths are shown relative to it, or to the one that common_folder() says.
  Explorer(Report report, const std::string& folder);
  // Its pages point into it.
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  void resize(Size size);
  void press(const KeyPress& key);
  bool done() const { return done_; }
  Screen screen() const;

  // Problems whose benefit together the page waits for, by id; empty: none. What the page shows then comes by
  // estimated().
  std::vector<std::string> wanted() const;
  void estimated(const std::vector<std::string>& problems, Estimate estimate);

 private:
  View& view();
  const View& view() const;
  Size view_size() const;
  std::vector<Line> head() const;
  Line lists_line() const;
  std::string last_line(size_t columns) const;
  void show_list(size_t list);
  void open(std::unique_ptr<View> page);
  void back();
  bool press_everywhere(const KeyPress& key);
  void press_in_prompt(const KeyPress& key);
  void search(bool forward, bool from_here);

  Report report_;
  std::string folder_, headline_;
  Estimates estimates_;
  Context context_;
  std::vector<std::unique_ptr<View>> lists_;
  size_t list_ = 0;
  std::vector<std::unique_ptr<View>> pages_;  // on top of the list
  Size size_;
  bool typing_ = false;  // what is searched for
  std::string sought_, typed_, message_;
  bool done_ = false;
};

// What is shown until there is a report.
Screen waiting_screen(const std::string& session, double seconds, Size size);

}  // namespace diogenes::explorer
