// One page of the explorer: a list, or a text. It is told its size and the keys, and says what it shows. Everything
// here is state and text; the terminal is elsewhere (launcher/terminal/terminal.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "views/explorer/key.h"
#include "views/explorer/screen.h"

namespace diogenes::explorer {

class View;

// What a key did.
struct Reply {
  bool known = false;          // the view has this key
  std::unique_ptr<View> open;  // the page to show on top of this one
  std::string message = {};    // for the last line
};

class View {
 public:
  virtual ~View() = default;

  virtual std::string title() const = 0;
  virtual std::vector<std::string> keys() const = 0;  // hints for the last line, most important first
  virtual void resize(Size size) = 0;
  virtual Reply press(const KeyPress& key) = 0;
  virtual std::vector<Line> lines() const = 0;  // no more than its size has
  virtual std::string position() const = 0;     // "4/14"; "": all is shown

  // For the search: all that there is, whether it is shown or not.
  virtual size_t rows() const = 0;
  virtual std::string row_text(size_t row) const = 0;
  virtual size_t current_row() const = 0;
  virtual void go_to(size_t row) = 0;

  // Ids of problems whose benefit together is shown here, once it is known; empty: none.
  virtual std::vector<std::string> wanted() const { return {}; }
};

}  // namespace diogenes::explorer
