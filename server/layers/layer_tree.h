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
  std::string path;   // relative to the layer's top, which is "."
  char type = 'f';    // 'f', 'd' or 'l'
  uint32_t mode = 0;  // permission bits; 0 for a link
  uint64_t size = 0;  // of a file, in bytes
  // For a file its SHA-256 as 64 hexadecimal digits, for a link its target.
  std::string content;
  // These change whenever somebody touches the entry; they are not part of the
  // layer's id.
  uint64_t inode = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;

  friend bool operator==(const LayerEntry&, const LayerEntry&) = default;
};

struct LayerBounds {
  uint64_t max_bytes = uint64_t{2} << 30;  // of all files together
  uint64_t max_files = 200'000;            // directories and links count, too
};

// Everything that is in a layer, sorted by path.
struct LayerManifest {
  std::vector<LayerEntry> entries;

  uint64_t bytes() const;
  uint64_t files() const { return entries.size() - 1; }  // without the top
  // The layer's id: a SHA-256, 64 hexadecimal digits, over paths, types, modes,
  // sizes and contents.
  std::string Id() const;

  std::string ToText() const;
  // DATA_LOSS: the text wasn't made by ToText.
  static absl::StatusOr<LayerManifest> Parse(absl::string_view text);
};

enum class ScanMode {
  kLook,  // changes nothing
  kSeal,  // files become 0644 or, where any may execute them, 0755; directories
          // 0755
};

// Reads a whole tree. RESOURCE_EXHAUSTED: it exceeds the bounds.
// INVALID_ARGUMENT, with the path, for what a layer can't have: anything other
// than regular files, directories and relative links that stay inside; set-id
// and sticky bits; file capabilities; files with more than one name; files of
// other users; names with control characters; more than 100 levels.
absl::StatusOr<LayerManifest> ScanLayer(const os::Fd& top,
                                        const LayerBounds& bounds,
                                        ScanMode mode);

// Whether nothing was touched since the manifest was made. It reads no file's
// contents.
bool LooksUntouched(const os::Fd& top, const LayerManifest& manifest);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_TREE_H_
