#ifndef SANDGLASS_SERVER_BASE_DIGEST_H_
#define SANDGLASS_SERVER_BASE_DIGEST_H_

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandglass::server {

// A SHA-256 over texts, each preceded by its length, and over lists, each
// preceded by its count. So two different sequences of calls of the same shape
// never hash the same bytes, unless they use AddBytes.
class Digest {
 public:
  Digest();
  // Adds the bytes alone, without their length.
  void AddBytes(std::string_view bytes);
  void Add(std::string_view text);
  void AddNumber(uint64_t number);
  void AddAll(const std::vector<std::string>& texts);
  void AddPairs(const std::vector<std::pair<std::string, std::string>>& pairs);
  // These return 32 bytes and 64 hexadecimal digits. Call one of them, once, as
  // the last call.
  std::string Finish();
  std::string Hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// The SHA-256 of the bytes as they are: 32 bytes.
std::string Sha256(std::string_view bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_DIGEST_H_
