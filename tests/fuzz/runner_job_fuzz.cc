// What a runner reads from the daemon: the header's three counts, a byte each,
// then what follows the header.
#include <cstring>
#include <memory>
#include <string_view>

#include "sandbox/zygote/runner_job.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

// All that is handed on must lie within the bytes.
struct Bounds {
  const char* begin;
  const char* end;

  void HoldsString(const char* text) const {
    FUZZ_CHECK(text >= begin && text < end);
    FUZZ_CHECK(std::memchr(text, 0, static_cast<size_t>(end - text)) !=
               nullptr);
  }
  void Holds(absl::string_view text) const {
    FUZZ_CHECK(text.empty() ||
               (text.data() >= begin &&
                text.size() <= static_cast<size_t>(end - text.data())));
  }
};

void Run(fuzz::Input input) {
  RunnerJob header = {};
  header.argument_count = input.Byte();
  header.environment_count = input.Byte();
  header.file_count = input.Byte();
  // A count that no job can have.
  if (header.file_count == 255) header.file_count = ~uint32_t{0};
  const std::string_view rest = input.Rest();
  // On the heap and no byte longer, so that AddressSanitizer sees each end.
  const std::unique_ptr<char[]> bytes(new char[rest.size()]);
  rest.copy(bytes.get(), rest.size());
  RunnerJobBody body;
  if (!ReadRunnerJob(header, {bytes.get(), rest.size()}, body)) return;
  const Bounds bounds = {bytes.get(), bytes.get() + rest.size()};
  FUZZ_CHECK(body.arguments.size() == header.argument_count);
  FUZZ_CHECK(body.environment.size() == header.environment_count);
  FUZZ_CHECK(body.files.size() == header.file_count);
  for (const char* text : body.arguments) bounds.HoldsString(text);
  for (const char* text : body.environment) bounds.HoldsString(text);
  size_t contents = 0;
  for (const RunnerJobBody::File& file : body.files) {
    bounds.HoldsString(file.path);
    bounds.Holds(file.content);
    contents += file.content.size();
  }
  FUZZ_CHECK(contents <= rest.size());
}

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::sandbox::Run({data, size});
  return 0;
}
