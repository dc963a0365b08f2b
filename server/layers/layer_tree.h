#ifndef SANDGLASS_SERVER_LAYERS_LAYER_TREE_H_
#define SANDGLASS_SERVER_LAYERS_LAYER_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// A file, directory or symbolic link of a layer, and its state on the disk.
struct LayerEntry {
  std::string path;   // from the layer's top, which is "."
  char type = 'f';    // 'f', 'd' or 'l'
  uint32_t mode = 0;  // permission bits; of a link 0
  uint64_t size = 0;  // of a file, in bytes
  // Of a file its SHA-256 as 64 hexadecimal digits, of a link its target.
  std::string content;
  // What changes whenever somebody touches it; not part of the layer's id.
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  friend bool operator==(const LayerEntry&, const LayerEntry&) = default;
};

struct LayerBounds {
  uint64_t max_bytes = uint64_t{2} << 30;  // of all files together
  uint64_t max_files = 200'000;            // with directories and links
};

// All that a layer has, sorted by path.
struct LayerManifest {
  std::vector<LayerEntry> entries;

  uint64_t bytes() const;
  uint64_t files() const { return entries.size() - 1; }  // without the top
  // The layer's id: a SHA-256, 64 hexadecimal digits, over paths, types, modes,
  // sizes and contents.
  std::string Id() const;

  std::string ToText() const;
  // DATA_LOSS: the text is none that ToText gave.
  static absl::StatusOr<LayerManifest> Parse(absl::string_view text);
};

enum class ScanMode {
  kLook,  // changes nothing
  kSeal,  // files become 0644 or, where any may execute them, 0755; directories
          // 0755
};

// Reads a whole tree. INVALID_ARGUMENT, with the path, for what a layer can't
// have: other than regular files, directories and relative links that stay
// inside; set-id and sticky bits, file capabilities, second names, files of
// other users, names with control characters, more than 100 levels.
// RESOURCE_EXHAUSTED: past the bounds.
absl::StatusOr<LayerManifest> ScanLayer(const os::Fd& top,
                                        const LayerBounds& bounds,
                                        ScanMode mode);

// Whether nothing was touched since the manifest was made. No file is read.
bool LooksUntouched(const os::Fd& top, const LayerManifest& manifest);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_TREE_H_
