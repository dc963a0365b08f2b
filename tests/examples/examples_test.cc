// The examples in client/examples, each built as its head says, with a real
// daemon. What they need comes from the registries that this machine's own
// tools are configured with; where one can't be reached, its tests say so.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "sandglass/v1/identity_service.grpc.pb.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/workloads.h"
#include "tests/support/network/tls_world.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr char kUnreachable[] = "can not be reached\n";

// All print the same.
MATCHER(IsWhatExamplesPrint, "") {
  return ExplainMatchResult(
      MatchesRegex("1\n4\n9\nOUTCOME_OK, (warm|cold): The program exited with "
                   "0 after [0-9.]+ m?s\\.\n21\nas it came\n"),
      arg, result_listener);
}

class Examples : public DaemonTest {
 protected:
  static void SetUpTestSuite() {
    DaemonTest::SetUpTestSuite();
    // The examples' runs ask for 5 s.
    policy_ = MakeTestDirectory();
    std::filesystem::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy_,
                          std::filesystem::copy_options::recursive);
    const std::string profile = policy_ + "/profiles/default.json";
    WriteFile(profile, absl::StrReplaceAll(ReadFile(profile),
                                           {{"\"wall_time\": \"30s\"",
                                             "\"wall_time\": \"4s\""}}));
    absl::StatusOr<std::unique_ptr<Daemon>> started =
        Daemon::Start({.extra_arguments = {"--policy-dir", policy_}});
    ASSERT_TRUE(started.ok()) << started.status();
    strict_ = *std::move(started);
    StartRemote();
  }
  // A daemon with TLS, and a token for it.
  static void StartRemote() {
    remote_files_ = MakeTestDirectory();
    const TestIssuer issuer("ours");
    const TestIssuer::Pair own = issuer.Issue({.names = "IP:127.0.0.1"});
    WriteFile(remote_files_ + "/cert.pem", own.certificate);
    WriteFile(remote_files_ + "/key.pem", own.key);
    std::filesystem::permissions(remote_files_ + "/key.pem",
                                 std::filesystem::perms::owner_read |
                                     std::filesystem::perms::owner_write);
    WriteFile(remote_files_ + "/ca.pem", issuer.pem());
    absl::StatusOr<std::unique_ptr<Daemon>> started = Daemon::Start(
        {.config = absl::StrCat(R"({"tls": {"certificate": ")", remote_files_,
                                R"(/cert.pem", "key": ")", remote_files_,
                                R"(/key.pem"}, "identity": {"tokens_dir": ")",
                                remote_files_, R"(/tokens"}})"),
         .extra_arguments = {"--listen", "tls:127.0.0.1:0"}});
    ASSERT_TRUE(started.ok()) << started.status();
    remote_ = *std::move(started);
    v1::CreateTokenResponse response;
    grpc::ClientContext context;
    const grpc::Status made =
        v1::IdentityService::NewStub(
            grpc::CreateChannel(remote_->address(),
                                grpc::InsecureChannelCredentials()))
            ->CreateToken(&context, v1::CreateTokenRequest(), &response);
    ASSERT_TRUE(made.ok()) << made.error_message();
    token_ = response.value();
  }
  // Its address with TLS.
  static std::string RemoteAddress() {
    const std::string log = remote_->LogTail(1000);
    const std::string kWord = "with TLS address=";
    const size_t at = log.find(kWord);
    EXPECT_NE(at, std::string::npos) << log;
    const std::string rest = log.substr(at + kWord.size());
    return rest.substr(0, rest.find_first_of(" \n"));
  }
  static void TearDownTestSuite() {
    if (strict_ != nullptr) {
      EXPECT_EQ(strict_->Stop(), absl::OkStatus());
    }
    strict_.reset();
    if (remote_ != nullptr) {
      EXPECT_EQ(remote_->Stop(), absl::OkStatus());
    }
    remote_.reset();
    std::filesystem::remove_all(policy_);
    std::filesystem::remove_all(remote_files_);
    DaemonTest::TearDownTestSuite();
  }

  // What the command writes, run by a shell in a copy of the examples, with
  // $PROTOS, and $ADDRESS of the daemon. /usr/bin first: Debian's own tools.
  std::string Run(const std::string& command) {
    return RunShell(absl::StrCat(
        "cd ", directory_.path(),
        " && unset PYTHONUNBUFFERED; export HOME=${HOME:-/root} PATH=/usr/bin:",
        "$PATH PROTOS=" SANDGLASS_SOURCE_DIR "/proto ADDRESS=",
        daemon().address(),
        " SOURCE=" SANDGLASS_SOURCE_DIR
        "/client/examples && ([ -d examples ] || cp -r $SOURCE examples) && ",
        "cd examples && ( ", command, " ) 2>&1"));
  }
  // The same; skips the test when the command fails for want of a registry.
  bool Fetch(const std::string& command) {
    said_ = Run(absl::StrCat("(timeout 400 sh -c '", command, "') || echo ",
                             kUnreachable));
    return !said_.ends_with(kUnreachable);
  }
  // Runs an example, which is a command without its argument.
  void Expect(const std::string& example) {
    // The program takes 0.9 s from its first line on. Held back, all lines come
    // at the end.
    EXPECT_THAT(
        Run(absl::StrCat("timeout 60 ", example, "$ADDRESS 2>&1 | bash -c '",
                         "read -r first; begin=${EPOCHREALTIME/./}; echo $first"
                         "; cat; if ((${EPOCHREALTIME/./} - begin > 300000)); "
                         "then echo as it came; fi'")),
        IsWhatExamplesPrint());
    // The reason that the daemon gives, and its message.
    EXPECT_THAT(Run(absl::StrCat("SANDGLASS_ADDRESS=", strict_->address(),
                                 " timeout 60 ", example)),
                MatchesRegex("INVALID_REQUEST: run\\.limits\\.wall_time: "
                             "[^\n]+\n"));
    // From elsewhere, with a token and without.
    const std::string remote =
        absl::StrCat("SANDGLASS_ADDRESS=", RemoteAddress(),
                     " SANDGLASS_CA=", remote_files_, "/ca.pem");
    EXPECT_THAT(Run(absl::StrCat(remote, " SANDGLASS_TOKEN=", token_,
                                 " timeout 60 ", example)),
                HasSubstr("0 after "));
    EXPECT_THAT(Run(absl::StrCat(remote, " timeout 60 ", example)),
                MatchesRegex("NO_CREDENTIALS: [^\n]+\n"));
    // One line, not a trace, and not success.
    const std::string failed = Run(absl::StrCat(
        "timeout 60 ", example, "unix:/nonexistent/sock && echo went well"));
    EXPECT_THAT(failed, AllOf(HasSubstr(": "), Not(HasSubstr("went well")),
                              Not(HasSubstr("\n\t")), Not(HasSubstr("\n  "))));
    EXPECT_LT(failed.size(), 400U);
  }

  std::string said_;

 private:
  // A daemon that refuses the examples' runs.
  static std::unique_ptr<Daemon> strict_;
  static std::string policy_;
  static std::unique_ptr<Daemon> remote_;
  static std::string remote_files_;
  static std::string token_;
  const TempDir directory_;
};

