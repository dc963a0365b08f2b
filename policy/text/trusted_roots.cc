#include "policy/text/trusted_roots.h"

#include <unistd.h>

namespace sandglass::policy {
namespace {

// Of Debian and what follows it, which the libraries of a bundle are from.
constexpr const char* kKnown = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kOthers[] = {
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // newer ones
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // Arch, Alpine
};

}  // namespace

std::string TrustedRootsElsewhere(const std::string& root) {
  if (::access((root + kKnown).c_str(), R_OK) == 0) return "";
  for (const char* path : kOthers) {
    if (::access((root + path).c_str(), R_OK) == 0) return root + path;
  }
  return "";
}

}  // namespace sandglass::policy
