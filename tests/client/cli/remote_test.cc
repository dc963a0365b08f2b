// The client over TLS: who it proves to be, and what it says when it can't.

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/connection/daemon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/tls_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// What would betray the token.
constexpr char kSecret[] = "sg_id_verysecret";

SubprocessOptions With(SubprocessOptions options,
                       const std::vector<std::string>& variables) {
  options.env.insert(options.env.end(), variables.begin(), variables.end());
  return options;
}

TEST(CliRemoteTest, SendsItsTokenOverTlsAndShowsWhoItIs) {
  const TlsDaemon daemon;
  // White space at its end is no part of it.
  daemon.Secret("token", absl::StrCat(kSecret, "\n"));
  const SubprocessResult result =
      daemon.RunClient({"whoami", "--address", daemon.address(), "--ca",
                        "ca.pem", "--token-file", "token"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("team-a"), HasSubstr("run,files"),
                                HasSubstr("a token"), Not(HasSubstr(kSecret))));
  EXPECT_THAT(daemon.Proofs(), ElementsAre("Bearer sg_id_verysecret"));
}

TEST(CliRemoteTest, TakesEveryFormOfAnAddressAndTheVariables) {
  const TlsDaemon daemon;
  for (const std::string& address :
       {"https://" + daemon.address() + "/", "dns:///" + daemon.address(),
        daemon.address()}) {
    const SubprocessResult result = RunProcess(
        With(daemon.Client({"whoami", "--json"}),
             {"SANDGLASS_ADDRESS=" + address, "SANDGLASS_CA=" + daemon.ca(),
              absl::StrCat("SANDGLASS_TOKEN=", kSecret)}));
    EXPECT_EQ(result.exit_code, 0) << address << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"tokenId\":\"abc\""));
  }
  EXPECT_THAT(daemon.Proofs(),
              AllOf(SizeIs(3), Each("Bearer sg_id_verysecret")));
}

TEST(CliRemoteTest, ATokenTurnsOverOnAnOpenConnection) {
  const TlsDaemon daemon;
  Endpoint endpoint = daemon.endpoint();
  endpoint.token_file = daemon.Secret("token", "first");
  const absl::StatusOr<Daemon> opened = OpenDaemon(endpoint);
  ASSERT_TRUE(opened.ok()) << opened.status();
  for (const char* token : {"first", "second"}) {
    daemon.Secret("token", token);
    grpc::ClientContext context;
    v1::WhoAmIResponse who;
    EXPECT_TRUE(opened->identity->WhoAmI(&context, {}, &who).ok());
  }
  EXPECT_THAT(daemon.Proofs(), ElementsAre("Bearer first", "Bearer second"));
}

TEST(CliRemoteTest, ProvesItselfByACertificate) {
  TlsDaemon::Options options;
  options.asks_clients = true;
  const TlsDaemon daemon(options);
  daemon.MakeClient("ci");
  const std::vector<std::string> base = {"whoami", "--address",
                                         daemon.address(), "--ca", "ca.pem"};
  std::vector<std::string> proved = base;
  proved.insert(proved.end(), {"--cert", "ci.pem", "--key", "ci.key"});
  EXPECT_EQ(daemon.RunClient(proved).exit_code, 0);
  EXPECT_THAT(daemon.Names(), ElementsAre("ci"));
  const SubprocessResult none = daemon.RunClient(base);
  EXPECT_EQ(none.exit_code, 125);
  EXPECT_THAT(none.err, HasSubstr("want a client's certificate"));
  // Another authority's.
  const TlsDaemon other;
  other.MakeClient("mallory");
  proved[6] = other.directory().Path("mallory.pem");
  proved[8] = other.directory().Path("mallory.key");
  EXPECT_THAT(daemon.RunClient(proved).err,
              HasSubstr("refuse our certificate"));
  EXPECT_THAT(daemon.Names(), SizeIs(1));
}

// One line says what is wrong with it, and no token is sent.
void ExpectRefused(const TlsDaemon& daemon, const std::string& address,
                   const std::string& ca, const std::string& words) {
  const SubprocessResult result = RunProcess(
      With(daemon.Client({"whoami", "--address", address, "--ca", ca}),
           {absl::StrCat("SANDGLASS_TOKEN=", kSecret)}));
  EXPECT_EQ(result.exit_code, 125) << words;
  EXPECT_THAT(result.err, AllOf(HasSubstr(words), Not(HasSubstr(kSecret))));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1)
      << result.err;
  EXPECT_THAT(daemon.Proofs(), IsEmpty());
}

