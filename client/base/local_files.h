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

// What happens to a regular file that exists already.
enum class ExistingFile { kKeep, kReplace };

// The local permission bits for something that has `mode` elsewhere: without
// set-id, sticky and write permission for others, but with the owner's bits in
// `min`. The umask isn't applied.
uint32_t LocalMode(uint32_t mode, uint32_t min);

// Opens the directory `name`, a single component, in `parent`. If it is
// missing, makes it with `mode` less the umask. A symbolic link in its place is
// an error.
absl::StatusOr<UniqueFd> EnterDirectory(int parent, const std::string& name,
                                        uint32_t mode = 0777);

// A file that is written under a temporary name in its directory and gets its
// name in one step, so that nobody sees a part of it. If it isn't placed,
// nothing remains.
class NewFile {
 public:
  // `directory` is borrowed and has to stay open as long as this object lives;
  // `name` is a single component. Fails when something exists there that isn't
  // a regular file or, with kKeep, anything at all.
  static absl::StatusOr<NewFile> Create(int directory, std::string name,
                                        ExistingFile existing);
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  absl::Status Write(absl::string_view bytes);

  // Has the content on the disk before the name is: without it, a machine that
  // crashes after Place may have an empty file.
  absl::Status Sync();

  // Gives the file these permission bits, after LocalMode and less the umask,
  // and its name. ALREADY_EXISTS with kKeep: something else has got the name by
  // now.
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
