// Which directories can be an image's root, and what of its /etc jails get.

#include "sandbox/yard/yard_root.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/yard/image_etc.h"
#include "tests/support/temp_dir.h"

namespace sandglass::sandbox {
namespace {

namespace fs = std::filesystem;
using sandglass::testing::TempDir;
using sandglass::testing::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ImageRoot : public ::testing::Test {
 protected:
  ImageRoot() {
    ::chmod(root_.path().c_str(), 0755);
    fs::create_directories(root_.Path("usr/bin"));
    fs::create_directory_symlink("usr/bin", root_.Path("bin"));
  }
  std::string Problem() const {
    return std::string(CheckImage({"tiny", root_.path()}).message());
  }
  TempDir root_;
};

TEST_F(ImageRoot, HasAUsrOfItsOwn) {
  // Only root's will do; the tests of this folder run as whoever they run as.
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(Problem().empty(), root) << Problem();
  fs::remove_all(root_.Path("usr"));
  EXPECT_THAT(Problem(), HasSubstr(root ? "/usr: No such file" : "chown root"));
  fs::create_directory_symlink("/usr", root_.Path("usr"));
  EXPECT_THAT(Problem(),
              HasSubstr(root ? "/usr is no directory" : "chown root"));
}

TEST_F(ImageRoot, IsNobodyElsesToChange) {
  for (const char* below : {"", "/usr"}) {
    const std::string path = root_.path() + below;
    ::chmod(path.c_str(), 0775);
    EXPECT_THAT(Problem(), HasSubstr("can be changed by others than root"));
    ::chmod(path.c_str(), 0755);
  }
}

TEST_F(ImageRoot, IsWhereNobodyElseCanPutAnother) {
  if (::geteuid() != 0) return;  // no directory here is root's
  fs::create_directories(root_.Path("srv/images/usr/bin"));
  fs::create_directory_symlink("usr/bin", root_.Path("srv/images/bin"));
  fs::create_directory_symlink("srv", root_.Path("link"));
  const auto problem = [&](const char* path) {
    return std::string(CheckImage({"tiny", root_.Path(path)}).message());
  };
  const std::string above = root_.Path("srv");
  EXPECT_EQ(problem("srv/images"), "");
  EXPECT_THAT(problem("link/images"),
              HasSubstr("write " + root_.Path("srv/images")));
  ::chmod(above.c_str(), 0777);
  EXPECT_THAT(problem("srv/images"),
              HasSubstr(above + ", on the way to it, can be"));
  ::chmod(above.c_str(), 01777);
  EXPECT_EQ(problem("srv/images"), "");
  ::chmod(above.c_str(), 0755);
  ASSERT_EQ(::chown(above.c_str(), 12345, 0), 0);
  EXPECT_THAT(problem("srv/images"),
              HasSubstr(above + ", on the way to it, can be"));
}

TEST_F(ImageRoot, HasAllInUsr) {
  fs::remove(root_.Path("bin"));
  fs::create_directory(root_.Path("bin"));
  EXPECT_THAT(Problem(), HasSubstr(::geteuid() == 0 ? "/bin is a directory"
                                                    : "chown root"));
}

TEST_F(ImageRoot, GivesItsEtcAndNoneOfTheHosts) {
  const auto sources = [this] {
    std::vector<std::string> names;
    for (const std::string& path : ImageSources(root_.path())) {
      names.push_back(path.substr(root_.Path("etc/").size()));
    }
    return names;
  };
  EXPECT_THAT(sources(), IsEmpty());
  for (const char* directory :
       {"R", "php/8.2", "ssl/private", "ssl/certs", "apt", "root-only"}) {
    fs::create_directories(root_.Path(absl::StrCat("etc/", directory)));
  }
  for (const char* file :
       {"R/Renviron", "php/8.2/php.ini", "ssl/openssl.cnf", "ssl/private/key",
        "shadow", "passwd", "ld.so.preload", "machine-id", "root-only/file",
        "apt/auth.conf", "apt/sources.list", "keytab"}) {
    WriteFile(root_.Path(absl::StrCat("etc/", file)), "");
  }
  fs::create_symlink("/usr/share/zoneinfo/UTC", root_.Path("etc/localtime"));
  ASSERT_EQ(::mkfifo(root_.Path("etc/fifo").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(root_.Path("etc/keytab").c_str(), 0640), 0);
  ASSERT_EQ(::chmod(root_.Path("etc/root-only").c_str(), 0700), 0);
  EXPECT_THAT(sources(), ElementsAre("R", "apt/sources.list", "localtime",
                                     "php", "ssl/certs", "ssl/openssl.cnf"));
  // No way out of it.
  fs::remove_all(root_.Path("etc/ssl"));
  fs::create_directory_symlink("/etc/ssl", root_.Path("etc/ssl"));
  EXPECT_THAT(sources(),
              ElementsAre("R", "apt/sources.list", "localtime", "php", "ssl"));
  fs::remove_all(root_.Path("etc"));
  fs::create_directory_symlink("/etc", root_.Path("etc"));
  EXPECT_THAT(sources(), IsEmpty());
}

TEST(HostEtc, IsAListWithWhatTheOperatorAdds) {
  const auto has = [](const std::vector<std::string>& added, const char* path) {
    const std::vector<std::string> sources = ImageSources("", added);
    return std::count(sources.begin(), sources.end(), path) == 1;
  };
  ASSERT_TRUE(fs::exists("/etc/login.defs"));
  EXPECT_TRUE(has({}, "/etc/os-release"));
  EXPECT_FALSE(has({}, "/etc/login.defs"));
  EXPECT_TRUE(has({"login.defs", "os-release"}, "/etc/login.defs"));
  EXPECT_TRUE(has({"os-release"}, "/etc/os-release"));
  // A secret isn't made public by naming it, nor what isn't there.
  for (const char* name : {"shadow", "ssl/private", "passwd", "no-such"}) {
    EXPECT_FALSE(has({name}, (std::string("/etc/") + name).c_str())) << name;
  }
}

}  // namespace
}  // namespace sandglass::sandbox
