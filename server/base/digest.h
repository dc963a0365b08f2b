#ifndef SANDGLASS_SERVER_BASE_DIGEST_H_
#define SANDGLASS_SERVER_BASE_DIGEST_H_

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sandglass::server {

// SHA-256 over texts, each with its length before it, and lists, each with its
// count, so that no two sequences of calls of the same shape look alike.
class Digest {
 public:
  Digest();
  void Add(std::string_view text);
  void AddNumber(uint64_t number);
  void AddAll(const std::vector<std::string>& texts);
  void AddPairs(const std::vector<std::pair<std::string, std::string>>& pairs);
  // 64 hexadecimal digits. Call once, last.
  std::string Hex();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// SHA-256 of the bytes as they are: 32 bytes.
std::string Sha256(std::string_view bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_DIGEST_H_
