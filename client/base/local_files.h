#ifndef SANDGLASS_CLIENT_BASE_LOCAL_FILES_H_
#define SANDGLASS_CLIENT_BASE_LOCAL_FILES_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {

// What becomes of a regular file that is there already.
enum class ExistingFile { kKeep, kReplace };

// The permission bits here of what has `mode` elsewhere: without set-id, sticky
// and writing by others, and with its owner's `least`. The umask is not in it.
uint32_t LocalMode(uint32_t mode, uint32_t least);

// Opens the directory `name`, one component, in `parent`, making it when it is
// missing, with `mode` less the umask. A symbolic link in its place is an
// error.
absl::StatusOr<UniqueFd> EnterDirectory(int parent, const std::string& name,
                                        uint32_t mode = 0777);

// A file that is written under another name beside its place and put there in
// one step, so that nobody sees a part of it. One that is not placed leaves
// nothing.
class NewFile {
 public:
  // `directory` is borrowed and stays open as long as this lives; `name` is one
  // component. An error when something is there that is no regular file or,
  // with kKeep, anything at all.
  static absl::StatusOr<NewFile> Create(int directory, std::string name,
                                        ExistingFile existing);
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  absl::Status Write(absl::string_view bytes);

  // Gives it these permission bits as LocalMode has them, less the umask, and
  // its name. ALREADY_EXISTS with kKeep: something else has the name by now.
  absl::Status Place(uint32_t mode);

 private:
  NewFile(int directory, std::string name, std::string temporary, UniqueFd fd,
          ExistingFile existing)
      : directory_(directory),
        name_(std::move(name)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)),
        existing_(existing) {}

  int directory_;
  std::string name_;
  std::string temporary_;
  UniqueFd fd_;
  ExistingFile existing_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_LOCAL_FILES_H_
