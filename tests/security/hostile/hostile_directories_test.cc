// Directories in which somebody has commands started, named by whoever attacks:
// what init has open, what other processes have open, and links to either that
// the code made. A command starts inside the jail or not at all.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/exec/exec_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::AnyOf;

// Descriptors of init's have small numbers; some more, for whom they grow.
constexpr int kDescriptors = 48;

class HostileDirectories : public Exec {
 protected:
  ExecResult In(const std::string& directory) {
    // What shows where it stands: its path, its identity and what is above.
    v1::ExecSpec spec =
        Command("pwd -P; stat -c %d:%i .; ls -a ..; stat -c %d:%i ../../../..");
    spec.set_directory(directory);
    return Execute(spec);
  }
  void Make(const std::string& commands) {
    const ExecResult made = Execute(commands);
    ASSERT_THAT(made.status, IsOk());
    ASSERT_EQ(made.outcome(), v1::OUTCOME_OK) << made.err();
  }
  // It wasn't started, and the answer says why.
  static void ExpectRefused(const ExecResult& result,
                            const std::string& directory) {
    EXPECT_FALSE(result.started.has_value())
        << directory << " led to " << result.out();
    EXPECT_THAT(
        result.status.error_code(),
        AnyOf(grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND,
              grpc::StatusCode::FAILED_PRECONDITION))
        << directory << ": " << result.status.error_message();
    EXPECT_NE(result.status.error_message(), "");
  }
};

TEST_F(HostileDirectories, PathsOfProcAreRefused) {
  std::vector<std::string> names = {"/proc",
                                    "/proc/self/cwd",
                                    "/proc/self/root",
                                    "/proc/1/root",
                                    "/proc/1/cwd",
                                    "/proc/self/fd",
                                    "//proc/self/fd",
                                    "/./proc/self/fd",
                                    "/proc/thread-self/cwd",
                                    "/proc/1/ns",
                                    "/workspace/../proc",
                                    "../proc/self/cwd",
                                    "a/../../proc",
                                    "..",
                                    "/..",
                                    "/tmp/../.."};
  for (int fd = 0; fd < kDescriptors; ++fd) {
    names.push_back(absl::StrCat("/proc/self/fd/", fd));
    names.push_back(absl::StrCat("/proc/self/fd/", fd, "/../.."));
    names.push_back(absl::StrCat("/proc/thread-self/fd/", fd));
  }
  for (const std::string& name : names) {
    const ExecResult result = In(name);
    ExpectRefused(result, name);
    EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << name << ": " << result.status.error_message();
  }
}

TEST_F(HostileDirectories, LinksThatTheCodeMadeLeadNowhereElse) {
  Make(absl::StrCat(
      "for i in $(seq 0 ", kDescriptors - 1,
      "); do ln -s /proc/self/fd/$i fd$i; ln -s /proc/self/fd/$i/../.. up$i;"
      " ln -s fd$i chain$i; ln -s /proc/thread-self/fd/$i thread$i; done;"
      " ln -s /proc/self/cwd cwd; ln -s /proc/self/root root;"
      " ln -s /proc/1/root init; ln -s /proc/1/cwd initcwd;"
      " ln -s /dev/fd dev; ln -s loop loop; ln -s /dev/stdin in;"
      " mkdir below; ln -s ../fd8 below/fd8"));
  std::vector<std::string> names = {"cwd",   "root", "init", "initcwd",
                                    "dev/8", "loop", "in",   "below/fd8"};
  for (int fd = 0; fd < kDescriptors; ++fd) {
    for (const char* kind : {"fd", "up", "chain", "thread"}) {
      names.push_back(absl::StrCat(kind, fd));
    }
  }
  for (const std::string& name : names) {
    ExpectRefused(In(name), name);
    ExpectRefused(In(absl::StrCat("/workspace/", name)), name);
  }
}

TEST_F(HostileDirectories, LinksInsideTheJailWork) {
  Make(
      "mkdir -p deep/er; ln -s deep/er short; ln -s /tmp elsewhere;"
      " ln -s /workspace/deep absolute; ln -s ../../../../../tmp climbs");
  for (const auto& [name, place] :
       std::vector<std::pair<std::string, std::string>>{
           {"short", "/workspace/deep/er"},
           {"elsewhere", "/tmp"},
           {"absolute/er", "/workspace/deep/er"},
           {"climbs", "/tmp"},
           {"./deep/./er/", "/workspace/deep/er"},
           {"/", "/"},
           {"", "/workspace"},
           {".", "/workspace"},
           {"/usr/lib", "/usr/lib"}}) {
    const ExecResult result = In(name);
    ASSERT_THAT(result.status, IsOk()) << name;
    const std::vector<std::string> lines = absl::StrSplit(result.out(), '\n');
    EXPECT_EQ(lines.front(), place) << name;
  }
}

// The code swaps what a name is while commands are started in it.
TEST_F(HostileDirectories, ASwappedLinkLeadsInsideOrNowhere) {
  Make(
      "mkdir inside; ln -s inside a; for i in 4 5 6 7 8 9; do"
      " ln -s /proc/self/fd/$i out$i; done");
  const std::string swapper = Begin(Background(
      "while :; do for i in 4 5 6 7 8 9; do cp -P out$i new; mv -T new a;"
      " ln -s inside new; mv -T new a; done; done"));
  int started = 0;
  for (int i = 0; i < 120; ++i) {
    const ExecResult result = In("a");
    if (!result.started.has_value()) {
      ExpectRefused(result, "a");
      continue;
    }
    ++started;
    EXPECT_TRUE(absl::StartsWith(result.out(), "/workspace/inside\n"))
        << result.out();
  }
  EXPECT_GT(started, 0);
}

// Terminals, background commands and plain programs start in the same way.
TEST_F(HostileDirectories, EachKindOfCommandRefusesHostileDirectories) {
  Make("for i in $(seq 3 20); do ln -s /proc/self/fd/$i fd$i; done");
  for (int fd = 3; fd <= 20; ++fd) {
    const std::string name = absl::StrCat("fd", fd);
    v1::ExecSpec terminal = Command("pwd -P");
    terminal.mutable_terminal()->set_rows(24);
    terminal.set_directory(name);
    ExpectRefused(Execute(terminal), name);
    v1::ExecSpec program = Argv(session().id(), {"/usr/bin/env", "pwd"});
    program.set_directory(name);
    ExpectRefused(Execute(program), name);
    v1::ExecSpec background = Background("pwd -P");
    background.set_directory(name);
    v1::StartExecResponse response;
    EXPECT_FALSE(StartExec(background, absl::ZeroDuration(), &response).ok());
  }
}

}  // namespace
}  // namespace sandglass::testing
