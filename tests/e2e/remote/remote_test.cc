// Callers from elsewhere, over TLS, and what they may not do.

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/create_channel.h"
#include "sandbox/os/fd.h"
#include "sandglass/v1/exec_service.pb.h"
#include "sandglass/v1/file_service.pb.h"
#include "sandglass/v1/identity_service.pb.h"
#include "sandglass/v1/layer_service.pb.h"
#include "sandglass/v1/operator_service.grpc.pb.h"
#include "sandglass/v1/policy_service.pb.h"
#include "sandglass/v1/sandbox_service.pb.h"
#include "sandglass/v1/session_service.pb.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

// Nothing else refers to these files, which only describe services, so a linker
// would leave them out, and their descriptors with them.
[[gnu::used]] const void* const kDescribed[] = {
    &descriptor_table_sandglass_2fv1_2fsandbox_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fsession_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2ffile_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fexec_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fpolicy_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2flayer_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2foperator_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fidentity_5fservice_2eproto,
};

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using grpc::StatusCode;

class Remote : public RemoteTest {
 protected:
  static os::Fd Connect() {
    os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)) != 0) {
      socket.reset();
    }
    return socket;
  }
};

TEST_F(Remote, ATokenRunsPrograms) {
  RemoteCaller ci = With(Token("team-b", "ci"));
  v1::WhoAmIResponse who;
  ASSERT_TRUE(ci.WhoAmI(&who).ok());
  EXPECT_EQ(who.tenant(), "team-b");
  EXPECT_EQ(who.principal(), "ci");
  EXPECT_EQ(who.caller(), "team-b/ci");
  EXPECT_EQ(who.proof(), v1::PROOF_TOKEN);
  EXPECT_GT(who.expire_time().seconds(), absl::ToUnixSeconds(absl::Now()));
  // More than one record, both ways.
  v1::RunCodeRequest request =
      Python("import sys\ntext = sys.stdin.read()\nprint(text[::-1], end='')");
  request.set_stdin(absl::StrCat(std::string(4 << 20, 'x'), "y"));
  v1::RunCodeResponse response;
  const grpc::Status status =
      ci.Call(v1::SandboxService::NewStub(ci.channel()),
              &v1::SandboxService::Stub::RunCode, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.stdout().data().substr(0, 2), "yx");
  EXPECT_EQ(response.stdout().total_bytes(), (4u << 20) + 1);
}

TEST_F(Remote, SaysTheSameOfAllCredentialsThatAreWrong) {
  const v1::CreateTokenResponse token = Token("team-b", "ci");
  const std::string good = absl::StrCat("Bearer ", token.value());
  v1::CreateTokenRequest brief;
  brief.set_tenant("team-b");
  brief.mutable_lifetime()->set_seconds(1);
  const std::string expired = absl::StrCat("Bearer ", Token(brief).value());
  v1::WhoAmIResponse who;
  EXPECT_TRUE(Nobody({good}).WhoAmI(&who).ok());

  const grpc::Status none = Nobody().WhoAmI(&who);
  EXPECT_EQ(none.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(none), "NO_CREDENTIALS");

  v1::RevokeTokenRequest revoke;
  revoke.set_id(Token("team-b", "gone").token().id());
  std::string words;
  EXPECT_TRUE(WaitUntil([&] { return !Nobody({expired}).WhoAmI(&who).ok(); },
                        absl::Seconds(10)));
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{""},
        {"Bearer"},
        {token.value()},
        {good.substr(0, good.size() - 1)},
        {good + "0"},
        {good, good},
        {absl::StrCat("Bearer ", std::string(7000, 'x'))},
        {expired}}) {
    const grpc::Status status = Nobody(bad).WhoAmI(&who);
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << bad[0];
    EXPECT_EQ(ReasonOf(status), "BAD_CREDENTIALS") << bad[0];
    if (words.empty()) words = status.error_message();
    EXPECT_EQ(status.error_message(), words);
  }
}

