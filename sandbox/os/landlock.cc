#include "sandbox/os/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sandglass::os {
namespace {

// Debian 12's headers (6.1) end at ABI 2; the values are the kernel's
// (include/uapi/linux/landlock.h).
constexpr uint64_t kTruncate = 1ULL << 14;
constexpr uint64_t kIoctlDev = 1ULL << 15;
constexpr uint64_t kBindTcp = 1ULL << 0;
constexpr uint64_t kConnectTcp = 1ULL << 1;
constexpr uint64_t kScopeAbstractUnixSocket = 1ULL << 0;
constexpr uint64_t kScopeSignal = 1ULL << 1;

struct RulesetAttr {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // since ABI 4
  uint64_t scoped;              // since ABI 6
};

constexpr uint64_t kReadRights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteRights =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM;
// The rights that can apply to a file that isn't a directory.
constexpr uint64_t kFileRights =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
    LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kIoctlDev;

uint64_t HandledRights(int abi) {
  uint64_t rights = kReadRights | kWriteRights | LANDLOCK_ACCESS_FS_EXECUTE |
                    LANDLOCK_ACCESS_FS_MAKE_CHAR |
                    LANDLOCK_ACCESS_FS_MAKE_BLOCK;
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  return rights;
}

uint64_t AllowedRights(LandlockAccess access) {
  switch (access) {
    case LandlockAccess::kList:
      return LANDLOCK_ACCESS_FS_READ_DIR;
    case LandlockAccess::kRead:
      return kReadRights;
    case LandlockAccess::kReadExec:
      return kReadRights | LANDLOCK_ACCESS_FS_EXECUTE;
    case LandlockAccess::kDevice:
      return kReadRights | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate |
             kIoctlDev;
    case LandlockAccess::kFull:
      return kReadRights | kWriteRights | LANDLOCK_ACCESS_FS_EXECUTE |
             LANDLOCK_ACCESS_FS_REFER | kTruncate;
  }
  return 0;
}

Fd MakeRuleset(const RulesetAttr& attr) {
  // A kernel refuses a structure larger than it knows if the unknown part holds
  // anything but zeros.
  const size_t size = attr.handled_access_net == 0 && attr.scoped == 0
                          ? sizeof(attr.handled_access_fs)
                          : sizeof(attr);
  return Fd(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, size, 0)));
}

bool AddRule(const Fd& ruleset, const Fd& path, uint64_t rights) {
  struct landlock_path_beneath_attr beneath = {};
  beneath.parent_fd = path.get();
  beneath.allowed_access = rights;
  return ::syscall(SYS_landlock_add_rule, ruleset.get(),
                   LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0;
}

// Returns true also when there is no such path.
bool AddPath(const Fd& ruleset, const char* name, uint64_t rights) {
  const Fd path(::open(name, O_PATH | O_CLOEXEC));
  if (!path.valid()) return errno == ENOENT;
  struct stat info = {};
  if (::fstat(path.get(), &info) != 0) return false;
  return AddRule(ruleset, path,
                 S_ISDIR(info.st_mode) ? rights : rights & kFileRights);
}

}  // namespace

int LandlockAbi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0,
                             LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Fd MakeLandlockRuleset(int abi, absl::Span<const LandlockPath> paths,
                       LandlockScopes scopes) {
  RulesetAttr attr = {};
  attr.handled_access_fs = HandledRights(abi);
  if (abi >= 6 && scopes == LandlockScopes::kOwn) {
    attr.scoped = kScopeAbstractUnixSocket | kScopeSignal;
  }
  Fd ruleset = MakeRuleset(attr);
  for (const LandlockPath& rule : paths) {
    if (!ruleset.valid() ||
        !AddPath(ruleset, rule.path,
                 AllowedRights(rule.access) & attr.handled_access_fs)) {
      return Fd();
    }
  }
  return ruleset;
}

Fd MakeLandlockWriteRuleset(int abi, absl::Span<const std::string> paths) {
  RulesetAttr attr = {};
  attr.handled_access_fs = HandledRights(abi) & ~(kReadRights | kIoctlDev);
  Fd ruleset = MakeRuleset(attr);
  const uint64_t allowed =
      (kWriteRights | LANDLOCK_ACCESS_FS_REFER | kTruncate) &
      attr.handled_access_fs;
  for (const std::string& path : paths) {
    if (!ruleset.valid() || !AddPath(ruleset, path.c_str(), allowed)) {
      return Fd();
    }
  }
  return ruleset;
}

Fd MakeLandlockFillRuleset(int abi, const Fd& directory) {
  RulesetAttr attr = {};
  attr.handled_access_fs = HandledRights(abi);
  if (abi >= 4) attr.handled_access_net = kBindTcp | kConnectTcp;
  if (abi >= 6) attr.scoped = kScopeAbstractUnixSocket | kScopeSignal;
  constexpr uint64_t kFill =
      LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM |
      LANDLOCK_ACCESS_FS_REFER | kTruncate;
  Fd ruleset = MakeRuleset(attr);
  if (!ruleset.valid() ||
      !AddRule(ruleset, directory, kFill & attr.handled_access_fs)) {
    return Fd();
  }
  return ruleset;
}

bool LandlockRestrictSelf(const Fd& ruleset) {
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

}  // namespace sandglass::os
