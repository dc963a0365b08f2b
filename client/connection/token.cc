#include "client/connection/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxTokenFile = 8192;

// Says nothing of the token but what kind of thing is wrong with it.
absl::StatusOr<std::string> CheckedToken(const std::string& where,
                                         absl::string_view text) {
  const absl::string_view token = absl::StripTrailingAsciiWhitespace(text);
  if (token.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": there is no token in it; sandglass token create prints one"));
  }
  if (token.size() > kMaxTokenFile) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": a token has at most ", kMaxTokenFile, " bytes"));
  }
  if (!std::ranges::all_of(
          token, [](unsigned char c) { return absl::ascii_isgraph(c); })) {
    return absl::InvalidArgumentError(absl::StrCat(
        where,
        ": a token is of letters, digits and marks on one line, without "
        "spaces or control characters; is that the right one?"));
  }
  return std::string(token);
}

class TokenPlugin final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenPlugin(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  // To read a small file takes less than to have another thread do so.
  bool IsBlocking() const override { return false; }

  grpc::Status GetMetadata(
      grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
      std::multimap<grpc::string, grpc::string>* metadata) override {
    const absl::StatusOr<std::string> token = TokenOf(endpoint_);
    if (!token.ok()) {
      return grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                          std::string(token.status().message()));
    }
    metadata->emplace(kAuthorization, BearerOf(*token));
    return grpc::Status::OK;
  }

  grpc::string DebugString() override { return "a token"; }

 private:
  const Endpoint endpoint_;
};

}  // namespace

std::string VisibleFileName(const std::string& path) {
  const bool is_token = path.find('/') == std::string::npos &&
                        (absl::StartsWith(path, "sg_") ||
                         absl::StartsWith(path, "eyJ"));  // a JWT's beginning
  return is_token ? "NAME (that is a token itself: put it into a file of your "
                    "own, or into SANDGLASS_TOKEN)"
                  : VisibleText(path);
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& flag,
                                           const std::string& path,
                                           size_t max_bytes) {
  const std::string where = absl::StrCat(flag, " ", VisibleFileName(path));
  // A FIFO must not hold us up.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat(where, ": cannot read it"));
  }
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": that is not a regular file"));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s: others may read it (mode %04o), so it may be known; close it with "
        "chmod 600 %s, and take another if others were on this machine",
        where, info.st_mode & 07777, VisibleText(path)));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(where, ": it belongs to uid ", info.st_uid,
                     ", you are uid ", geteuid(), "; use a file of your own"));
  }
  std::string text(max_bytes + 1, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t more = read(fd.get(), text.data() + got, text.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat(where, ": cannot read it"));
    }
    if (more == 0) break;
    got += static_cast<size_t>(more);
  }
  if (got > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        where, ": it has more than ", max_bytes, " bytes; is that the file?"));
  }
  text.resize(got);
  return text;
}

absl::StatusOr<std::string> TokenOf(const Endpoint& endpoint) {
  if (!endpoint.token.empty()) {
    return CheckedToken("SANDGLASS_TOKEN", endpoint.token);
  }
  if (endpoint.token_file.empty()) return "";
  const absl::StatusOr<std::string> text =
      ReadSecretFile("--token-file", endpoint.token_file, kMaxTokenFile);
  if (!text.ok()) return text.status();
  return CheckedToken(
      absl::StrCat("--token-file ", VisibleText(endpoint.token_file)), *text);
}

std::string BearerOf(const std::string& token) {
  return absl::StrCat("Bearer ", token);
}

std::shared_ptr<grpc::CallCredentials> TokenCredentials(Endpoint endpoint) {
  return grpc::MetadataCredentialsFromPlugin(
      std::make_unique<TokenPlugin>(std::move(endpoint)));
}

}  // namespace sandglass::client
