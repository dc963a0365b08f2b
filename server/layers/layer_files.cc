#include "server/layers/layer_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "server/base/durable_log.h"
#include "server/base/log.h"

namespace sandglass::server {

namespace fs = std::filesystem;

void RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    Log(LogLevel::kWarning, "layer_files_left",
        {{"path", path}, {"error", error.message()}});
  }
}

absl::Status WriteWhole(const std::string& directory, const std::string& name,
                        const std::string& text) {
  const std::string path = absl::StrCat(directory, "/", name);
  const std::string draft = path + ".new";
  const os::Fd file(
      ::open(draft.c_str(),
             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid() || !os::WriteAll(file.get(), text) ||
      ::rename(draft.c_str(), path.c_str()) != 0) {
    absl::Status failure = DiskError(absl::StrCat("write a layer's ", name));
    ::unlink(draft.c_str());
    return failure;
  }
  return absl::OkStatus();
}

absl::StatusOr<LayerManifest> ReadLayerManifest(const std::string& own,
                                                const std::string& id) {
  const absl::StatusOr<std::string> text =
      os::ReadWholeFile(absl::StrCat(own, "/", kLayerManifest));
  if (!text.ok()) return absl::DataLossError("the layer has no manifest");
  absl::StatusOr<LayerManifest> manifest = LayerManifest::Parse(*text);
  if (manifest.ok() && manifest->Id() != id) {
    return absl::DataLossError("the layer's manifest is another's");
  }
  return manifest;
}

}  // namespace sandglass::server
