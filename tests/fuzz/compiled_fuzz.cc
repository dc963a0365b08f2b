// A file of the compile cache, as it may lie on the disk. After the first byte:
// the whole file, or its inner part, for which the frame around it with the
// right SHA-256 is made here.
#include <string>
#include <string_view>

#include "policy/text/paths.h"
#include "server/base/digest.h"
#include "server/phases/compiled_file.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::server {
namespace {

const std::string& Key() {
  static const auto* const key = new std::string(64, 'a');
  return *key;
}

std::string Framed(std::string_view body) {
  std::string bytes = "sandglass compiled 1\n" + Key();
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(uint64_t{body.size()} >> (8 * i)));
  }
  bytes += body;
  return bytes + Sha256(bytes);
}

void CheckSame(const StreamResult& a, const StreamResult& b) {
  FUZZ_CHECK(a.data == b.data && a.truncated == b.truncated &&
             a.total_bytes == b.total_bytes && a.head_bytes == b.head_bytes);
}

void Run(const std::string& bytes) {
  const absl::StatusOr<Compiled> read = DecodeCompiled(Key(), bytes);
  if (!read.ok()) {
    FUZZ_CHECK(absl::IsDataLoss(read.status()));
    return;
  }
  FUZZ_CHECK(read->bytes() <= bytes.size() * 64 + 4096);
  for (const FileResult& file : read->files) {
    FUZZ_CHECK(policy::ValidateRelativePath(file.path).ok());
    FUZZ_CHECK(file.size == file.content.size());
  }
  for (const StreamResult* output :
       {&read->stdout_result, &read->stderr_result}) {
    FUZZ_CHECK(output->head_bytes <= output->data.size());
  }
  const std::string written = EncodeCompiled(Key(), *read);
  const absl::StatusOr<Compiled> again = DecodeCompiled(Key(), written);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->files.size() == read->files.size());
  for (size_t i = 0; i < read->files.size(); ++i) {
    FUZZ_CHECK(again->files[i].path == read->files[i].path);
    FUZZ_CHECK(again->files[i].mode == read->files[i].mode);
    FUZZ_CHECK(again->files[i].content == read->files[i].content);
  }
  CheckSame(again->stdout_result, read->stdout_result);
  CheckSame(again->stderr_result, read->stderr_result);
  // It belongs to its key, and a flipped bit is seen.
  FUZZ_CHECK(!DecodeCompiled(std::string(64, 'b'), written).ok());
  std::string changed = written;
  changed[written.size() / 2] ^= 1;
  FUZZ_CHECK(!DecodeCompiled(Key(), changed).ok());
}

}  // namespace
}  // namespace sandglass::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::fuzz::Input input(data, size);
  const bool framed = (input.Byte() & 1) != 0;
  const std::string_view bytes = input.Rest();
  sandglass::server::Run(framed ? sandglass::server::Framed(bytes)
                                : std::string(bytes));
  return 0;
}
