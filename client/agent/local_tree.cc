#include "client/agent/local_tree.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 10'000;
constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

class Collector {
 public:
  absl::Status Add(const fs::path& source, const std::string& path) {
    if (files_.size() == kMaxFiles) {
      return absl::InvalidArgumentError(
          absl::StrCat("that are more than ", kMaxFiles, " files"));
    }
    absl::StatusOr<FileContent> content =
        ReadInput(source.string(), kMaxBytes - bytes_);
    if (!content.ok()) return content.status();
    bytes_ += content->bytes.size();
    files_.push_back({path, std::move(content->bytes), content->executable});
    return absl::OkStatus();
  }

  absl::Status AddBelow(const fs::path& source, const std::string& target) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(source, error), end;
         !error && it != end; it.increment(error)) {
      const fs::directory_entry& entry = *it;
      std::error_code of_entry;
      // A link could lead round in circles, or to something that nobody meant.
      if (entry.is_symlink(of_entry) || !entry.is_regular_file(of_entry)) {
        continue;
      }
      const fs::path below = entry.path().lexically_relative(source);
      if (absl::Status added =
              Add(entry.path(), absl::StrCat(target, "/", below.string()));
          !added.ok()) {
        return added;
      }
    }
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("can't read ", source.string(), ": ", error.message()));
  }

  std::vector<LocalFile> Collect() { return std::move(files_); }

 private:
  std::vector<LocalFile> files_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<LocalFile>> ReadLocalTree(
    const std::string& source, const std::string& target) {
  std::error_code error;
  const fs::path real = fs::canonical(source, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("can't read ", source, ": ", error.message()));
  }
  // The name of what was given, even if that is "." or a link.
  std::string name = fs::path(source).lexically_normal().filename().string();
  if (name.empty() || name == "." || name == "..") {
    name = real.filename().string();
  }
  const std::string place = absl::StrCat(target, "/", name);
  Collector collector;
  const absl::Status added = fs::is_directory(real, error)
                                 ? collector.AddBelow(real, place)
                                 : collector.Add(real, place);
  if (!added.ok()) return added;
  return collector.Collect();
}

}  // namespace sandglass::client
