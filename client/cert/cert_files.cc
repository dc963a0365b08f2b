#include "client/cert/cert_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxPemFile = 1 << 20;

absl::Status Because(const absl::Status& status, const std::string& path) {
  return status.ok()
             ? status
             : absl::Status(status.code(), absl::StrCat(VisibleText(path), ": ",
                                                        status.message()));
}

}  // namespace

absl::StatusOr<CertDirectory> CertDirectory::Make(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make the directory ", VisibleText(path)));
  }
  return Open(path);
}

absl::StatusOr<CertDirectory> CertDirectory::Open(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("--dir ", VisibleText(path), ": cannot open it"));
  }
  if ((info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "--dir ", VisibleText(path),
        ": others may write there, and so replace an authority; close it with "
        "chmod 700, or take another"));
  }
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  return CertDirectory(error ? path : absolute, std::move(fd));
}

std::string CertDirectory::PathOf(const std::string& file) const {
  return (std::filesystem::path(path_) / file).lexically_normal().string();
}

absl::StatusOr<std::string> CertDirectory::ReadCertificateOf(
    const std::string& name) const {
  absl::StatusOr<FileContent> content =
      ReadInput(PathOf(name + ".pem"), kMaxPemFile);
  if (!content.ok()) return content.status();
  return std::move(content->bytes);
}

absl::StatusOr<Identification> CertDirectory::Read(
    const std::string& name) const {
  absl::StatusOr<std::string> certificate = ReadCertificateOf(name);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<FileContent> key =
      ReadInput(PathOf(name + ".key"), kMaxPemFile);
  if (!key.ok()) return key.status();
  return Identification{*std::move(certificate), std::move(key->bytes)};
}

absl::Status CertDirectory::Put(const std::string& file,
                                const std::string& text,
                                ExistingFile existing) const {
  absl::StatusOr<NewFile> out = NewFile::Create(fd_.get(), file, existing);
  if (!out.ok()) return Because(out.status(), PathOf(file));
  absl::Status done = out->Write(text);
  if (done.ok()) done = out->Sync();
  if (done.ok()) done = out->Place(0600);
  return Because(done, PathOf(file));
}

absl::Status CertDirectory::Write(const std::string& name,
                                  const Identification& made,
                                  ExistingFile existing) const {
  for (const char* end : {".pem", ".key"}) {
    const std::string file = name + end;
    struct stat info = {};
    if (existing == ExistingFile::kKeep &&
        fstatat(fd_.get(), file.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      return absl::AlreadyExistsError(absl::StrCat(
          VisibleText(PathOf(file)),
          " is there already and stays; --force replaces it, and what it has "
          "signed or proved is then worth nothing"));
    }
  }
  absl::Status put = Put(name + ".key", made.key, existing);
  return put.ok() ? Put(name + ".pem", made.certificate, existing) : put;
}

absl::Status CertDirectory::ReplaceCertificate(const std::string& name,
                                               const std::string& pem) const {
  return Put(name + ".pem", pem, ExistingFile::kReplace);
}

}  // namespace sandglass::client
