#ifndef SANDGLASS_CLIENT_CERT_CERT_FILES_H_
#define SANDGLASS_CLIENT_CERT_CERT_FILES_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/base/local_files.h"
#include "client/base/unique_fd.h"
#include "client/cert/certificate.h"

namespace sandglass::client {

// The directory of an authority: ca.pem and ca.key, and NAME.pem and NAME.key
// for each certificate.
class CertDirectory {
 public:
  // Makes it with mode 0700 if it isn't there; one in which others may write is
  // refused.
  static absl::StatusOr<CertDirectory> Make(const std::string& path);
  static absl::StatusOr<CertDirectory> Open(const std::string& path);

  // NAME.pem and NAME.key.
  absl::StatusOr<Identification> Read(const std::string& name) const;
  absl::StatusOr<std::string> ReadCertificateOf(const std::string& name) const;

  // Fails before anything is written when there is one of the two files and
  // `existing` is kKeep. Both get mode 0600; the key is there first.
  absl::Status Write(const std::string& name, const Identification& made,
                     ExistingFile existing) const;
  // Replaces NAME.pem in one step.
  absl::Status ReplaceCertificate(const std::string& name,
                                  const std::string& pem) const;

  std::string PathOf(const std::string& file) const;

 private:
  CertDirectory(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Put(const std::string& file, const std::string& text,
                   ExistingFile existing) const;

  std::string path_;  // absolute
  UniqueFd fd_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CERT_CERT_FILES_H_
