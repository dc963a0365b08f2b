// What a gateway says of callers counts, and nobody else's word does; and what
// a node tells its gateways.

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "sandglass/node/v1/node_service.grpc.pb.h"
#include "server/base/random_id.h"
#include "server/edge/vouched_caller.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using node::v1::NodeService;
using node::v1::WatchLoadResponse;
using server::Identity;
using server::Scope;

Identity Caller(const std::string& tenant, const std::string& principal,
                server::Scopes scopes = server::Scopes::Usual()) {
  Identity caller{.name = server::NameOf(tenant, principal)};
  caller.tenant = tenant;
  caller.scopes = scopes;
  caller.proof = server::Proof::kToken;
  return caller;
}

class RemoteGateway : public RemoteTest {
 protected:
  RemoteGateway()
      : gateway_(Certified(
            issuer().Issue({.names = "URI:spiffe://test/gateways/one"}))) {}

  // A call that this connection makes for somebody.
  template <typename Service, typename Stub, typename Request,
            typename Response>
  static grpc::Status CallFor(const std::optional<Identity>& caller,
                              RemoteCaller& connection,
                              grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                           const Request&,
                                                           Response*),
                              const Request& request, Response* response) {
    grpc::ClientContext context;
    connection.Prepare(context);
    if (caller.has_value()) {
      context.AddMetadata(server::kCallerMetadata,
                          server::ToCallerMetadata(*caller));
    }
    return (Service::NewStub(connection.channel()).get()->*method)(
        &context, request, response);
  }
  static grpc::Status WhoAmI(const std::optional<Identity>& caller,
                             RemoteCaller& connection,
                             v1::WhoAmIResponse* who) {
    return CallFor<v1::IdentityService>(caller, connection,
                                        &v1::IdentityService::Stub::WhoAmI,
                                        v1::WhoAmIRequest(), who);
  }
  grpc::Status RunFor(const Identity& caller, const std::string& code,
                      v1::RunCodeResponse* response) {
    v1::RunCodeRequest request = Bash(code);
    return CallFor<v1::SandboxService>(caller, gateway_,
                                       &v1::SandboxService::Stub::RunCode,
                                       request, response);
  }
  size_t RunsSeenBy(const Identity& caller) {
    v1::ListRunsResponse runs;
    EXPECT_THAT(CallFor<v1::SandboxService>(caller, gateway_,
                                            &v1::SandboxService::Stub::ListRuns,
                                            v1::ListRunsRequest(), &runs),
                IsOk());
    return static_cast<size_t>(runs.runs_size());
  }

  RemoteCaller gateway_;
};

TEST_F(RemoteGateway, SaysWhoCalls) {
  v1::WhoAmIResponse who;
  ASSERT_THAT(WhoAmI(Caller("team-g", "ci"), gateway_, &who), IsOk());
  EXPECT_EQ(who.tenant(), "team-g");
  EXPECT_EQ(who.principal(), "ci");
  EXPECT_EQ(who.proof(), v1::PROOF_TOKEN);

  v1::RunCodeResponse response;
  ASSERT_THAT(RunFor(Caller("team-g", "ci"), "echo $((6*7))", &response),
              IsOk());
  EXPECT_EQ(response.stdout().data(), "42\n");
  EXPECT_EQ(server::NodeOfId(response.run_id()), "node-1");
  // The same tenants and callers as if they had come by themselves.
  EXPECT_EQ(RunsSeenBy(Caller("team-g", "ci")), 1u);
  EXPECT_EQ(RunsSeenBy(Caller("team-g", "other")), 0u);
  EXPECT_EQ(RunsSeenBy(Caller("team-h", "ci")), 0u);
  v1::ListRunsResponse own;
  RemoteCaller token = With(Token("team-g", "ci"));
  EXPECT_THAT(token.Call(v1::SandboxService::NewStub(token.channel()),
                         &v1::SandboxService::Stub::ListRuns,
                         v1::ListRunsRequest(), &own),
              IsOk());
  ASSERT_EQ(own.runs_size(), 1);
  EXPECT_EQ(own.runs(0).run_id(), response.run_id());

  // They have the rights that it says, and no more.
  v1::CreateSessionResponse session;
  const auto create = [&](const Identity& caller) {
    return CallFor<v1::SessionService>(caller, gateway_,
                                       &v1::SessionService::Stub::CreateSession,
                                       v1::CreateSessionRequest(), &session);
  };
  EXPECT_EQ(ReasonOf(create(Caller("team-g", "ci", {Scope::kRun}))),
            "MISSING_SCOPE");
  Identity reader = Caller("team-g", "ci");
  reader.read_only = true;
  EXPECT_EQ(ReasonOf(create(reader)), "READ_ONLY");
  ASSERT_THAT(create(Caller("team-g", "ci")), IsOk());
  EXPECT_EQ(server::NodeOfId(session.session().session_id()), "node-1");
  v1::DeleteSessionRequest end;
  end.set_session_id(session.session().session_id());
  v1::DeleteSessionResponse ended;
  EXPECT_THAT(CallFor<v1::SessionService>(
                  Caller("team-g", "ci"), gateway_,
                  &v1::SessionService::Stub::DeleteSession, end, &ended),
              IsOk());
}

