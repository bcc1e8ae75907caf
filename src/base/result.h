// Errors as values. An Error says what went wrong, where, and what to do, in one line.
// No allocation: the text lives inside, so that this is safe inside a target process too.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <new>
#include <utility>

namespace diogenes {

struct Error {
  char text[480] = {};

  const char* c_str() const { return text; }
};

// printf-style; cut at the buffer's end.
[[gnu::format(printf, 1, 2)]] inline Error error(const char* format, ...) {
  Error result;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result.text, sizeof result.text, format, arguments);
  va_end(arguments);
  return result;
}

// Either a value or an Error. Test with ok() (or bool) before value(); value() of an error is undefined.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true) { new (&value_) T(std::move(value)); }  // NOLINT: implicit by intent
  Result(Error error) : ok_(false), error_(error) {}                  // NOLINT
  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_)
      new (&value_) T(std::move(other.value_));
    else
      error_ = other.error_;
  }
  Result& operator=(Result&&) = delete;
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() {
    if (ok_) value_.~T();
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  const Error& error() const { return error_; }

 private:
  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

struct Done {};
using Status = Result<Done>;

}  // namespace diogenes
