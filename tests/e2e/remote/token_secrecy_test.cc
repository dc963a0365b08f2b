// The value of a token is in nothing that a command, the daemon or the machine
// shows of it.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class RemoteSecrecy : public RemoteTest {
 protected:
  RemoteSecrecy() : home_(MakeTestDirectory()) {
    v1::CreateTokenRequest request;
    request.set_tenant("team-b");
    request.set_principal("ci");
    for (const v1::Scope scope :
         {v1::SCOPE_RUN, v1::SCOPE_SESSIONS, v1::SCOPE_FILES, v1::SCOPE_EXEC,
          v1::SCOPE_OPERATE}) {
      request.add_scopes(scope);
    }
    token_ = Token(request).value();
    // What is secret of it, and no other token has.
    secret_ = token_.substr(token_.size() - 24);
    WriteFile(home_ + "/token", token_);
    fs::permissions(home_ + "/token", fs::perms::owner_read);
  }
  ~RemoteSecrecy() override { fs::remove_all(home_); }

  // All that it writes. `how` brings the token.
  std::string Sandglass(const std::string& how, const std::string& words,
                        const std::string& address = "") {
    return RunShell(absl::StrCat(
        "exec 2>&1 </dev/null; cd ", home_, "; export HOME=", home_,
        " SANDGLASS_CA=", directory(), "/ca.pem; ", how, " timeout 20 ",
        SANDGLASS_BINARY, " --address ",
        address.empty() ? absl::StrCat("dns:///localhost:", port()) : address,
        " ", words));
  }

  std::string home_;
  std::string token_;
  std::string secret_;
};

TEST_F(RemoteSecrecy, NoCommandWritesIt) {
  WriteFile(home_ + "/wrong-ca.pem", TestIssuer("other").pem());
  const std::string variable = absl::StrCat("SANDGLASS_TOKEN=", token_);
  const std::string file =
      absl::StrCat("SANDGLASS_TOKEN_FILE=", home_, "/token");
  const std::vector<std::string> commands = {
      "run -l nothing -c 1",
      "--ca wrong-ca.pem whoami",
      "--ca /none whoami",
      "run --json -l python -c 'print(1)'",
      "whoami --json",
      "run -l python -c 'import os; print(dict(os.environ))'",
      "run -l bash -c 'env; set; cat /proc/*/environ; ps auxww'",
      "run",
      "run -l python --profile x -c 1",
      "session create python",
      "session list",
      "session list --json",
      "session exec none true",
      "layers list",
      "token list",
      "token list --json",
      "token create",
      "token revoke none",
      "info",
      "info --json",
      "status",
      "status --json",
      "usage",
      "ps",
      "ps --json",
      "top",
      "approvals",
      "languages",
      "policy test default /dev/null",
      "kill none",
      "mcp --help",
      "version",
      "help run",
      "doctor",
      "--cert /none --key /none whoami"};
  for (const std::string& how : {variable, file}) {
    // It counts, so that what follows was written with it.
    EXPECT_THAT(Sandglass(how, "whoami"), HasSubstr("team-b"));
    const size_t count = how == file ? 4 : commands.size();
    for (size_t i = 0; i < count; ++i) {
      EXPECT_THAT(Sandglass(how, commands[i]), Not(HasSubstr(secret_)))
          << commands[i];
    }
  }
  // Where nobody is, where TLS is, and where it isn't.
  for (const std::string& address :
       {std::string("localhost:1"), std::string("unix:/none"),
        absl::StrCat("127.0.0.1:", port()), daemon().address(),
        std::string("https://x y")}) {
    EXPECT_THAT(Sandglass(variable, "whoami", address), Not(HasSubstr(secret_)))
        << address;
  }
  EXPECT_THAT(
      Sandglass(absl::StrCat(
                    R"(printf '{"jsonrpc":"2.0","id":1,"method":"tools/call",)",
                    R"("params":{"name":"none"}}\n' |)", variable),
                "mcp"),
      Not(HasSubstr(secret_)));
  // In place of the file, and badly kept.
  EXPECT_THAT(Sandglass("", absl::StrCat("--token-file ", token_, " whoami")),
              Not(HasSubstr(secret_)));
  EXPECT_THAT(
      Sandglass(absl::StrCat("SANDGLASS_TOKEN_FILE=", token_), "whoami"),
      Not(HasSubstr(secret_)));
  for (const std::string& wrong :
       {absl::StrCat(token_, "x"), absl::StrCat(token_, " ", token_),
        absl::StrCat(token_, "\n"), token_.substr(1),
        absl::StrCat("Bearer ", token_)}) {
    EXPECT_THAT(
        Sandglass(absl::StrCat("SANDGLASS_TOKEN='", wrong, "'"), "whoami"),
        Not(HasSubstr(secret_)))
        << wrong.size();
  }
}

TEST_F(RemoteSecrecy, ContextsKeepItsPlaceAlone) {
  const auto context = [this](const std::string& words) {
    return RunShell(absl::StrCat("exec 2>&1; cd ", home_,
                                 "; export HOME=", home_, "; ",
                                 SANDGLASS_BINARY, " context ", words));
  };
  context(absl::StrCat("add team --address dns:///localhost:", port(), " --ca ",
                       directory(), "/ca.pem --token-file ", home_, "/token"));
  EXPECT_THAT(context("list"), HasSubstr("team"));
  EXPECT_THAT(context("list --json"), Not(HasSubstr(secret_)));
  EXPECT_THAT(context(absl::StrCat("add other --address dns:///localhost:",
                                   port(), " --token-file ", token_)),
              Not(HasSubstr(secret_)));
  EXPECT_THAT(RunShell(absl::StrCat("grep -r '", secret_, "' ", home_,
                                    "/.config || echo none")),
              HasSubstr("none"));
}

TEST_F(RemoteSecrecy, NeitherTheMachineNorTheDaemonShowsIt) {
  // The shell's own words don't have it either.
  const std::string how =
      absl::StrCat("SANDGLASS_TOKEN=$(cat ", home_, "/token)");
  const std::string running = RunShell(absl::StrCat(
      "cd ", home_, "; SANDGLASS_CA=", directory(), "/ca.pem ", how, " ",
      SANDGLASS_BINARY, " --address dns:///localhost:", port(),
      " run -l bash -c 'sleep 3' & sleep 1.5; cat /proc/[0-9]*/cmdline | tr "
      "'\\0' ' '; wait"));
  EXPECT_THAT(running, HasSubstr("sleep 3"));
  EXPECT_THAT(running, Not(HasSubstr(secret_)));
  Sandglass(absl::StrCat(how, "x"), "whoami");
  Sandglass(how, "run -l nothing -c 1");
  const std::string kept =
      RunShell(absl::StrCat("grep -rlaF '", secret_, "' ", directory(), " ",
                            daemon().directory(), " || echo none"));
  EXPECT_EQ(kept, "none\n");
}

}  // namespace
}  // namespace sandglass::testing
