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

// A file that is written under a name of its own beside its later one and then
// takes its place at once. Until then it goes away with its object. What is to
// be appended (WRITE_APPEND) is written there as well, so that an upload that
// is cut leaves nothing, and is then added to the end of the file that is
// there: who has that file open sees what came, and nobody else's bytes are
// lost.
class NewFile {
 public:
  NewFile() = default;
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Refuses what the code itself couldn't write.
  FileResult Begin(const os::Fd& root, const internal::WriteFile& request);
  FileResult Write(absl::string_view data);
  FileResult Commit();
  // Changes places with the file that is there, which goes away with this
  // object, unless they change places once more. Its mode is what Commit would
  // give it.
  FileResult ChangePlaces();
  // The facts of what has this one's first name: after ChangePlaces those of
  // the file that was there before.
  std::optional<struct stat> Aside() const;
  // The facts of what has the later name now.
  std::optional<struct stat> Named() const;

  int fd() const { return file_.get(); }
  // Of the file that was there.
  const std::optional<struct stat>& old() const { return old_; }
  uint64_t written() const { return written_; }

 private:
  FileResult CheckOld() const;
  FileResult MakeTemporary();
  std::optional<struct stat> FactsOf(const std::string& name) const;
  // Under its later name, with `flags` of renameat2(2).
  FileResult Rename(unsigned flags);
  // NOT_FOUND: there is no file to append to.
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

// With the content in the request itself.
FileResult WriteAtOnce(const os::Fd& root, const internal::WriteFile& request,
                       internal::FileReply& reply);
// With the content from a descriptor.
FileResult WriteFrom(FileTask& task, const internal::WriteFile& request,
                     const os::Fd& source, internal::FileReply& reply);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_NEW_FILE_H_
