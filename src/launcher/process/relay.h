// Moves bytes from one descriptor to another beside the rest of the poll loop, and shows each byte to an
// OutputCopy. Never blocks: it reads only what it has room for and writes only what the other side takes at
// once.
#pragma once
#include <poll.h>

#include <vector>

#include "launcher/process/output_copy.h"

namespace diogenes::launcher {

class Relay {
 public:
  // Reads `in`, writes `out` (-1: nowhere), `copy` may be null. `closes_out`: at the end of `in`, and owned.
  Relay(int in, bool closes_in, int out, bool closes_out, OutputCopy* copy);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void add_to(std::vector<pollfd>& polled);       // what it waits for now; remembers the positions
  bool serve(const std::vector<pollfd>& polled);  // true: bytes moved
  bool done() const { return in_ < 0 && pending() == 0; }
  bool reader_left() const { return reader_left_; }  // the other side closed before the end
  void stop();                                       // closes what it owns, drops what is pending

 private:
  size_t pending() const { return end_ - begin_; }
  bool fill();
  bool empty();
  void end_input();
  void end_output();

  int in_, out_;
  bool closes_in_, closes_out_, discard_, reader_left_ = false;
  OutputCopy* copy_;
  int in_position_ = -1, out_position_ = -1;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace diogenes::launcher
