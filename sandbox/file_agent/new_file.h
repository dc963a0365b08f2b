#ifndef SANDGLASS_SANDBOX_FILE_AGENT_NEW_FILE_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_NEW_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "internal/files.pb.h"
#include "sandbox/file_agent/file_paths.h"
#include "sandbox/file_agent/file_task.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// A file that is written under a temporary name in its directory and then takes
// its place at once. Until then, it is removed if this object is destroyed.
// What is to be appended (WRITE_APPEND) is also written there first, so that an
// upload that breaks off leaves nothing, and is then added to the end of the
// existing file: processes that have that file open see the addition, and no
// bytes of others are lost.
class NewFile {
 public:
  NewFile() = default;
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Fails where the sandboxed code itself couldn't write.
  FileResult Begin(const os::Fd& root, const internal::WriteFile& request);
  FileResult Write(absl::string_view data);
  FileResult Commit();
  // Exchanges the new file with the existing one, which is then removed with
  // this object unless they are exchanged again. The mode is the same as after
  // Commit.
  FileResult ChangePlaces();
  // The facts of the file that has the temporary name: after ChangePlaces, the
  // one that existed before.
  std::optional<struct stat> Aside() const;
  // The facts of the file that has the final name now.
  std::optional<struct stat> Named() const;

  int fd() const { return file_.get(); }
  // The facts of the file that existed before.
  const std::optional<struct stat>& old() const { return old_; }
  uint64_t written() const { return written_; }

 private:
  FileResult CheckOld() const;
  FileResult MakeTemporary();
  std::optional<struct stat> FactsOf(const std::string& name) const;
  // Renames it to its final name, with `flags` of renameat2(2).
  FileResult Rename(unsigned flags);
  // kNotFound: there is no file to append to.
  FileResult AppendToOld();

  Place place_;
  std::optional<struct stat> old_;
  internal::WriteDisposition disposition_ = internal::WRITE_REPLACE;
  mode_t mode_ = 0;
  bool set_mode_ = false;
  uint64_t max_bytes_ = 0;
  std::string temporary_;
  os::Fd file_;
  uint64_t written_ = 0;
};

// Writes content that is in the request itself.
FileResult WriteAtOnce(const os::Fd& root, const internal::WriteFile& request,
                       internal::FileReply& reply);
// Writes content that comes from a descriptor.
FileResult WriteFrom(FileTask& task, const internal::WriteFile& request,
                     const os::Fd& source, internal::FileReply& reply);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_NEW_FILE_H_