TEST_F(Remote, ARevokedTokenIsOutOfForceAtOnce) {
  const v1::CreateTokenResponse token = Token("team-b", "ci");
  RemoteCaller ci = With(token);
  v1::WhoAmIResponse who;
  ASSERT_TRUE(ci.WhoAmI(&who).ok());
  grpc::ClientContext context;
  v1::RevokeTokenRequest revoke;
  revoke.set_id(token.token().id());
  v1::RevokeTokenResponse revoked;
  ASSERT_TRUE(Root()->RevokeToken(&context, revoke, &revoked).ok());
  EXPECT_EQ(ReasonOf(ci.WhoAmI(&who)), "BAD_CREDENTIALS");
  grpc::ClientContext again;
  const grpc::Status gone = Root()->RevokeToken(&again, revoke, &revoked);
  EXPECT_EQ(ReasonOf(gone), "TOKEN_NOT_FOUND");
}

TEST_F(Remote, TokensAreMadeByAdministratorsAloneAndWithNoMoreThanTheirOwn) {
  RemoteCaller user = With(Token("team-b", "user"));
  RemoteCaller admin =
      With(Token("team-b", "admin", {v1::SCOPE_ADMIN, v1::SCOPE_RUN}));
  const auto make = [](RemoteCaller& caller,
                       const v1::CreateTokenRequest& request) {
    v1::CreateTokenResponse made;
    return caller.Call(v1::IdentityService::NewStub(caller.channel()),
                       &v1::IdentityService::Stub::CreateToken, request, &made);
  };
  v1::CreateTokenRequest request;
  request.add_scopes(v1::SCOPE_RUN);
  EXPECT_EQ(ReasonOf(make(user, request)), "MISSING_SCOPE");
  EXPECT_TRUE(make(admin, request).ok());
  request.add_scopes(v1::SCOPE_OPERATE);
  const grpc::Status more = make(admin, request);
  EXPECT_EQ(more.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(more.error_message(), HasSubstr("operate is none of your own"));
  // Nor for others, or for longer.
  v1::CreateTokenRequest elsewhere;
  elsewhere.set_tenant("team-a");
  EXPECT_THAT(make(admin, elsewhere).error_message(),
              HasSubstr("is not your own, team-b"));
  v1::CreateTokenRequest as_account;
  as_account.set_principal("uid:0");
  EXPECT_THAT(make(admin, as_account).error_message(), HasSubstr("principal"));
  v1::ListTokensResponse listed;
  ASSERT_TRUE(admin
                  .Call(v1::IdentityService::NewStub(admin.channel()),
                        &v1::IdentityService::Stub::ListTokens,
                        v1::ListTokensRequest(), &listed)
                  .ok());
  for (const v1::Token& token : listed.tokens()) {
    EXPECT_EQ(token.tenant(), "team-b");
  }
  RemoteCaller bare = With(Token("team-b", "bare", {v1::SCOPE_ADMIN}));
  EXPECT_THAT(make(bare, v1::CreateTokenRequest()).error_message(),
              HasSubstr("of the usual ones you have none"));
  v1::CreateTokenRequest wrong;
  wrong.set_tenant("Team");
  wrong.set_principal("a b");
  wrong.set_note(std::string(257, 'x'));
  wrong.mutable_lifetime()->set_seconds(-1);
  EXPECT_THAT(make(admin, wrong).error_message(),
              AllOf(HasSubstr("tenant"), HasSubstr("4 more")));
}

TEST_F(Remote, ACertificateSaysWhoCalls) {
  v1::WhoAmIResponse who;
  RemoteCaller alice =
      Certified(issuer().Issue({.names = "URI:spiffe://test/team-a/alice"}));
  const grpc::Status status = alice.WhoAmI(&who);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(who.tenant(), "team-a");
  EXPECT_EQ(who.principal(), "spiffe://test/team-a/alice");
  EXPECT_EQ(who.proof(), v1::PROOF_CERTIFICATE);
  v1::RunCodeResponse response;
  EXPECT_TRUE(alice.Run("print(1)", &response).ok());
  // Of the authority, but nobody that the configuration knows.
  const grpc::Status unknown =
      Certified(issuer().Issue({.names = "URI:spiffe://test/b/x"}))
          .WhoAmI(&who);
  EXPECT_EQ(ReasonOf(unknown), "NO_CREDENTIALS");
}

TEST_F(Remote, CertificatesThatAreNotGoodGetNoConnection) {
  const std::string name = "URI:spiffe://test/team-a/alice";
  const TestIssuer::Pair revoked = issuer().Issue({.names = name});
  v1::WhoAmIResponse who;
  EXPECT_TRUE(Certified(revoked).WhoAmI(&who).ok());
  Put("crl.pem", issuer().Revoked({revoked.certificate}));
  EXPECT_TRUE(WaitUntil([&] { return !Certified(revoked).WhoAmI(&who).ok(); },
                        absl::Seconds(20)));
  const TestIssuer other("theirs");
  for (const TestIssuer::Pair& bad :
       {revoked, other.Issue({.names = name}),
        issuer().Issue({.names = name, .until = -absl::Minutes(1)}),
        issuer().Issue({.names = name, .from = absl::Minutes(10)})}) {
    EXPECT_EQ(Certified(bad).WhoAmI(&who).error_code(),
              StatusCode::UNAVAILABLE);
  }
  EXPECT_TRUE(Certified(issuer().Issue({.names = name})).WhoAmI(&who).ok());
  Put("crl.pem", issuer().Revoked({}));
}

TEST_F(Remote, EachMethodAsksForItsScope) {
  // A scope that no method in a session or a run asks for.
  RemoteCaller caller = With(Token("team-b", "nothing", {v1::SCOPE_APPROVE}));
  int asked = 0;
  int free = 0;
  for (const char* name : {"SandboxService", "SessionService", "FileService",
                           "ExecService", "PolicyService", "LayerService",
                           "OperatorService", "IdentityService"}) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            absl::StrCat("sandglass.v1.", name));
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      const grpc::Status status = caller.CallEmpty(
          absl::StrCat("/sandglass.v1.", name, "/", method->name()));
      const std::string reason = ReasonOf(status);
      if (reason == "MISSING_SCOPE") {
        EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
        ++asked;
      } else {
        ++free;
      }
      // None is answered to somebody unknown.
      EXPECT_EQ(ReasonOf(Nobody().CallEmpty(
                    absl::StrCat("/sandglass.v1.", name, "/", method->name()))),
                "NO_CREDENTIALS")
          << method->full_name();
    }
  }
  EXPECT_GE(asked, 35);
  EXPECT_LE(free, 10);
}

