// What is needed to write a message of Protocol Buffers. Source: protobuf.dev, 'Encoding'.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diogenes {

class ProtobufMessage {
 public:
  void number(int field, uint64_t value) {
    if (value != 0) tag(field, kVarint), put(value);  // 0 is what is not there
  }

  void text(int field, std::string_view value) {
    tag(field, kLength);
    put(value.size());
    bytes_ += value;
  }

  void message(int field, const ProtobufMessage& value) { text(field, value.bytes_); }

  void numbers(int field, const std::vector<uint64_t>& values) {
    ProtobufMessage packed;
    for (uint64_t value : values) packed.put(value);
    message(field, packed);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr uint64_t kVarint = 0, kLength = 2;

  void tag(int field, uint64_t type) { put(static_cast<uint64_t>(field) << 3 | type); }

  void put(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace diogenes
