#include "server/base/digest.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

// Fetched once, because EVP_sha256() would look the algorithm up at each use
// (crypto(7), "Implicit fetching").
const EVP_MD* TheDigest() {
  static const EVP_MD* const kDigest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kDigest;
}

}  // namespace

Digest::Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  EVP_DigestInit_ex(context_.get(), TheDigest(), nullptr);
}

void Digest::AddBytes(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

void Digest::Add(std::string_view text) {
  AddBytes(absl::StrCat(text.size(), ":"));
  AddBytes(text);
}

void Digest::AddNumber(uint64_t number) { Add(absl::StrCat(number)); }

void Digest::AddAll(const std::vector<std::string>& texts) {
  AddNumber(texts.size());
  for (const std::string& text : texts) Add(text);
}

void Digest::AddPairs(
    const std::vector<std::pair<std::string, std::string>>& pairs) {
  AddNumber(pairs.size());
  for (const auto& [name, value] : pairs) {
    Add(name);
    Add(value);
  }
}

std::string Digest::Finish() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), bytes, &size);
  return {reinterpret_cast<const char*>(bytes), size};
}

std::string Digest::Hex() { return absl::BytesToHexString(Finish()); }

std::string Sha256(std::string_view bytes) {
  Digest digest;
  digest.AddBytes(bytes);
  return digest.Finish();
}

}  // namespace sandglass::server
