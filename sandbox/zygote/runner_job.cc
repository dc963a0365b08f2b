#include "sandbox/zygote/runner_job.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace sandglass::sandbox {
namespace {

// Linked into an interpreter, so it only uses inline functions of abseil.
class Reader {
 public:
  explicit Reader(absl::string_view bytes)
      : from_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Takes `count` strings off the front; false when the data ends before they
  // do.
  bool Strings(uint32_t count, std::vector<const char*>& strings) {
    for (uint32_t i = 0; i < count; ++i) {
      const auto* zero =
          left() == 0 ? nullptr
                      : static_cast<const char*>(std::memchr(from_, 0, left()));
      if (zero == nullptr) return false;
      strings.push_back(from_);
      from_ = zero + 1;
    }
    return true;
  }
  bool Bytes(uint64_t size, absl::string_view& bytes) {
    if (size > left()) return false;
    bytes = {from_, size};
    from_ += size;
    return true;
  }

 private:
  size_t left() const { return static_cast<size_t>(end_ - from_); }

  const char* from_;
  const char* const end_;
};

bool Read(const RunnerJob& header, absl::string_view bytes,
          RunnerJobBody& body) {
  Reader reader(bytes);
  std::vector<const char*> paths;
  absl::string_view table;
  if (!reader.Strings(header.argument_count, body.arguments) ||
      !reader.Strings(header.environment_count, body.environment) ||
      !reader.Strings(header.file_count, paths) ||
      !reader.Bytes(paths.size() * sizeof(RunnerFile), table)) {
    return false;
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    RunnerFile file;
    std::memcpy(&file, table.data() + i * sizeof(file), sizeof(file));
    absl::string_view content;
    if (!reader.Bytes(file.size, content)) return false;
    body.files.push_back(
        {paths[i], static_cast<mode_t>(file.mode), content, file.look_at != 0});
  }
  return true;
}

}  // namespace

bool ReadRunnerJob(const RunnerJob& header, absl::string_view bytes,
                   RunnerJobBody& body) {
  if (Read(header, bytes, body)) return true;
  errno = EPROTO;
  return false;
}

}  // namespace sandglass::sandbox
