#include "sandbox/yard/java_key_store.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sandglass::sandbox {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";

constexpr uint32_t kMagic = 0xfeedfeed;
constexpr uint32_t kVersion = 2;
constexpr uint32_t kTrusted = 2;  // an entry with a certificate and no key
constexpr std::string_view kPassword = "changeit";
// The format has these bytes between the password and the data
// (JavaKeyStore.java).
constexpr std::string_view kSalt = "Mighty Aphrodite";

void AddNumber(uint64_t number, int bytes, std::string& out) {
  while (bytes-- > 0) out.push_back(static_cast<char>(number >> (8 * bytes)));
}

// Adds a text in the format of DataOutput.writeUTF.
void AddText(std::string_view text, std::string& out) {
  AddNumber(text.size(), 2, out);
  out.append(text);
}

std::vector<std::string> CertificatesOf(std::string_view pem) {
  std::vector<std::string> certificates;
  for (;;) {
    const size_t begin = pem.find(kBegin);
    if (begin == std::string_view::npos) return certificates;
    pem.remove_prefix(begin + kBegin.size());
    const size_t end = pem.find(kEnd);
    if (end == std::string_view::npos) return certificates;
    std::string der;
    if (absl::Base64Unescape(absl::string_view(pem.data(), end), &der) &&
        !der.empty()) {
      certificates.push_back(std::move(der));
    }
    pem.remove_prefix(end + kEnd.size());
  }
}

}  // namespace

std::string MakeJavaKeyStore(std::string_view pem) {
  const std::vector<std::string> certificates = CertificatesOf(pem);
  std::string store;
  AddNumber(kMagic, 4, store);
  AddNumber(kVersion, 4, store);
  AddNumber(certificates.size(), 4, store);
  for (size_t i = 0; i < certificates.size(); ++i) {
    AddNumber(kTrusted, 4, store);
    AddText(absl::StrCat("trusted-", i + 1), store);
    AddNumber(0, 8, store);  // when it was added
    AddText("X.509", store);
    AddNumber(certificates[i].size(), 4, store);
    store.append(certificates[i]);
  }
  // The digest is of the password in UTF-16, this salt and everything before.
  std::string digested;
  for (const char c : kPassword) {
    AddNumber(static_cast<uint8_t>(c), 2, digested);
  }
  digested.append(kSalt).append(store);
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum = {};
  unsigned int size = 0;
  // A JVM that has no password doesn't check it.
  if (::EVP_Digest(digested.data(), digested.size(), sum.data(), &size,
                   ::EVP_sha1(), nullptr) == 1) {
    store.append(reinterpret_cast<const char*>(sum.data()), size);
  }
  return store;
}

}  // namespace sandglass::sandbox
