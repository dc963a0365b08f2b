#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/files.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/status.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::sandbox {
namespace {

// Reads the rights back from the kernel rather than trusting return values.
absl::Status VerifyNoRights(uid_t uid, gid_t gid) {
  uid_t ruid, euid, suid;
  gid_t rgid, egid, sgid;
  if (::getresuid(&ruid, &euid, &suid) != 0 ||
      ::getresgid(&rgid, &egid, &sgid) != 0) {
    return os::ErrnoStatus("getresuid");
  }
  if (ruid != uid || euid != uid || suid != uid || rgid != gid || egid != gid ||
      sgid != gid || ::getgroups(0, nullptr) != 0) {
    return absl::InternalError("ids are not what they were set to");
  }
  const absl::StatusOr<std::string> status =
      os::ReadSmallFile(AT_FDCWD, "/proc/self/status");
  if (!status.ok()) return status.status();
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    if (!absl::StartsWith(line, "Cap")) continue;
    if (!absl::EndsWith(line, "\t0000000000000000")) {
      return absl::InternalError(
          absl::StrCat("a capability is left after dropping all: ", line));
    }
  }
  if (uid != 0 && ::setuid(0) == 0) {
    return absl::InternalError("root could be had again");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DropPrivileges(uid_t uid, gid_t gid) {
  if (uid == 0 || gid == 0) {
    return absl::InvalidArgumentError("the server may not run as root");
  }
  // ORDER: dropping the bounding set needs CAP_SETPCAP, setting groups needs
  // CAP_SETGID; of the ids, the uid goes last.
  if (!os::DropBoundingSet()) return os::ErrnoStatus("drop bounding set");
  if (::setgroups(0, nullptr) != 0) return os::ErrnoStatus("setgroups");
  if (::setresgid(gid, gid, gid) != 0) {
    return os::ErrnoStatus("setresgid ", gid);
  }
  if (::setresuid(uid, uid, uid) != 0) {
    return os::ErrnoStatus("setresuid ", uid);
  }
  if (!os::SetCapabilities(0)) return os::ErrnoStatus("capset");
  if (!os::SetNoNewPrivs() || !os::SetNonDumpable()) {
    return os::ErrnoStatus("prctl");
  }
  return VerifyNoRights(uid, gid);
}

}  // namespace sandglass::sandbox