TEST(CliRemoteTest, SaysWhatIsWrongWithTheServer) {
  const TlsDaemon good;
  const TlsDaemon other;
  ExpectRefused(good, good.address(), other.ca(),
                "of an authority that is not in");
  TlsDaemon::Options options;
  options.hosts = {"sand.example.org", "10.0.0.7"};
  const TlsDaemon elsewhere(options);
  ExpectRefused(elsewhere, elsewhere.address(), elsewhere.ca(),
                "its certificate is for sand.example.org, 10.0.0.7, not for "
                "'localhost'");
  options = {};
  options.made = absl::Now() - absl::Hours(24 * 40);
  const TlsDaemon old(options);
  ExpectRefused(old, old.address(), old.ca(), "its certificate has expired");
  options = {};
  options.tls = false;
  const TlsDaemon plain(options);
  ExpectRefused(plain, plain.address(), plain.ca(), "speaks no TLS");
  ExpectRefused(good, "nowhere.invalid:8443", good.ca(),
                "the name 'nowhere.invalid' is not found");
}

TEST(CliRemoteTest, NobodyThereIsWaitedForAndThenSaid) {
  const TlsDaemon daemon;
  ExpectRefused(daemon, "localhost:1", daemon.ca(),
                "connection refused: nobody listens on that port");
}

TEST(CliRemoteTest, ATokenNeverGoesWithoutTls) {
  TlsDaemon::Options options;
  options.tls = false;
  const TlsDaemon daemon(options);
  SubprocessResult result =
      RunProcess(With(daemon.Client({"whoami", "--address", daemon.address()}),
                      {absl::StrCat("SANDGLASS_TOKEN=", kSecret)}));
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, AllOf(HasSubstr("never sent without TLS; give the "
                                          "daemon's authority with --ca"),
                                Not(HasSubstr(kSecret))));
  EXPECT_THAT(daemon.Proofs(), IsEmpty());
  // A unix socket is not a wire.
  result =
      RunProcess(With(daemon.Client({"whoami", "--address",
                                     "unix:" + daemon.directory().Path("s")}),
                      {absl::StrCat("SANDGLASS_TOKEN=", kSecret)}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(daemon.Proofs(), ElementsAre("Bearer sg_id_verysecret"));
}

TEST(CliRemoteTest, WrongTokenFilesAreRefusedWithoutAWordOfThem) {
  const TlsDaemon daemon;
  const std::pair<std::string, const char*> wrong[] = {
      {absl::StrCat(kSecret, " x"), "letters, digits and marks on one line"},
      {absl::StrCat(kSecret, "\nx: y"), "letters, digits and marks"},
      {absl::StrCat(kSecret, std::string(1, '\0')), "letters, digits"},
      {absl::StrCat(kSecret, std::string(9000, 'x')), "more than 8192 bytes"},
      {" \n", "there is no token in it"}};
  const auto ask = [&](const std::string& file) {
    return daemon.RunClient({"whoami", "--address", daemon.address(), "--ca",
                             "ca.pem", "--token-file", file});
  };
  for (const auto& [text, words] : wrong) {
    daemon.Secret("token", text);
    const SubprocessResult result = ask("token");
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_THAT(result.err, AllOf(HasSubstr(words), Not(HasSubstr(kSecret))));
  }
  const std::string open = daemon.Secret("token", kSecret);
  chmod(open.c_str(), 0640);
  EXPECT_THAT(ask("token").err,
              HasSubstr("others may read it (mode 0640), so it may be known; "
                        "close it with chmod 600 token"));
  EXPECT_THAT(ask("missing").err, HasSubstr("cannot read it"));
  EXPECT_THAT(ask("/").err, HasSubstr("not a regular file"));
  EXPECT_THAT(daemon.Proofs(), IsEmpty());
}

TEST(CliRemoteTest, TokensAreMadeShownAndRevoked) {
  TlsDaemon daemon;
  const auto token = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "token");
    words.insert(words.end(),
                 {"--address", daemon.address(), "--ca", "ca.pem"});
    return daemon.RunClient(std::move(words));
  };
  const SubprocessResult made =
      token({"create", "--tenant", "team-a", "--scope", "run,files", "--scope",
             "exec", "--profile", "strict", "--read-only", "--lifetime", "90d",
             "--note", "for ci"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "sg_abc_verysecret\n");
  EXPECT_THAT(made.err,
              AllOf(HasSubstr("for ci"), Not(HasSubstr("verysecret"))));
  const v1::CreateTokenRequest asked = daemon.created.Get();
  EXPECT_THAT(asked.scopes(),
              ElementsAre(v1::SCOPE_RUN, v1::SCOPE_FILES, v1::SCOPE_EXEC));
  EXPECT_THAT(asked.profiles(), ElementsAre("strict"));
  EXPECT_TRUE(asked.read_only());
  EXPECT_EQ(asked.lifetime().seconds(), 90 * 24 * 3600);
  EXPECT_THAT(token({"list"}).out,
              AllOf(HasSubstr("run (read-only)"), HasSubstr("(expired)"),
                    HasSubstr("a note")));
  EXPECT_EQ(token({"revoke", "abc"}).out, "revoked abc\n");
  EXPECT_EQ(token({"revoke", "xyz"}).exit_code, 125);
  const SubprocessResult value = token({"revoke", "sg_abc_verysecret"});
  EXPECT_EQ(value.exit_code, 125);
  EXPECT_THAT(value.err, AllOf(HasSubstr("by its id, not its value"),
                               Not(HasSubstr("verysecret"))));
  EXPECT_THAT(token({"create", "--scope", "root"}).err,
              HasSubstr("there are run, sessions, files"));
  EXPECT_THAT(token({"create", "--lifetime", "0d"}).err,
              HasSubstr("write days, as 90d"));
}

