#include "server/base/accounts.h"

#include <grp.h>
#include <pwd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr char kDefaultAccount[] = "sandglass";
constexpr size_t kEntryBytes = 64 << 10;

// Looks an entry up with a function such as getpwnam_r(3), and returns what
// `part` makes of it. The entry's texts live only so long.
template <typename Entry, typename Key, typename Part>
auto LookUp(int (*get)(Key, Entry*, char*, size_t, Entry**), Key key,
            const Part& part) {
  std::vector<char> buffer(kEntryBytes);
  Entry entry{};
  Entry* found = nullptr;
  const int error = get(key, &entry, buffer.data(), buffer.size(), &found);
  return error == 0 && found != nullptr ? std::optional(part(*found))
                                        : std::nullopt;
}

std::optional<Ids> FindUser(const std::string& name) {
  return LookUp(::getpwnam_r, name.c_str(), [](const passwd& user) {
    return Ids{user.pw_uid, user.pw_gid};
  });
}

absl::StatusOr<Ids> ParseNumbers(const std::string& user) {
  const std::vector<std::string> parts = absl::StrSplit(user, ':');
  Ids identity{};
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &identity.uid) ||
      !absl::SimpleAtoi(parts[1], &identity.gid)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "user: ", Quoted(user), " is neither an account nor \"uid:gid\""));
  }
  return identity;
}

}  // namespace

absl::StatusOr<Ids> ResolveIds(const std::string& user, uid_t uid_base) {
  if (user.empty()) {
    if (const auto account = FindUser(kDefaultAccount)) return *account;
    const uid_t uid = uid_base - 1;
    if (const auto owner = LookUp(::getpwuid_r, uid, [](const passwd& found) {
          return std::string(found.pw_name);
        })) {
      return absl::InvalidArgumentError(absl::StrCat(
          "user: is not set, there is no account \"", kDefaultAccount,
          "\", and uid ", uid, " belongs to ", Quoted(*owner),
          "; set \"user\" or another \"uid_base\""));
    }
    return Ids{uid, uid};
  }
  const auto account = FindUser(user);
  absl::StatusOr<Ids> identity = account ? *account : ParseNumbers(user);
  if (!identity.ok()) return identity;
  if (identity->uid == 0 || identity->gid == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("user: ", Quoted(user),
                     " is root; the server gives root up after start and needs "
                     "an account without rights"));
  }
  return identity;
}

absl::StatusOr<gid_t> ResolveGroup(const std::string& group, gid_t fallback) {
  if (group.empty()) return fallback;
  if (const auto known = LookUp(::getgrnam_r, group.c_str(),
                                [](const ::group& g) { return g.gr_gid; })) {
    return *known;
  }
  gid_t gid = 0;
  if (absl::SimpleAtoi(group, &gid)) return gid;
  return absl::InvalidArgumentError(absl::StrCat(
      "socket.group: ", Quoted(group), " is neither a group nor a number"));
}

absl::StatusOr<uid_t> ResolveUser(const std::string& user) {
  if (const auto account = FindUser(user)) return account->uid;
  uid_t uid = 0;
  if (absl::SimpleAtoi(user, &uid)) return uid;
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(user), " is neither an account nor a number"));
}

}  // namespace sandglass::server
