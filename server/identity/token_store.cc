#include "server/identity/token_store.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/io.h"
#include "server/base/digest.h"
#include "server/base/log.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr char kFile[] = "tokens.json";
constexpr char kDraft[] = "tokens.json.new";
constexpr absl::Duration kRemember = absl::Hours(24 * 7);
constexpr uint64_t kMaxBytes = uint64_t{1} << 20;

absl::Status Wrong(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

std::vector<Token>::iterator PlaceOf(std::vector<Token>& tokens,
                                     const std::string& id) {
  return std::ranges::find(tokens, id, &Token::id);
}

absl::Status CantWrite(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("can't write ", path, ": ", ErrorText(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenStore>> TokenStore::Open(
    os::Fd directory, const std::string& path, WallClock clock) {
  std::unique_ptr<TokenStore> store(new TokenStore(
      std::move(directory), absl::StrCat(path, "/", kFile), std::move(clock)));
  absl::MutexLock lock(&store->file_mutex_);
  if (absl::Status loaded = store->Load(); !loaded.ok()) return loaded;
  return store;
}

absl::Status TokenStore::Load() {
  const os::Fd file(::openat(directory_.get(), kFile,
                             O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file.valid()) {
    if (errno != ENOENT) return Wrong(path_, ErrorText(errno));
    version_.reset();
    Use({});
    return absl::OkStatus();
  }
  struct stat info = {};
  ::fstat(file.get(), &info);
  const Version version = {
      info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
      info.st_ctim.tv_sec * int64_t{1'000'000'000} + info.st_ctim.tv_nsec};
  if (version == version_) return absl::OkStatus();
  if (!S_ISREG(info.st_mode)) return Wrong(path_, "is no regular file");
  if ((info.st_mode & 077) != 0) {
    return Wrong(path_, "others may read or write it; chmod 600");
  }
  if (version.bytes > kMaxBytes) return Wrong(path_, "has more than 1 MiB");
  std::string text(version.bytes, '\0');
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  if (size < 0) return Wrong(path_, ErrorText(errno));
  text.resize(static_cast<size_t>(size));
  absl::StatusOr<std::vector<Token>> tokens = ReadTokens(path_, text);
  if (!tokens.ok()) return tokens.status();
  version_ = version;
  Use(*std::move(tokens));
  return absl::OkStatus();
}

void TokenStore::Use(std::vector<Token> tokens) {
  absl::MutexLock lock(&mutex_);
  tokens_ = std::move(tokens);
  places_.clear();
  for (size_t i = 0; i < tokens_.size(); ++i) places_[tokens_[i].id] = i;
}

void TokenStore::Refresh() {
  absl::MutexLock file_lock(&file_mutex_);
  absl::Status loaded = Load();
  if (!loaded.ok() && loaded != state()) {
    Log(LogLevel::kError, "tokens_not_read",
        {{"error", std::string(loaded.message())},
         {"so", "those that were in force stay"}});
  }
  absl::MutexLock lock(&mutex_);
  state_ = std::move(loaded);
}

std::optional<Identity> TokenStore::Find(absl::string_view value) const {
  const std::string hash = Sha256({value.data(), value.size()});
  const std::optional<absl::string_view> id = IdOfValue(value);
  absl::MutexLock lock(&mutex_);
  const auto place = places_.find(id.value_or(""));
  // Compared even where there is no such token, so that the time it takes
  // doesn't tell which ids there are.
  static const std::string kNoHash(hash.size(), '\0');
  const bool known = place != places_.end();
  const std::string& kept = known ? tokens_[place->second].sha256 : kNoHash;
  const bool equal =
      ::CRYPTO_memcmp(kept.data(), hash.data(), hash.size()) == 0;
  if (!known || !equal) return std::nullopt;
  const Token& token = tokens_[place->second];
  if (clock_() >= token.expires) return std::nullopt;
  return token.ToIdentity();
}

bool TokenStore::Has(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  const auto place = places_.find(id);
  return place != places_.end() && clock_() < tokens_[place->second].expires;
}

absl::Status TokenStore::Write(const std::vector<Token>& tokens) {
  const std::string text = TokensToJson(tokens);
  if (text.size() > kMaxBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the tokens would take more than 1 MiB in ", path_, "; revoke some"));
  }
  const int directory = directory_.get();
  ::unlinkat(directory, kDraft, 0);
  const os::Fd file(::openat(directory, kDraft,
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return CantWrite(path_);
  absl::Cleanup remove = [directory] { ::unlinkat(directory, kDraft, 0); };
  if (!os::WriteAll(file.get(), text) || ::fsync(file.get()) != 0 ||
      ::renameat(directory, kDraft, directory, kFile) != 0) {
    return CantWrite(path_);
  }
  std::move(remove).Cancel();
  if (::fsync(directory) != 0) return CantWrite(path_);
  return absl::OkStatus();
}

absl::StatusOr<std::string> TokenStore::Create(Token& token) {
  absl::MutexLock file_lock(&file_mutex_);
  // What somebody else wrote meanwhile must not be lost.
  if (absl::Status loaded = Load(); !loaded.ok()) return loaded;
  std::vector<Token> tokens = List();
  const absl::Time now = clock_();
  std::erase_if(tokens, [&](const Token& each) {
    return now - each.expires > kRemember;
  });
  if (tokens.size() >= kMaxTokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", tokens.size(), " tokens; revoke some"));
  }
  do {
    token.id = NewTokenId();
  } while (PlaceOf(tokens, token.id) != tokens.end());
  const std::string value = NewTokenValue(token.id);
  token.sha256 = Sha256(value);
  token.created = absl::FromUnixSeconds(absl::ToUnixSeconds(now));
  if (token.principal.empty()) {
    token.principal = absl::StrCat("token:", token.id);
  }
  tokens.push_back(token);
  if (absl::Status written = Write(tokens); !written.ok()) return written;
  Use(std::move(tokens));
  return value;
}

absl::StatusOr<Token> TokenStore::Revoke(const std::string& id) {
  absl::MutexLock file_lock(&file_mutex_);
  if (absl::Status loaded = Load(); !loaded.ok()) return loaded;
  std::vector<Token> tokens = List();
  const auto place = PlaceOf(tokens, id);
  if (place == tokens.end()) return absl::NotFoundError(id);
  Token token = std::move(*place);
  tokens.erase(place);
  if (absl::Status written = Write(tokens); !written.ok()) return written;
  Use(std::move(tokens));
  return token;
}

std::vector<Token> TokenStore::List() const {
  absl::MutexLock lock(&mutex_);
  return tokens_;
}

absl::Status TokenStore::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

}  // namespace sandglass::server
