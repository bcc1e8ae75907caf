#include "launcher/process/relay.h"

#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace diogenes::launcher {

Relay::Relay(int in, bool closes_in, int out, bool closes_out, OutputCopy* copy)
    : in_(in),
      out_(out),
      closes_in_(closes_in),
      closes_out_(closes_out),
      discard_(out < 0),
      copy_(copy),
      buffer_(size_t{1} << 16) {}

Relay::~Relay() { stop(); }

void Relay::stop() {
  end_input();
  begin_ = end_ = 0;
  end_output();
}

void Relay::end_input() {
  if (in_ >= 0 && closes_in_) close(in_);
  in_ = -1;
}

void Relay::end_output() {
  if (out_ >= 0 && closes_out_) close(out_);
  out_ = -1;
}

void Relay::add_to(std::vector<pollfd>& polled) {
  in_position_ = out_position_ = -1;
  if (pending() > 0 && out_ >= 0) {
    out_position_ = static_cast<int>(polled.size());
    polled.push_back({out_, POLLOUT, 0});
  } else if (in_ >= 0) {
    in_position_ = static_cast<int>(polled.size());
    polled.push_back({in_, POLLIN, 0});
    if (out_ >= 0) {  // POLLERR is always reported: the reader has gone
      out_position_ = static_cast<int>(polled.size());
      polled.push_back({out_, 0, 0});
    }
  }
}

bool Relay::serve(const std::vector<pollfd>& polled) {
  bool moved = false;
  if (out_position_ >= 0) {
    short events = polled[static_cast<size_t>(out_position_)].revents;
    if (events & (POLLERR | POLLNVAL)) {
      // Whoever read has gone. Closing our end hands that on: the writer gets SIGPIPE, as it would have
      // without us.
      reader_left_ = true;
      stop();
      return false;
    }
    if ((events & POLLOUT) && pending() > 0) moved = empty();
  }
  if (in_position_ >= 0 && in_ >= 0 && (polled[static_cast<size_t>(in_position_)].revents))
    moved = fill() || moved;
  in_position_ = out_position_ = -1;
  return moved;
}

bool Relay::fill() {
  ssize_t got = read(in_, buffer_.data(), buffer_.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    end_input();
    end_output();
    return false;
  }
  if (copy_) copy_->add({buffer_.data(), static_cast<size_t>(got)});
  begin_ = 0;
  end_ = discard_ ? 0 : static_cast<size_t>(got);
  return true;
}

bool Relay::empty() {
  // The descriptor is shared with others, so it must stay blocking. After POLLOUT a pipe takes PIPE_BUF bytes
  // at once.
  size_t size = std::min<size_t>(pending(), PIPE_BUF);
  ssize_t written = send(out_, buffer_.data() + begin_, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (written < 0 && errno == ENOTSOCK) written = write(out_, buffer_.data() + begin_, size);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (written < 0) {
    reader_left_ = true;
    stop();
    return false;
  }
  begin_ += static_cast<size_t>(written);
  if (pending() == 0 && in_ < 0) end_output();
  return true;
}

}  // namespace diogenes::launcher
