// Programs find the libraries that they name, which are installed once.

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/libraries/library_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class LibrariesEach : public LibrariesTest,
                      public ::testing::WithParamInterface<const char*> {
 protected:
  const LibraryLanguage& language() const { return LanguageOf(GetParam()); }
  v1::RunCodeRequest Asking(const std::vector<std::string>& libraries) const {
    return WithLibraries(Program(GetParam(), language().code), libraries);
  }
};

TEST_P(LibrariesEach, AreInstalledOnceForAllWhoNameThem) {
  const v1::RunCodeResponse first = RunOk(Asking(language().libraries));
  EXPECT_TRUE(first.libraries().installed());
  EXPECT_THAT(first.libraries().layer_id(), SizeIs(64));
  EXPECT_THAT(first.libraries().libraries(), SizeIs(2));
  const int requests = MainRegistry().Count();
  EXPECT_GT(MainRegistry().Count(absl::StrCat(language().registry, "/")), 0);

  // In another order, and again: in jails that waited, too.
  const std::vector<std::string> turned(language().libraries.rbegin(),
                                        language().libraries.rend());
  for (int run = 0; run < 4; ++run) {
    const v1::RunCodeResponse again = RunOk(Asking(turned));
    EXPECT_FALSE(again.libraries().installed());
    EXPECT_EQ(again.libraries().layer_id(), first.libraries().layer_id());
  }
  EXPECT_EQ(MainRegistry().Count(), requests);
}

TEST_P(LibrariesEach, AreInstalledByTheCommandLine) {
  const client::SubprocessOptions command =
      CommandLine(GetParam(), language().one_code,
                  {"--library", language().libraries.front()});
  const client::SubprocessResult first = client::RunProcess(command);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, "ok\n");
  EXPECT_THAT(first.err, HasSubstr("libraries: "));
  const client::SubprocessResult again = client::RunProcess(command);
  EXPECT_EQ(again.out, "ok\n");
  EXPECT_THAT(again.err, Not(HasSubstr("libraries: ")));
}

TEST_P(LibrariesEach, ThatDontExistAreReportedInTheToolsWords) {
  EXPECT_THAT(RunError(Asking({language().missing}),
                       grpc::StatusCode::FAILED_PRECONDITION,
                       "LIBRARIES_NOT_INSTALLED"),
              HasSubstr(language().why_missing));
  EXPECT_THAT(RunError(Asking({language().no_version}),
                       grpc::StatusCode::FAILED_PRECONDITION,
                       "LIBRARIES_NOT_INSTALLED"),
              HasSubstr(language().why_no_version));
}

TEST_P(LibrariesEach, AreForNoProfileWithoutThem) {
  const int requests = MainRegistry().Count();
  EXPECT_THAT(RunError(WithLibraries(Program(GetParam(), language().code),
                                     language().libraries, "bare"),
                       grpc::StatusCode::PERMISSION_DENIED, "LIBRARIES_DENIED"),
              HasSubstr("bare"));
  EXPECT_EQ(MainRegistry().Count(), requests);
}

INSTANTIATE_TEST_SUITE_P(Languages, LibrariesEach,
                         ::testing::Values("python", "javascript", "go", "ruby",
                                           "java"),
                         [](const auto& each) { return each.param; });

class Libraries : public LibrariesTest {};

TEST_F(Libraries, ThatManyAskForAtOnceAreInstalledOnce) {
  const std::vector<RunResult> results = client().RunAll(
      std::vector<v1::RunCodeRequest>(8, Importing({"one==1.0"})), 8);
  for (const RunResult& result : results) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result.response.stdout().data(), "ok\n");
    EXPECT_EQ(result.response.libraries().layer_id(),
              results[0].response.libraries().layer_id());
  }
  EXPECT_EQ(MainRegistry().Count("files/one-1.0"), 1);
}

TEST_F(Libraries, MayHaveExtrasAndBeBuilt) {
  v1::RunCodeRequest request = Importing({"sample[more]==1.0", "built"});
  request.set_code("import sample, part, built\nprint('ok')\n");
  RunOk(request);
  const v1::RunCodeResponse without =
      Run(WithLibraries(Python("import part"), {"sample==1.0"})).response;
  EXPECT_THAT(without.stderr().data(), HasSubstr("No module named 'part'"));
}

// What npm asks for by default, as its users have it.
TEST_F(Libraries, MayHaveInstallScripts) {
  RunOk(WithLibraries(
      Program("javascript",
              "console.log(require('scripted').version === '1.0.0' ? 'ok' : "
              "'no')"),
      {"scripted@1.0.0"}));
}

