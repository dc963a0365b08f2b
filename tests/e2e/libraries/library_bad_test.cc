// Names of libraries that are none, and packages that do harm while they are
// set up.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/libraries/library_fixture.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class LibrariesBadInput : public LibrariesTest {
 protected:
  // Refused before anything is installed, with the field's name.
  void ExpectRefused(const std::string& language,
                     const std::vector<std::string>& libraries) {
    const int requests = MainRegistry().Count();
    const RunResult result =
        Run(WithLibraries(Program(language, "1"), libraries));
    const std::string first = libraries.front().substr(0, 100);
    EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << language << ": " << first;
    EXPECT_EQ(DetailsOf(result.status).fields.count("libraries"), 1) << first;
    EXPECT_LT(result.status.error_message().size(), 4096);
    EXPECT_EQ(MainRegistry().Count(), requests) << first;
  }
};

TEST_F(LibrariesBadInput, NamesThatAreMoreThanNamesAreRefused) {
  for (const LibraryLanguage& language : LibraryLanguages()) {
    for (const char* name : {"",
                             " ",
                             "-r x",
                             "-r/etc/passwd",
                             "--index-url=http://a.test/",
                             "--target=/",
                             "-e .",
                             "sample --index-url http://a.test/",
                             "x; rm -rf /",
                             "$(id)",
                             "`id`",
                             "x && id",
                             "x | id",
                             "x > /tmp/x",
                             "git+https://a.test/x.git",
                             "https://a.test/x.whl",
                             "x @ https://a.test/x.whl",
                             "file:///etc/passwd",
                             "/etc/passwd",
                             ".",
                             "..",
                             "../x",
                             "./x",
                             "x/../y",
                             "a b",
                             "sample==",
                             "sample==1.0 -r x",
                             "sample\n--index-url=x",
                             "sample\r",
                             "sample\t1",
                             "s\xc3\xa4mple",
                             "\xd1\x95\x61mple",
                             "sample==1.0; python_version<'3'",
                             "user/repo",
                             "github:user/repo",
                             "sample#1.0",
                             "\"sample\"",
                             "%73ample",
                             "sample@file:../x",
                             "sample@npm:other@1",
                             "~/x",
                             "*",
                             "sample*",
                             "@scope/",
                             "a:b:[1,2)",
                             "a:b:LATEST",
                             "a:b:1.+",
                             "<x>:y:1",
                             "a:b:1:jar:sources",
                             "C:\\x"}) {
      ExpectRefused(language.id, {name});
    }
  }
}

TEST_F(LibrariesBadInput, TooManyAndTooLongOnesAreRefused) {
  for (const LibraryLanguage& language : LibraryLanguages()) {
    ExpectRefused(language.id,
                  std::vector<std::string>(10'000, language.libraries.front()));
    ExpectRefused(language.id, {std::string(1 << 20, 'a')});
    // More than a message may have is refused as such, by gRPC.
    ExpectRefused(language.id, {absl::StrCat(language.libraries.front(),
                                             std::string(1000, '0'))});
  }
  std::vector<std::string> many;
  many.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) many.push_back(absl::StrCat("p", i));
  ExpectRefused("python", many);
}

TEST_F(LibrariesBadInput, LanguagesWithoutARegistryHaveNone) {
  for (const char* language : {"bash", "c", "cpp", "perl"}) {
    const RunResult result =
        Run(WithLibraries(Program(language, "1"), {"sample"}));
    EXPECT_THAT(
        result.status.error_code(),
        AnyOf(grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND))
        << language;
  }
}

class LibrariesHarm : public LibrariesTest {
 protected:
  std::string Fails(const std::string& library, grpc::StatusCode code,
                    const std::string& reason) {
    std::string message = RunError(Importing({library}), code, reason);
    // Whoever comes next has what was there before.
    RunOk(Importing({"part==1.0"}));
    return message;
  }
  // Of directories of layers.
  static size_t Layers() {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(place_ + "/layers")) {
      count += entry.path().filename().string().size() == 64 ? 1 : 0;
    }
    return count;
  }
};

TEST_F(LibrariesHarm, SetUpThatCallsElsewhereIsTold) {
  EXPECT_THAT(Fails("calls", grpc::StatusCode::FAILED_PRECONDITION,
                    "LIBRARIES_NOT_INSTALLED"),
              AllOf(HasSubstr("elsewhere: "), HasSubstr("network: "),
                    HasSubstr("elsewhere.test.org")));
}

TEST_F(LibrariesHarm, SetUpThatWritesEverywhereLeavesNothing) {
  RunOk(WithLibraries(Python(R"(
import os, writes
left = [os.path.join(top, name)
        for place in ("/opt", "/usr/local", "/usr/lib/python3", "/etc", "/tmp",
                      "/dev/shm", "/var/tmp", "/workspace", os.environ["HOME"])
        for top, dirs, files in os.walk(place) for name in files
        if "left_behind" in name]
print(left or "ok")
)"),
                      {"writes"}));
  for (const char* place :
       {"/opt", "/etc", "/tmp", "/dev/shm", "/var/tmp",
        "/usr/lib/python3/dist-packages", "/usr/local/lib"}) {
    EXPECT_FALSE(fs::exists(absl::StrCat(place, "/left_behind.py"))) << place;
  }
}

TEST_F(LibrariesHarm, LinkThatLeadsOutIsRefused) {
  const size_t layers = Layers();
  EXPECT_THAT(
      RunError(Importing({"links"}), grpc::StatusCode::FAILED_PRECONDITION,
               "LIBRARIES_NOT_INSTALLED"),
      HasSubstr("leads_out"));
  EXPECT_EQ(Layers(), layers);
}

TEST_F(LibrariesHarm, PackageThatIsTooLargeIsNotKept) {
  const size_t layers = Layers();
  EXPECT_THAT(RunError(Importing({"big"}), grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "LIBRARIES_TOO_LARGE"),
              HasSubstr("larger than a layer may be"));
  EXPECT_EQ(Layers(), layers);
}

TEST_F(LibrariesHarm, ADependencyThatIsNotThereIsNamed) {
  EXPECT_THAT(Fails("needs-missing", grpc::StatusCode::FAILED_PRECONDITION,
                    "LIBRARIES_NOT_INSTALLED"),
              HasSubstr("not-there"));
}

}  // namespace
}  // namespace sandglass::testing