TEST(CliRemoteTest, AnOpenFileForATokenIsSaid) {
  const TlsDaemon daemon;
  const auto create = [&](const char* mask) {
    SubprocessOptions options = daemon.Client({});
    options.program = "/bin/sh";
    options.args = {"-c",
                    absl::StrCat("umask ", mask, "; ", SANDGLASS_BINARY,
                                 " token create --address ", daemon.address(),
                                 " --ca ca.pem >t", mask)};
    return RunProcess(options).err;
  };
  EXPECT_THAT(create("022"), HasSubstr("others may read the file with the "
                                       "token: chmod 600 it"));
  EXPECT_THAT(create("077"), Not(HasSubstr("others may read")));
}

TEST(CliRemoteTest, WhatIsSafeIsCalledAgain) {
  TlsDaemon daemon;
  const std::vector<std::string> where = {"--address", daemon.address(), "--ca",
                                          "ca.pem"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), where.begin(), where.end());
    return daemon.RunClient(std::move(words));
  };
  daemon.broken = 2;
  EXPECT_EQ(run({"info"}).exit_code, 0);
  EXPECT_THAT(daemon.Proofs(), SizeIs(3));
  // Two tries of one run have one id, so that it is carried out once.
  daemon.broken = 1;
  EXPECT_EQ(run({"run", "-l", "python", "-c", "1", "--no-stream"}).exit_code,
            0);
  ASSERT_THAT(daemon.RequestIds(), SizeIs(2));
  EXPECT_THAT(daemon.RequestIds(), Each(daemon.RequestIds()[0]));
  EXPECT_THAT(daemon.RequestIds()[0], HasSubstr("sandglass-"));
  daemon.broken = 2;
  EXPECT_EQ(
      run({"run", "-l", "python", "-c", "1", "--request-id", "mine"}).exit_code,
      0);
  ASSERT_THAT(daemon.RequestIds(), SizeIs(5));
  EXPECT_EQ(daemon.RequestIds()[2], "mine");
  EXPECT_EQ(daemon.RequestIds()[4], "mine");
  // What changes something is not.
  daemon.broken = 1;
  EXPECT_EQ(run({"token", "create"}).exit_code, 125);
}

// What runs on: its token is the daemon's, and it outlives a broken connection.
TEST(CliRemoteTest, McpReachesADaemonByTls) {
  TlsDaemon daemon;
  daemon.Secret("token", kSecret);
  SubprocessOptions options =
      daemon.Client({"--token-file", "token", "--address", daemon.address(),
                     "--ca", "ca.pem", "mcp"});
  options.input_pipe = true;
  Subprocess client(options);
  for (const char* id : {"1", "2"}) {
    client.Send(absl::StrCat(
        R"({"jsonrpc":"2.0","id":)", id,
        R"(,"method":"tools/call","params":{"name":"list_languages",)"
        R"("arguments":{}}})"
        "\n"));
    ASSERT_TRUE(client.ReadUntil(absl::StrCat("\"id\":", id, ",")));
  }
  client.CloseInput();
  const SubprocessResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out + result.err, Not(HasSubstr(kSecret)));
  EXPECT_THAT(daemon.Proofs(),
              AllOf(Not(IsEmpty()), Each("Bearer sg_id_verysecret")));
}

