// The registries that this machine's own tools are configured with. Where one
// can't be reached without the sandbox either, its test says so.

#include <sched.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/e2e/libraries/library_fixture.h"
#include "tests/support/shell.h"

namespace sandglass::testing {
namespace {

struct Machine {
  const char* language;
  const char* library;
  const char* code;  // prints "ok"
  // The ordinary client fetches the same to the working directory.
  const char* fetch;
};

constexpr Machine kMachine[] = {
    {"python", "six==1.16.0",
     "import six\nprint('ok' if six.__version__ == '1.16.0' else 'no')\n",
     "/usr/bin/python3 -m pip download --no-cache-dir --no-deps six==1.16.0"},
    {"javascript", "is-number@7.0.0",
     "console.log(require('is-number')(5) ? 'ok' : 'no');\n",
     "npm pack --cache ./cache is-number@7.0.0"},
    {"go", "github.com/google/uuid@v1.6.0",
     "package main\n\nimport "
     "(\n\t\"fmt\"\n\n\t\"github.com/google/uuid\"\n)\n\n"
     "func main() {\n\tif len(uuid.NewString()) == 36 {\n"
     "\t\tfmt.Println(\"ok\")\n\t}\n}\n",
     "GOFLAGS=-modcacherw GOPATH=$PWD GOCACHE=$PWD/cache /usr/bin/go mod "
     "download github.com/google/uuid@v1.6.0"},
    {"ruby", "rake:13.0.6",
     "require 'rake'\nputs Rake::VERSION == '13.0.6' ? 'ok' : Rake::VERSION\n",
     "gem fetch rake -v 13.0.6 && ls rake-13.0.6.gem"},
    {"java", "junit:junit:4.13.2",
     "public class Main {\n  public static void main(String[] args) {\n"
     "    org.junit.Assert.assertEquals(1, 1);\n"
     "    org.hamcrest.CoreMatchers.is(1);\n"
     "    System.out.println(\"ok\");\n  }\n}\n",
     "java -jar /usr/share/java/ivy.jar -cache ./cache -warn -dependency junit "
     "junit 4.13.2"},
};

class LibrariesOfTheMachine : public OwnDaemonTest,
                              public ::testing::WithParamInterface<Machine> {
 protected:
  LibrariesOfTheMachine() : place_(MakeTestDirectory()) {
    MakeLibraryPolicy(place_);
    EXPECT_EQ(::setns(HostNetwork(), CLONE_NEWNET), 0);
  }
  ~LibrariesOfTheMachine() override {
    EXPECT_EQ(::setns(OwnNetwork(), CLONE_NEWNET), 0);
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
  }

  const std::string place_;
};

TEST_P(LibrariesOfTheMachine, AreInstalled) {
  const std::string said = RunShell(absl::StrCat(
      "mkdir ", place_, "/fetch && cd ", place_,
      "/fetch && export HOME=${HOME:-/root} && (timeout 60 sh -c '",
      GetParam().fetch, "') 2>&1 || echo can not be reached"));
  if (said.find("can not be reached\n") != std::string::npos) {
    GTEST_SKIP() << "the registry that this machine has for "
                 << GetParam().language
                 << " gives its own client nothing either: " << said;
  }
  ASSERT_NO_FATAL_FAILURE(
      StartDaemon({.config = absl::StrCat(R"({"libraries": {"dir": ")", place_,
                                          R"(/layers"}})"),
                   .extra_arguments = {"--policy-dir", place_ + "/policy"}}));
  const RunResult result = client().Run(WithLibraries(
      Program(GetParam().language, GetParam().code), {GetParam().library}));
  EXPECT_THAT(result, IsOk());
  EXPECT_EQ(result.response.stdout().data(), "ok\n")
      << Describe(result.response);
  StopDaemon();
}

INSTANTIATE_TEST_SUITE_P(Registries, LibrariesOfTheMachine,
                         ::testing::ValuesIn(kMachine), [](const auto& each) {
                           return std::string(each.param.language);
                         });

}  // namespace
}  // namespace sandglass::testing
