#ifndef SANDGLASS_TESTS_FUZZ_FUZZ_H_
#define SANDGLASS_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// What the targets of tests/fuzz share.

// A promise of the code under test. libFuzzer keeps the input that broke it.
#define FUZZ_CHECK(condition)                                         \
  do {                                                                \
    if (!(condition)) {                                               \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, \
                   #condition);                                       \
      std::abort();                                                   \
    }                                                                 \
  } while (false)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sandglass::fuzz {

// Takes an input apart from its front, so that seeds can be written by hand.
// Past the end all is zero and empty.
class Input {
 public:
  Input(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  uint8_t Byte() {
    const std::string_view byte = Take(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]);
  }
  // Two bytes, the low one first.
  uint16_t Short() {
    const uint16_t low = Byte();
    return static_cast<uint16_t>(low | (Byte() << 8));
  }
  uint64_t Number() {
    uint64_t number = 0;
    for (int i = 0; i < 8; ++i) number |= uint64_t{Byte()} << (8 * i);
    return number;
  }
  // A length in one byte, then so many bytes.
  std::string Text() { return std::string(Take(Byte())); }
  // The same with a length in two bytes.
  std::string LongText() { return std::string(Take(Short())); }
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view Take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

}  // namespace sandglass::fuzz

#endif  // SANDGLASS_TESTS_FUZZ_FUZZ_H_
