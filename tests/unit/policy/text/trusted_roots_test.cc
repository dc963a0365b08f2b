#include "policy/text/trusted_roots.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::policy {
namespace {

TEST(TrustedRoots, AreSoughtWhereLibrariesOfDebianDontLook) {
  const testing::TempDir dir;
  const std::string& root = dir.path();
  EXPECT_EQ(TrustedRootsElsewhere(root), "");
  const auto put = [&](const std::string& path) {
    std::filesystem::create_directories(
        std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << "PEM";
    return root + path;
  };
  const std::string alpine = put("/etc/ssl/cert.pem");
  EXPECT_EQ(TrustedRootsElsewhere(root), alpine);
  const std::string fedora = put("/etc/pki/tls/certs/ca-bundle.crt");
  EXPECT_EQ(TrustedRootsElsewhere(root), fedora);
  // They find these by themselves.
  put("/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(TrustedRootsElsewhere(root), "");
}

}  // namespace
}  // namespace sandglass::policy