TEST_F(Remote, AnotherTenantIsToldNothingOfTheMachinesFiles) {
  RemoteCaller b = With(Token("team-b", "ci"));
  v1::GetStatusResponse status;
  ASSERT_TRUE(b.Call(v1::OperatorService::NewStub(b.channel()),
                     &v1::OperatorService::Stub::GetStatus,
                     v1::GetStatusRequest(), &status)
                  .ok());
  EXPECT_GT(status.conditions_size(), 0);
  for (const v1::Condition& each : status.conditions()) {
    EXPECT_EQ(each.detail(), "") << each.name();
  }
  const auto here = v1::OperatorService::NewStub(grpc::CreateChannel(
      daemon().address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  ASSERT_TRUE(here->GetStatus(&context, v1::GetStatusRequest(), &status).ok());
  EXPECT_NE(status.conditions(0).detail(), "");
}

TEST_F(Remote, WhoMayOnlyReadChangesNothing) {
  v1::CreateTokenRequest request;
  request.set_tenant("team-b");
  request.set_read_only(true);
  RemoteCaller reader = With(Token(request));
  v1::RunCodeResponse response;
  EXPECT_EQ(ReasonOf(reader.Run("print(1)", &response)), "READ_ONLY");
  v1::ListRunsResponse runs;
  EXPECT_TRUE(reader
                  .Call(v1::SandboxService::NewStub(reader.channel()),
                        &v1::SandboxService::Stub::ListRuns,
                        v1::ListRunsRequest(), &runs)
                  .ok());
}

TEST_F(Remote, ATokenForOneProfileRunsInThatAlone) {
  v1::CreateTokenRequest request;
  request.set_tenant("team-b");
  request.add_profiles("strict");
  RemoteCaller narrow = With(Token(request));
  v1::RunCodeResponse response;
  ASSERT_TRUE(narrow.Run("print(1)", &response).ok());
  EXPECT_EQ(response.profile(), "strict");
  v1::CreateSessionRequest create;
  create.set_profile("default");
  v1::CreateSessionResponse session;
  EXPECT_EQ(ReasonOf(narrow.Call(v1::SessionService::NewStub(narrow.channel()),
                                 &v1::SessionService::Stub::CreateSession,
                                 create, &session)),
            "PROFILE_DENIED");
}

TEST_F(Remote, TenantsSeeNothingOfEachOther) {
  RemoteCaller a = With(Token("team-a", "ci"));
  RemoteCaller b = With(Token("team-b", "ci"));
  v1::CreateSessionRequest create;
  create.set_language("python");
  v1::CreateSessionResponse session;
  ASSERT_TRUE(a.Call(v1::SessionService::NewStub(a.channel()),
                     &v1::SessionService::Stub::CreateSession, create, &session)
                  .ok());
  const std::string id = session.session().session_id();
  v1::RunCodeResponse run;
  ASSERT_TRUE(a.Run("open('secret', 'w').write('s'); print('mine')", &run,
                    "request-1", id)
                  .ok());

  // By guessing ids.
  v1::RunCodeResponse other;
  EXPECT_EQ(ReasonOf(b.Run("print(1)", &other, "", id)), "SESSION_NOT_FOUND");
  v1::GetSessionRequest get;
  get.set_session_id(id);
  v1::GetSessionResponse got;
  EXPECT_EQ(ReasonOf(b.Call(v1::SessionService::NewStub(b.channel()),
                            &v1::SessionService::Stub::GetSession, get, &got)),
            "SESSION_NOT_FOUND");
  v1::DownloadFilesRequest files;
  files.set_session_id(id);
  files.add_paths("secret");
  v1::DownloadFilesResponse downloaded;
  EXPECT_EQ(ReasonOf(b.Call(v1::FileService::NewStub(b.channel()),
                            &v1::FileService::Stub::DownloadFiles, files,
                            &downloaded)),
            "SESSION_NOT_FOUND");
  v1::StartExecRequest exec;
  exec.mutable_spec()->set_session_id(id);
  exec.mutable_spec()->add_argv("id");
  v1::StartExecResponse started;
  EXPECT_FALSE(b.Call(v1::ExecService::NewStub(b.channel()),
                      &v1::ExecService::Stub::StartExec, exec, &started)
                   .ok());
  v1::CancelRunRequest cancel;
  cancel.set_run_id(run.run_id());
  v1::CancelRunResponse cancelled;
  EXPECT_EQ(b.Call(v1::SandboxService::NewStub(b.channel()),
                   &v1::SandboxService::Stub::CancelRun, cancel, &cancelled)
                .error_code(),
            StatusCode::NOT_FOUND);
  // The same request id is another run.
  ASSERT_TRUE(b.Run("print('theirs')", &other, "request-1").ok());
  EXPECT_EQ(other.stdout().data(), "theirs\n");
  EXPECT_NE(other.run_id(), run.run_id());

  // By listing.
  v1::ListSessionsResponse listed;
  ASSERT_TRUE(b.Call(v1::SessionService::NewStub(b.channel()),
                     &v1::SessionService::Stub::ListSessions,
                     v1::ListSessionsRequest(), &listed)
                  .ok());
  EXPECT_THAT(listed.sessions(), IsEmpty());
  v1::ListRunsResponse runs;
  ASSERT_TRUE(b.Call(v1::SandboxService::NewStub(b.channel()),
                     &v1::SandboxService::Stub::ListRuns, v1::ListRunsRequest(),
                     &runs)
                  .ok());
  for (const v1::RunSummary& each : runs.runs()) {
    EXPECT_EQ(each.caller(), "team-b/ci");
  }
  // An account of this machine with the same right of its own sees neither.
  RemoteCaller operators =
      With(Token("ops", "x", {v1::SCOPE_OPERATE, v1::SCOPE_SESSIONS}));
  ASSERT_TRUE(operators
                  .Call(v1::SessionService::NewStub(operators.channel()),
                        &v1::SessionService::Stub::ListSessions,
                        v1::ListSessionsRequest(), &listed)
                  .ok());
  EXPECT_THAT(listed.sessions(), SizeIs(1));
}

TEST_F(Remote, AnotherCertificateCountsForNewConnections) {
  const std::string before = daemon().LogTail(1000);
  RemoteCaller old = With(Token("team-b", "ci"));
  v1::WhoAmIResponse who;
  ASSERT_TRUE(old.WhoAmI(&who).ok());
  const TestIssuer other("others");
  const TestIssuer::Pair next =
      other.Issue({.names = "DNS:localhost,IP:127.0.0.1"});
  const std::string key = ReadFile(absl::StrCat(directory(), "/key.pem"));
  const std::string certificate =
      ReadFile(absl::StrCat(directory(), "/cert.pem"));
  // Half of it is none.
  Put("cert.pem", next.certificate);
  ASSERT_TRUE(WaitUntil(
      [&] {
        return absl::StrContains(daemon().LogTail(50), "tls_not_reloaded");
      },
      absl::Seconds(20)));
  EXPECT_TRUE(With(Token("team-b", "ci")).WhoAmI(&who).ok());
  Put("key.pem", next.key);
  const std::string bearer =
      absl::StrCat("Bearer ", Token("team-b", "n").value());
  // One caller alone would wait ever longer before it connects again.
  EXPECT_TRUE(WaitUntil(
      [&] {
        return RemoteCaller(port(), other.pem(), {}, {bearer})
            .WhoAmI(&who)
            .ok();
      },
      absl::Seconds(20)));
  // The connection that there was goes on.
  EXPECT_TRUE(old.WhoAmI(&who).ok());
  Put("cert.pem", certificate);
  Put("key.pem", key);
  EXPECT_TRUE(
      WaitUntil([&] { return With(Token("team-b", "ci")).WhoAmI(&who).ok(); },
                absl::Seconds(20)));
}

TEST_F(Remote, ClientsThatSayNothingKeepNobodyOut) {
  std::vector<os::Fd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(Connect());
    ASSERT_TRUE(silent.back().valid());
    if (i % 2 == 0) {
      // The beginning of a handshake.
      (void)!::send(silent.back().get(), "\x16\x03\x01\x02\x00", 5,
                    MSG_NOSIGNAL);
    }
  }
  // The address itself has no more room, so its next ones wait for the end of
  // those; the socket for this machine isn't touched.
  EXPECT_THAT(Run(Bash("echo 1")), OutcomeIs(v1::OUTCOME_OK));
  silent.clear();
  v1::WhoAmIResponse who;
  EXPECT_TRUE(
      WaitUntil([&] { return With(Token("team-b", "ci")).WhoAmI(&who).ok(); },
                absl::Seconds(30)));
}

TEST_F(Remote, WhoTalksNonsenseIsDropped) {
  for (const std::string& words :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, 'x'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}) {
    const os::Fd socket = Connect();
    (void)!::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
    char answer[4096];
    ssize_t got = 1;
    while (got > 0) got = ::recv(socket.get(), answer, sizeof(answer), 0);
    EXPECT_LE(got, 0);
  }
  EXPECT_THAT(Run(Bash("echo 1")), OutcomeIs(v1::OUTCOME_OK));
}

// Last, since it leaves the address without credit for some time.
TEST_F(Remote, ZGuessingIsSlowed) {
  RemoteCaller good = With(Token("team-b", "ci"));
  v1::WhoAmIResponse who;
  ASSERT_TRUE(good.WhoAmI(&who).ok());
  grpc::Status status;
  for (int i = 0; i < 40; ++i) {
    status = Nobody({absl::StrCat("Bearer guess", i)}).WhoAmI(&who);
  }
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_REFUSALS");
  EXPECT_TRUE(good.WhoAmI(&who).ok());
  const std::string audit =
      ReadFile(absl::StrCat(directory(), "/audit/audit-0000000001.jsonl"));
  EXPECT_THAT(audit,
              AllOf(HasSubstr("\"caller_refused\""),
                    HasSubstr("\"token_created\""), HasSubstr("127.0.0.1"),
                    Not(HasSubstr("Bearer")), Not(HasSubstr("sg_"))));
}

}  // namespace
}  // namespace sandglass::testing