std::unique_ptr<Daemon> Examples::strict_;
std::string Examples::policy_;
std::unique_ptr<Daemon> Examples::remote_;
std::string Examples::remote_files_;
std::string Examples::token_;

#define FETCH_OR_SKIP(command)                                               \
  if (!Fetch(command)) {                                                     \
    ASSERT_FALSE(MustRun()) << said_;                                        \
    GTEST_SKIP() << "what this machine has as a registry does not give it: " \
                 << said_;                                                   \
  }

TEST_F(Examples, PythonExampleRuns) {
  FETCH_OR_SKIP(
      "python3 -m venv venv && venv/bin/pip install -q "
      "grpcio-tools==1.76.0 googleapis-common-protos==1.72.0");
  ASSERT_EQ(Run("mkdir python/stubs && venv/bin/python -m grpc_tools.protoc -I "
                "$PROTOS --python_out=python/stubs "
                "--grpc_python_out=python/stubs $PROTOS/sandglass/v1/*.proto"),
            "");
  Expect("env PYTHONPATH=python/stubs venv/bin/python python/first_call.py ");
}

// As it is built alone; the build of the project has it too.
TEST_F(Examples, CppExampleRuns) {
  const std::string built =
      Run("cmake -S cpp -B build -Dprotos=$PROTOS -DCMAKE_BUILD_TYPE=Debug "
          "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache) >/dev/null && "
          "cmake --build build -j2");
  ASSERT_THAT(built, HasSubstr("Built target first_call"));
  Expect("build/first_call ");
}

TEST_F(Examples, GoExampleRuns) {
  FETCH_OR_SKIP("cd go && go mod download");
  ASSERT_THAT(Run("cd go && ./generate.sh $PROTOS && go build -o first_call . "
                  "&& gofmt -l main.go && echo built"),
              AllOf(HasSubstr("built"), Not(HasSubstr("main.go"))));
  Expect("go/first_call ");
}

TEST_F(Examples, NodeExampleRuns) {
  FETCH_OR_SKIP("cd node && npm install --silent --no-audit --no-fund");
  Expect("env SANDGLASS_PROTOS=$PROTOS node node/first_call.mjs ");
}

TEST_F(Examples, RubyExampleRuns) {
  ASSERT_EQ(Run("mkdir ruby/stubs && grpc_tools_ruby_protoc -I $PROTOS "
                "--ruby_out=ruby/stubs --grpc_out=ruby/stubs "
                "$PROTOS/google/rpc/*.proto $PROTOS/sandglass/v1/*.proto"),
            "");
  // Ruby 3.3 warns of Debian's own build of gRPC.
  Expect(
      "bash -c 'ruby -I ruby/stubs ruby/first_call.rb \"$@\" "
      "2> >(grep -v \"warning: undefining the allocator\" >&2)' bash ");
}

TEST_F(Examples, JavaExampleRuns) {
  FETCH_OR_SKIP(
      "cd java && mvn -B -q -Dprotos=$PROTOS compile "
      "dependency:build-classpath -Dmdep.outputFile=classpath");
  Expect("java -cp java/target/classes:$(cat java/classpath) FirstCall ");
}

}  // namespace
}  // namespace sandglass::testing
