// A key of the keyboard, as the explorer understands it.
#pragma once
#include <cstdint>

namespace diogenes::explorer {

enum class Key : uint8_t {
  character,
  up,
  down,
  left,
  right,
  home,
  end,
  page_up,
  page_down,
  enter,
  escape,
  tab,
  back_tab,
  backspace,
  other  // does nothing
};

struct KeyPress {
  Key key = Key::other;
  char32_t character = 0;  // of Key::character

  bool is(char32_t wanted) const { return key == Key::character && character == wanted; }
};

}  // namespace diogenes::explorer
