// Certificates as Java's own format has them.
#include "sandbox/yard/java_key_store.h"

#include <string>

#include "gtest/gtest.h"

namespace sandglass::sandbox {
namespace {

using namespace std::string_literals;

constexpr size_t kSumBytes = 20;

std::string WithoutSum(const std::string& store) {
  EXPECT_GE(store.size(), kSumBytes);
  return store.substr(0, store.size() - kSumBytes);
}

TEST(JavaKeyStore, HasEachCertificate) {
  const std::string store = MakeJavaKeyStore(
      "# Some authority\n"
      "-----BEGIN CERTIFICATE-----\nAQID\nBAU=\n-----END CERTIFICATE-----\n"
      "\n-----BEGIN CERTIFICATE-----\nBgc=\n-----END CERTIFICATE-----\n");
  EXPECT_EQ(WithoutSum(store),
            "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2"
            "\0\0\0\2\0\x09trusted-1\0\0\0\0\0\0\0\0"
            "\0\5X.509\0\0\0\5\1\2\3\4\5"
            "\0\0\0\2\0\x09trusted-2\0\0\0\0\0\0\0\0"
            "\0\5X.509\0\0\0\2\6\7"s);
}

TEST(JavaKeyStore, LeavesOutWhatIsNone) {
  const std::string none = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\0"s;
  for (const char* text :
       {"", "a text", "-----BEGIN CERTIFICATE-----\nAQID\n",
        "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"}) {
    EXPECT_EQ(WithoutSum(MakeJavaKeyStore(text)), none) << text;
  }
}

}  // namespace
}  // namespace sandglass::sandbox
