#include "server/base/certificate_file.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"

namespace sandglass::server {
namespace {

// Counts the certificates; -1 when one isn't well formed.
int Certificates(const std::string& text) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> input(
      ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
      ::BIO_free);
  int count = 0;
  for (;;) {
    const std::unique_ptr<X509, decltype(&::X509_free)> certificate(
        ::PEM_read_bio_X509(input.get(), nullptr, nullptr, nullptr),
        ::X509_free);
    if (certificate == nullptr) break;
    ++count;
  }
  const bool at_end =
      ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ::ERR_clear_error();
  return at_end ? count : -1;
}

}  // namespace

absl::StatusOr<std::string> ReadCertificates(const std::string& setting,
                                             const std::string& path) {
  if (path.empty()) return "";
  absl::StatusOr<std::string> text = os::ReadWholeFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting, ": ", text.status().message()));
  }
  const int count = Certificates(*text);
  if (count > 0) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(setting, ": ", path,
                   count == 0 ? " has no certificate in PEM"
                              : " has a certificate that isn't well made"));
}

}  // namespace sandglass::server
