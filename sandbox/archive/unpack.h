#ifndef SANDGLASS_SANDBOX_ARCHIVE_UNPACK_H_
#define SANDGLASS_SANDBOX_ARCHIVE_UNPACK_H_

#include <limits.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/archive/tar.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// The longest path of a member that Unpacker accepts: a slash is appended to a
// directory's path, and the kernel accepts no path of PATH_MAX bytes. Code that
// writes an archive, or keeps a copy that is to become one, leaves out longer
// paths.
inline constexpr size_t kMaxMemberPath = PATH_MAX - 2;

// Makes files and directories from an archive's members, below one directory
// and nowhere else: no member's path may be absolute or contain "..", and
// symbolic links are never followed, whoever made them and when.
class Unpacker {
 public:
  Unpacker(const os::Fd& directory, uint64_t max_bytes, uint64_t max_entries);
  ~Unpacker();

  // Unpacks the whole archive. What was made stays when it fails.
  FileResult Run(TarReader& reader);
  // The same, but a member that can't be made is recorded as missing, and the
  // others are made.
  FileResult RunAsFarAsPossible(TarReader& reader);

  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t left_out() const { return left_out_; }
  // The number of missing members, and the first kMaxMissing of them.
  struct Missing {
    std::string path;
    FileResult why;
  };
  uint64_t missing_count() const { return missing_count_; }
  const std::vector<Missing>& missing() const { return missing_; }

 private:
  struct Settled {
    std::string path;
    mode_t mode;
    struct timespec mtime;
  };

  FileResult RunWith(TarReader& reader, bool as_far_as_possible);
  FileResult UnpackMember(TarReader& reader, const TarMember& member);
  FileResult Make(TarReader& reader, const TarMember& member,
                  const std::string& path, const std::string& name);
  FileResult FillFile(TarReader& reader, const TarMember& member,
                      const os::Fd& file);
  FileResult FindParent(const std::string& path, bool make, std::string& name);
  FileResult MakeDirectory(const std::string& name);
  FileResult MakeFile(TarReader& reader, const TarMember& member,
                      const std::string& name);
  FileResult MakeHardLink(const TarMember& member, const std::string& path,
                          const std::string& name);
  FileResult MakeSymlink(const TarMember& member, const std::string& name);
  FileResult ClearName(const std::string& name);
  FileResult SettleDirectories();

  const os::Fd& directory_;
  const uint64_t max_bytes_;
  const uint64_t max_entries_;
  const std::unique_ptr<char[]> buffer_;
  // The directory of the previous member, which usually is that of the next one
  // too.
  os::Fd parent_;
  std::string parent_path_;
  // Directories get their mode and time only at the end, when nothing will be
  // made in them any more.
  std::vector<Settled> directories_;
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
  uint64_t left_out_ = 0;
  uint64_t missing_count_ = 0;
  std::vector<Missing> missing_;
};

// Removes the redundant parts of a member's path ("./", "//", a slash at its
// end); "" is the archive's own top directory. kBadArchive for a path that
// could lead outside or that no file can have.
FileResult CleanMemberPath(absl::string_view path, std::string& clean);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_ARCHIVE_UNPACK_H_