TEST_F(RemoteGateway, OnlyAGatewaysWordCounts) {
  v1::WhoAmIResponse who;
  const Identity root = Caller("team-a", "alice", server::Scopes::All());
  // Nobody by its own right, and nothing that can't be.
  EXPECT_EQ(ReasonOf(WhoAmI(std::nullopt, gateway_, &who)), "BAD_CREDENTIALS");
  EXPECT_EQ(ReasonOf(WhoAmI(Caller("local", "uid:0"), gateway_, &who)),
            "BAD_CREDENTIALS");
  EXPECT_EQ(ReasonOf(WhoAmI(Caller("Team", "x"), gateway_, &who)),
            "BAD_CREDENTIALS");
  const std::string token =
      absl::StrCat("Bearer ", Token("team-b", "ci").value());
  RemoteCaller both(port(), issuer().pem(),
                    issuer().Issue({.names = "URI:spiffe://test/gateways/two"}),
                    {token});
  EXPECT_EQ(ReasonOf(WhoAmI(std::nullopt, both, &who)), "BAD_CREDENTIALS");

  // A certificate of a tenant, a token, and nobody.
  RemoteCaller alice =
      Certified(issuer().Issue({.names = "URI:spiffe://test/team-a/alice"}));
  RemoteCaller bearer = With(Token("team-b", "ci"));
  RemoteCaller nobody = Nobody();
  RemoteCaller near =
      Certified(issuer().Issue({.names = "URI:spiffe://test/gatewaysx"}));
  for (RemoteCaller* caller : {&alice, &bearer, &nobody, &near}) {
    EXPECT_EQ(ReasonOf(WhoAmI(root, *caller, &who)), "BAD_CREDENTIALS");
  }
  ASSERT_THAT(WhoAmI(std::nullopt, alice, &who), IsOk());
  EXPECT_EQ(who.principal(), "spiffe://test/team-a/alice");
  // The unix socket's root isn't asked to believe it either.
  grpc::ClientContext context;
  context.AddMetadata(server::kCallerMetadata, server::ToCallerMetadata(root));
  EXPECT_EQ(ReasonOf(Root()->WhoAmI(&context, v1::WhoAmIRequest(), &who)),
            "BAD_CREDENTIALS");
}

TEST_F(RemoteGateway, IsToldHowTheNodeDoes) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  const auto stub = NodeService::NewStub(gateway_.channel());
  const auto stream = stub->WatchLoad(&context);
  const auto ask = [&stream] {
    WatchLoadResponse answer;
    EXPECT_TRUE(stream->Write(node::v1::WatchLoadRequest()));
    EXPECT_TRUE(stream->Read(&answer));
    return answer;
  };
  const WatchLoadResponse first = ask();
  EXPECT_EQ(first.node(), "node-1");
  EXPECT_EQ(first.instance().size(), 16u);
  EXPECT_THAT(first.offer().languages(), ::testing::Contains("bash"));
  EXPECT_THAT(first.offer().profiles(), ::testing::Contains("strict"));
  EXPECT_GT(first.load().max_running(), 0u);
  EXPECT_GT(first.load().max_queued(), 0u);
  EXPECT_GT(first.load().memory_budget_bytes(), 0u);
  EXPECT_GT(first.load().available_memory_bytes(), 0u);
  EXPECT_GT(first.load().max_sessions(), 0u);
  EXPECT_FALSE(first.load().draining());

  std::thread run([this] {
    v1::RunCodeResponse response;
    EXPECT_THAT(RunFor(Caller("team-g", "ci"), "sleep 1.5", &response), IsOk());
  });
  EXPECT_TRUE(WaitUntil([&] { return ask().load().running() == 1; },
                        absl::Seconds(10)));
  EXPECT_GT(ask().load().memory_reserved_bytes(), 0u);
  run.join();
  EXPECT_TRUE(WaitUntil([&] { return ask().load().running() == 0; },
                        absl::Seconds(10)));
  // What stays is told once.
  const WatchLoadResponse last = ask();
  EXPECT_FALSE(last.has_offer());
  EXPECT_EQ(last.instance(), first.instance());
  EXPECT_TRUE(stream->WritesDone());
  EXPECT_THAT(stream->Finish(), IsOk());

  for (RemoteCaller other :
       {With(Token("team-b", "ci")), Nobody(),
        Certified(issuer().Issue({.names = "URI:spiffe://test/team-a/bob"}))}) {
    grpc::ClientContext refused;
    other.Prepare(refused);
    const auto none =
        NodeService::NewStub(other.channel())->WatchLoad(&refused);
    WatchLoadResponse answer;
    EXPECT_FALSE(none->Read(&answer));
    EXPECT_EQ(ReasonOf(none->Finish()), "NOT_A_GATEWAY");
  }
}

}  // namespace
}  // namespace sandglass::testing
