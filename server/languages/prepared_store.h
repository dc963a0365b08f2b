#ifndef SANDGLASS_SERVER_LANGUAGES_PREPARED_STORE_H_
#define SANDGLASS_SERVER_LANGUAGES_PREPARED_STORE_H_

#include <sys/types.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "sandbox/os/fd.h"
#include "server/base/cancel_token.h"

namespace sandglass::server {

// What preparations made, kept over restarts: a directory of the host with a
// subdirectory for each language and each state of the machine's software.
// Several daemons may share it. The directory belongs to the server's uid;
// jails see it read-only.
class PreparedStore {
 public:
  // Makes the directory as root, before the server gives up its rights. Refuses
  // a directory that belongs to somebody other than root and `owner`.
  static absl::StatusOr<PreparedStore> Open(const std::string& directory,
                                            uid_t owner, gid_t group);

  const std::string& directory() const { return directory_; }

  // True when the preparation's files are all there. Notes that they are used.
  bool Has(const std::string& name) const;

  // One preparation under way; nobody else makes the same one meanwhile.
  class Draft {
   public:
    // Copies a file into the draft. `path` is relative; `content` is read from
    // its start.
    absl::Status Add(const std::string& path, const os::Fd& content);
    // From now on Has returns true, also after a restart.
    absl::Status Complete();

   private:
    friend class PreparedStore;
    std::string path_;
    os::Fd lock_;
    os::Fd directory_;
  };
  // Returns an empty draft; what an earlier one left unfinished is removed.
  // Waits while another daemon makes the same preparation. CANCELLED when the
  // token fires.
  absl::StatusOr<Draft> Begin(const std::string& name,
                              CancelToken& cancel) const;

  // Removes what a failed draft left. Call it while that draft is still held.
  void Remove(const std::string& name) const;

  // Removes what nobody has used for 30 days and is not in `names`.
  void RemoveOld(const std::set<std::string>& names) const;

 private:
  explicit PreparedStore(std::string directory)
      : directory_(std::move(directory)) {}
  std::string directory_;
};

// Returns "<id>-<16 hexadecimal digits>". The digits are a digest of the
// preparation, of the executables it names and of the installed packages, so
// that any change of these makes a new preparation.
std::string PreparedName(const policy::Language& language);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_PREPARED_STORE_H_