TEST_F(Libraries, CanOnlyBeRead) {
  const v1::RunCodeResponse response = RunOk(WithLibraries(Python(R"(
import errno, os
place = "/opt/libraries"
attempts = [
    lambda: open(place + "/new.py", "w"),
    lambda: open(place + "/part/__init__.py", "a"),
    lambda: os.mkdir(place + "/directory"),
    lambda: os.remove(place + "/part/__init__.py"),
    lambda: os.rename(place + "/part", place + "/other"),
    lambda: os.symlink("/etc", place + "/link"),
    lambda: os.utime(place + "/part/__init__.py"),
    lambda: os.chmod(place + "/part/__init__.py", 0o777),
    lambda: os.chmod(place, 0o777),
    lambda: os.setxattr(place + "/part/__init__.py", "user.a", b"b"),
]
for i, attempt in enumerate(attempts):
    try:
        attempt()
        print(i, "done")
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            print(i, error)
if not any(os.access(os.path.join(top, name), os.W_OK)
           for top, dirs, files in os.walk(place) for name in dirs + files):
    print("ok")
)"),
                                                           {"part==1.0"}));
  EXPECT_THAT(response.libraries().libraries(), SizeIs(1));
}

TEST_F(Libraries, GiveTheirProgramNoNetwork) {
  const v1::RunCodeResponse response = RunOk(WithLibraries(Python(R"(
import os, socket
for address in [("93.184.216.40", 80), ("127.0.0.1", 3128)]:
    try:
        socket.create_connection(address, 5)
        print("reached", address)
    except OSError:
        pass
try:
    print("found", socket.getaddrinfo("registry.test.org", 80))
except socket.gaierror:
    pass
print([n for n in os.environ if "proxy" in n.lower() or n == "REGISTRY"] or "ok")
)"),
                                                           {"part==1.0"}));
  EXPECT_FALSE(response.has_network());
}

TEST_F(Libraries, AreOnlyWhereTheyAreNamed) {
  RunOk(Importing({"part==1.0"}));
  const char* const kLook =
      "import os\n"
      "try:\n"
      "    import part\n"
      "except ImportError:\n"
      "    there = os.path.isdir('/opt/libraries')\n"
      "    print((os.listdir('/opt/libraries') if there else []) or 'ok')\n";
  for (const char* profile : {"lib", "default"}) {
    v1::RunCodeRequest request = Python(kLook);
    request.set_profile(profile);
    EXPECT_FALSE(RunOk(request).has_libraries());
  }
}

TEST_F(Libraries, OfAListAreThoseAndTheirVersions) {
  v1::RunCodeRequest request = Importing({"sample"}, "picked");
  request.set_code(
      "import sample\nprint('ok' if sample.version == '1.0' else "
      "sample.version)\n");
  EXPECT_THAT(RunOk(request).libraries().libraries(),
              ::testing::ElementsAre("sample==1.0"));
  const auto denied = [&](const char* library) {
    return RunError(Importing({library}, "picked"),
                    grpc::StatusCode::PERMISSION_DENIED, "LIBRARIES_DENIED");
  };
  EXPECT_THAT(denied("two"), AllOf(HasSubstr("two"), HasSubstr("picked")));
  EXPECT_THAT(denied("helper"), HasSubstr("helper"));
  EXPECT_THAT(
      RunError(WithLibraries(Program("javascript", "1"), {"sample"}, "picked"),
               grpc::StatusCode::PERMISSION_DENIED, "LIBRARIES_DENIED"),
      HasSubstr("javascript"));
}

TEST_F(Libraries, OfAProfileThatIsOfflineAreThoseThatAreThere) {
  const int requests = MainRegistry().Count();
  EXPECT_THAT(
      RunError(Importing({"two==1.0"}, "offline"),
               grpc::StatusCode::FAILED_PRECONDITION, "LIBRARIES_UNAVAILABLE"),
      AllOf(HasSubstr("two==1.0"), HasSubstr("installed")));
  EXPECT_EQ(MainRegistry().Count(), requests);
  RunOk(Importing({"two==1.0"}));
  EXPECT_FALSE(
      RunOk(Importing({"two==1.0"}, "offline")).libraries().installed());
}

// Compiled programs are kept by what they were compiled with.
TEST_F(Libraries, AreACompiledProgramsOwn) {
  const LibraryLanguage& go = LanguageOf("go");
  RunOk(WithLibraries(Program("go", go.one_code), {go.libraries[0]}));
  v1::RunCodeRequest without = Program("go", go.one_code);
  without.set_profile("lib");
  EXPECT_EQ(Run(without).response.outcome(), v1::OUTCOME_COMPILE_ERROR);
}

}  // namespace
}  // namespace sandglass::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Of clients that go early.
  std::signal(SIGPIPE, SIG_IGN);
  // The names of the tests are asked for where there are no rights.
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  const int result =
      sandglass::testing::EnterLibraryWorld() ? RUN_ALL_TESTS() : 1;
  sandglass::testing::LeaveLibraryWorld();
  return result;
}