TEST(CliContextTest, NamesADaemon) {
  const TlsDaemon daemon;
  daemon.Secret("token", kSecret);
  const SubprocessResult added =
      daemon.RunClient({"context", "add", "team", "--address", daemon.address(),
                        "--ca", "ca.pem", "--token-file", "token"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  const std::string config =
      daemon.directory().Path(".config/sandglass/config");
  struct stat info = {};
  ASSERT_EQ(stat(config.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  // By name, by the variable, and once it is in use by itself, from everywhere.
  EXPECT_EQ(daemon.RunClient({"--context", "team", "whoami"}).exit_code, 0);
  EXPECT_EQ(
      RunProcess(With(daemon.Client({"whoami"}), {"SANDGLASS_CONTEXT=team"}))
          .exit_code,
      0);
  EXPECT_EQ(daemon.RunClient({"context", "use", "team"}).exit_code, 0);
  SubprocessOptions elsewhere = daemon.Client({"whoami"});
  elsewhere.directory = "/";
  EXPECT_EQ(RunProcess(elsewhere).exit_code, 0);
  EXPECT_THAT(daemon.Proofs(),
              AllOf(SizeIs(3), Each("Bearer sg_id_verysecret")));
  EXPECT_THAT(daemon.RunClient({"context", "list"}).out,
              HasSubstr(absl::StrCat("*       team  ", daemon.address())));
  EXPECT_THAT(daemon.RunClient({"context", "show", "--json"}).out,
              AllOf(HasSubstr("\"name\":\"team\""), HasSubstr("/token\"")));
  EXPECT_THAT(
      daemon.RunClient({"context", "add", "team", "--address", "h:1"}).err,
      HasSubstr("there is a context 'team' already"));
  EXPECT_EQ(daemon.RunClient({"context", "remove", "team"}).exit_code, 0);
  EXPECT_THAT(daemon.RunClient({"--context", "team", "whoami"}).err,
              HasSubstr("--context 'team': there is no such context"));
}

// Its token belongs to its daemon.
TEST(CliContextTest, TheOneInUseSaysNothingOfOtherDaemons) {
  const TlsDaemon daemon;
  const TlsDaemon other;
  daemon.Secret("token", kSecret);
  daemon.RunClient({"context", "add", "team", "--address", daemon.address(),
                    "--ca", "ca.pem", "--token-file", "token"});
  daemon.RunClient({"context", "use", "team"});
  EXPECT_EQ(daemon
                .RunClient({"whoami", "--address", other.address(), "--ca",
                            other.ca()})
                .exit_code,
            0);
  EXPECT_THAT(other.Proofs(), ElementsAre(""));
}

TEST(CliContextTest, ABrokenFileSaysWhereAndWhatToDo) {
  const TlsDaemon daemon;
  const std::string config =
      daemon.directory().Path(".config/sandglass/config");
  daemon.RunClient({"context", "add", "a", "--address", "h:1"});
  testing::WriteFile(config, "{\n  \"contexts\": {\n");
  const SubprocessResult broken = daemon.RunClient({"whoami"});
  EXPECT_EQ(broken.exit_code, 125);
  EXPECT_THAT(broken.err, AllOf(HasSubstr(config), HasSubstr("line 3"),
                                HasSubstr("move it away: mv ")));
  testing::WriteFile(config,
                     R"({"contexts": {"a": {"address": "h:1", "tokn": "x"}}})");
  EXPECT_THAT(daemon.RunClient({"context", "list"}).err,
              HasSubstr("/contexts/a/tokn"));
  // Who says where the daemon is, or needs none, isn't held up.
  EXPECT_EQ(daemon
                .RunClient(
                    {"whoami", "--address", daemon.address(), "--ca", "ca.pem"})
                .exit_code,
            0);
  EXPECT_EQ(daemon.RunClient({"cert", "show", "ca.pem"}).exit_code, 0);
}

}  // namespace
}  // namespace sandglass::client
