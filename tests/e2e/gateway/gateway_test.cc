// Calls that go to nodes by a gateway: where they go, and that they come back
// as they would from the node itself.

#include <csignal>
#include <future>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/random_id.h"
#include "server/base/tcp_socket.h"
#include "tests/e2e/gateway/gateway_fixture.h"
#include "tests/support/calls/execs.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using grpc::StatusCode;
using server::NodeOfId;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Gateway : public GatewayTest {
 protected:
  void StartTwo() {
    ASSERT_NO_FATAL_FAILURE(StartNode("a"));
    ASSERT_NO_FATAL_FAILURE(StartNode("b"));
    ASSERT_NO_FATAL_FAILURE(StartGateway());
  }
  static grpc::Status Bash(RemoteCaller& caller, const std::string& code,
                           v1::RunCodeResponse* response,
                           const std::string& request_id = "",
                           const std::string& session = "") {
    v1::RunCodeRequest request = testing::Bash(code);
    request.set_request_id(request_id);
    request.set_session_id(session);
    return caller.Call(v1::SandboxService::NewStub(caller.channel()),
                       &v1::SandboxService::Stub::RunCode, request, response);
  }
  static std::string CreateSession(RemoteCaller& caller) {
    v1::CreateSessionResponse created;
    EXPECT_THAT(caller.Call(v1::SessionService::NewStub(caller.channel()),
                            &v1::SessionService::Stub::CreateSession,
                            v1::CreateSessionRequest(), &created),
                IsOk());
    return created.session().session_id();
  }
};

TEST_F(Gateway, PassesRunsOnToItsNodes) {
  ASSERT_NO_FATAL_FAILURE(StartTwo());
  RemoteCaller caller = Caller("team", "ci");
  v1::WhoAmIResponse who;
  ASSERT_THAT(caller.WhoAmI(&who), IsOk());
  EXPECT_EQ(who.tenant(), "team");

  std::set<std::string> nodes;
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    v1::RunCodeResponse response;
    ASSERT_THAT(Bash(caller, absl::StrCat("echo ", i), &response), IsOk());
    EXPECT_EQ(response.stdout().data(), absl::StrCat(i, "\n"));
    nodes.insert(NodeOfId(response.run_id()).value_or("none"));
    ids.insert(response.run_id());
  }
  EXPECT_EQ(nodes, (std::set<std::string>{"a", "b"}));
  // One list of all.
  v1::ListRunsResponse runs;
  ASSERT_THAT(caller.Call(v1::SandboxService::NewStub(caller.channel()),
                          &v1::SandboxService::Stub::ListRuns,
                          v1::ListRunsRequest(), &runs),
              IsOk());
  std::set<std::string> listed;
  for (const auto& run : runs.runs()) listed.insert(run.run_id());
  EXPECT_EQ(listed, ids);
  // In pages too, each run once.
  listed.clear();
  v1::ListRunsRequest page;
  page.set_page_size(6);
  int pages = 0;
  do {
    ASSERT_THAT(caller.Call(v1::SandboxService::NewStub(caller.channel()),
                            &v1::SandboxService::Stub::ListRuns, page, &runs),
                IsOk());
    EXPECT_LE(runs.runs_size(), 6);
    for (const auto& run : runs.runs()) {
      EXPECT_TRUE(listed.insert(run.run_id()).second) << run.run_id();
    }
    page.set_page_token(runs.next_page_token());
  } while (!page.page_token().empty() && ++pages < 50);
  EXPECT_EQ(listed, ids);
  page.set_page_token("x");
  EXPECT_EQ(caller
                .Call(v1::SandboxService::NewStub(caller.channel()),
                      &v1::SandboxService::Stub::ListRuns, page, &runs)
                .error_code(),
            StatusCode::INVALID_ARGUMENT);
  // Others see none of it.
  RemoteCaller other = Caller("others", "ci");
  ASSERT_THAT(other.Call(v1::SandboxService::NewStub(other.channel()),
                         &v1::SandboxService::Stub::ListRuns,
                         v1::ListRunsRequest(), &runs),
              IsOk());
  EXPECT_THAT(runs.runs(), SizeIs(0));
}

TEST_F(Gateway, ErrorsComeAsTheNodeMakesThem) {
  ASSERT_NO_FATAL_FAILURE(StartTwo());
  RemoteCaller caller = Caller("team", "ci");
  v1::RunCodeResponse response;
  v1::RunCodeRequest request = testing::Bash("true");
  request.set_language("klingon");
  grpc::Status status =
      caller.Call(v1::SandboxService::NewStub(caller.channel()),
                  &v1::SandboxService::Stub::RunCode, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("klingon"));
  EXPECT_EQ(ReasonOf(status), "LANGUAGE_UNAVAILABLE");
  request = testing::Bash("true");
  request.mutable_limits()->set_memory_bytes(1);
  status = caller.Call(v1::SandboxService::NewStub(caller.channel()),
                       &v1::SandboxService::Stub::RunCode, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("memory"));
  // Nobody without credentials, and no method that there isn't.
  RemoteCaller nobody(gateway_port_, issuer_.pem());
  EXPECT_EQ(ReasonOf(Bash(nobody, "true", &response)), "NO_CREDENTIALS");
  EXPECT_EQ(caller.CallEmpty("/sandglass.v1.SandboxService/None").error_code(),
            StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(
      caller.CallEmpty("/sandglass.node.v1.NodeService/WatchLoad").error_code(),
      StatusCode::UNIMPLEMENTED);
  // A session of a node that there isn't, and what is no id.
  for (const char* id :
       {"ses-c-0123456789abcdef", "ses-0123456789abcdef", "x"}) {
    EXPECT_EQ(ReasonOf(Bash(caller, "true", &response, "", id)), "NODE_UNKNOWN")
        << id;
  }
  EXPECT_EQ(
      ReasonOf(Bash(caller, "true", &response, "", "ses-a-0123456789abcdef")),
      "SESSION_NOT_FOUND");
}

TEST_F(Gateway, SessionsStayAtTheirNode) {
  ASSERT_NO_FATAL_FAILURE(StartTwo());
  RemoteCaller caller = Caller("team", "ci");
  std::map<std::string, std::string> sessions;
  for (int i = 0; i < 8; ++i) {
    const std::string id = CreateSession(caller);
    ASSERT_TRUE(NodeOfId(id).has_value()) << id;
    sessions[id] = absl::StrCat("kept-", i);
  }
  // Commands with input, by a stream both ways.
  const auto execs = v1::ExecService::NewStub(caller.channel());
  for (const auto& [id, text] : sessions) {
    grpc::ClientContext context;
    caller.Prepare(context);
    const auto stream = execs->Execute(&context);
    v1::ExecuteRequest start;
    *start.mutable_start()->mutable_spec() =
        Command(id, "read line; echo got $line; echo $line > kept");
    start.mutable_start()->mutable_spec()->set_open_stdin(true);
    ASSERT_TRUE(stream->Write(start));
    v1::ExecuteRequest input;
    input.set_stdin(text + "\n");
    ASSERT_TRUE(stream->Write(input));
    std::string out;
    v1::ExecuteResponse response;
    while (stream->Read(&response)) {
      if (response.has_output()) out += response.output().data();
    }
    EXPECT_THAT(stream->Finish(), IsOk());
    EXPECT_EQ(out, absl::StrCat("got ", text, "\n"));
  }
  v1::ListSessionsResponse listed;
  ASSERT_THAT(caller.Call(v1::SessionService::NewStub(caller.channel()),
                          &v1::SessionService::Stub::ListSessions,
                          v1::ListSessionsRequest(), &listed),
              IsOk());
  EXPECT_THAT(listed.sessions(), SizeIs(8));
  for (const auto& [id, text] : sessions) {
    v1::DownloadFilesRequest request;
    request.set_session_id(id);
    request.add_paths("kept");
    v1::DownloadFilesResponse response;
    ASSERT_THAT(
        caller.Call(v1::FileService::NewStub(caller.channel()),
                    &v1::FileService::Stub::DownloadFiles, request, &response),
        IsOk());
    ASSERT_THAT(response.files(), SizeIs(1));
    EXPECT_EQ(response.files(0).content(), text + "\n");
  }
}

TEST_F(Gateway, ANodeThatDiesTakesNothingNew) {
  ASSERT_NO_FATAL_FAILURE(StartTwo());
  RemoteCaller caller = Caller("team", "ci");
  // One run at each node, by whichever request ids lead there.
  std::map<std::string, std::future<grpc::Status>> runs;
  std::map<std::string, v1::RunCodeResponse> answers;
  for (int i = 0; runs.size() < 2 && i < 50; ++i) {
    const std::string id = absl::StrCat("long-", i);
    v1::RunCodeResponse probe;
    ASSERT_THAT(Bash(caller, "true", &probe, absl::StrCat("probe-", i)),
                IsOk());
    const std::string node = NodeOfId(probe.run_id()).value_or("");
    if (runs.contains(node)) continue;
    runs[node] = std::async(std::launch::async, [&, node] {
      // The same id meets the same node.
      return Bash(caller, "sleep 3; echo done", &answers[node],
                  absl::StrCat("probe-", i, "-"));
    });
  }
  absl::SleepFor(absl::Seconds(1));
  KillNode("a");
  // Until the gateway knows, and after.
  for (int i = 0; i < 30; ++i) {
    v1::RunCodeResponse response;
    ASSERT_THAT(Bash(caller, "true", &response), IsOk()) << i;
    EXPECT_EQ(NodeOfId(response.run_id()), "b");
  }
  for (auto& [node, run] : runs) {
    const grpc::Status status = run.get();
    if (status.ok()) {
      EXPECT_EQ(NodeOfId(answers[node].run_id()), "b");
      EXPECT_EQ(answers[node].stdout().data(), "done\n");
    } else {
      EXPECT_EQ(status.error_code(), StatusCode::ABORTED);
      EXPECT_EQ(ReasonOf(status), "NODE_LOST");
    }
  }
  // What it had is away, and all of it when there is no node at all.
  v1::RunCodeResponse response;
  EXPECT_EQ(
      ReasonOf(Bash(caller, "true", &response, "", "ses-a-0123456789abcdef")),
      "NODE_AWAY");
  KillNode("b");
  ASSERT_TRUE(gateway().ReadErrorUntil("node=b")) << gateway().error_text();
  EXPECT_TRUE(WaitUntil(
      [&] {
        return Bash(caller, "true", &response).error_code() ==
               StatusCode::UNAVAILABLE;
      },
      absl::Seconds(10)));
  const absl::Time before = absl::Now();
  EXPECT_EQ(Bash(caller, "true", &response).error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_LT(absl::Now() - before, absl::Seconds(1));
  // It comes back.
  ASSERT_NO_FATAL_FAILURE(StartNodeAgain("a"));
  EXPECT_TRUE(WaitUntil([&] { return Bash(caller, "true", &response).ok(); },
                        absl::Seconds(20)));
  EXPECT_EQ(NodeOfId(response.run_id()), "a");
}

TEST_F(Gateway, ARequestIdMeetsTheSameNodeAgain) {
  ASSERT_NO_FATAL_FAILURE(StartTwo());
  RemoteCaller caller = Caller("team", "ci");
  std::set<std::string> nodes;
  for (int i = 0; i < 12; ++i) {
    const std::string id = absl::StrCat("same-", i);
    v1::RunCodeResponse first;
    v1::RunCodeResponse again;
    ASSERT_THAT(Bash(caller, "echo $RANDOM", &first, id), IsOk());
    ASSERT_THAT(Bash(caller, "echo $RANDOM", &again, id), IsOk());
    EXPECT_EQ(first.run_id(), again.run_id());
    EXPECT_EQ(first.stdout().data(), again.stdout().data());
    nodes.insert(NodeOfId(first.run_id()).value_or(""));
  }
  EXPECT_THAT(nodes, SizeIs(2));
}

TEST_F(Gateway, ASessionOfTheSameLabelsIsFoundAgain) {
  ASSERT_NO_FATAL_FAILURE(StartTwo());
  RemoteCaller caller = Caller("team", "ci");
  std::set<std::string> nodes;
  for (int i = 0; i < 10; ++i) {
    std::set<std::string> ids;
    for (int again = 0; again < 3; ++again) {
      v1::GetOrCreateSessionRequest request;
      (*request.mutable_create()->mutable_labels())["user"] = absl::StrCat(i);
      (*request.mutable_create()->mutable_labels())["of"] = "test";
      v1::GetOrCreateSessionResponse response;
      ASSERT_THAT(caller.Call(v1::SessionService::NewStub(caller.channel()),
                              &v1::SessionService::Stub::GetOrCreateSession,
                              request, &response),
                  IsOk());
      EXPECT_EQ(response.created(), again == 0);
      ids.insert(response.session().session_id());
    }
    EXPECT_THAT(ids, SizeIs(1));
    nodes.insert(NodeOfId(*ids.begin()).value_or(""));
  }
  EXPECT_THAT(nodes, SizeIs(2));
}

TEST_F(Gateway, CancelledCallsEndAtTheNode) {
  ASSERT_NO_FATAL_FAILURE(StartNode("a"));
  ASSERT_NO_FATAL_FAILURE(StartGateway());
  RemoteCaller caller = Caller("team", "ci");
  const auto running = [this] {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(node("a").client().Info(&info), IsOk());
    return info.admission().running();
  };
  grpc::ClientContext context;
  caller.Prepare(context);
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = testing::Bash("echo begun; sleep 30");
  const auto stream = v1::SandboxService::NewStub(caller.channel())
                          ->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(WaitUntil([&] { return running() == 1; }, absl::Seconds(10)));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(WaitUntil([&] { return running() == 0; }, absl::Seconds(10)));
  // And with their deadline, which the node knows as well.
  v1::RunCodeResponse answer;
  grpc::ClientContext hasty;
  caller.Prepare(hasty);
  hasty.set_deadline(std::chrono::system_clock::now() +
                     std::chrono::milliseconds(700));
  const absl::Time before = absl::Now();
  const grpc::Status status =
      v1::SandboxService::NewStub(caller.channel())
          ->RunCode(&hasty, testing::Bash("sleep 30"), &answer);
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
  EXPECT_TRUE(status.error_code() == StatusCode::DEADLINE_EXCEEDED ||
              answer.outcome() == v1::OUTCOME_TIMEOUT)
      << status.error_message() << answer.DebugString();
  EXPECT_TRUE(WaitUntil([&] { return running() == 0; }, absl::Seconds(10)));
}

TEST_F(Gateway, FindsNodesByDnsAndShowsThemItsNewestCertificate) {
  ASSERT_NO_FATAL_FAILURE(StartNode("a"));
  // The name has IPv6's loopback, too, where nobody listens.
  const std::string where = absl::StrCat("dns:localhost:", port("a"));
  WriteConfig({where});
  ASSERT_NO_FATAL_FAILURE(StartGateway({where}, 0));
  ASSERT_TRUE(gateway().ReadErrorUntil(
      absl::StrCat("node_there address=127.0.0.1:", port("a"))))
      << gateway().error_text();
  RemoteCaller caller = Caller("team", "ci");
  v1::RunCodeResponse response;
  ASSERT_THAT(Bash(caller, "echo found", &response), IsOk());
  EXPECT_EQ(response.stdout().data(), "found\n");
  // Another pair in the same files is what the node's successor is shown. It
  // knows its gateways by names that begin as both do, so the test looks at
  // whose the old one's authority was: it is no longer trusted.
  const TestIssuer other("theirs");
  ASSERT_NO_FATAL_FAILURE(RenewCertificates(other));
  KillNode("a");
  absl::SleepFor(absl::Seconds(2));  // files are looked at once a second
  ASSERT_NO_FATAL_FAILURE(StartNodeAgain("a"));
  EXPECT_TRUE(
      WaitUntil([&] { return Bash(caller, "echo again", &response).ok(); },
                absl::Seconds(20)));
  EXPECT_EQ(response.stdout().data(), "again\n");
}

TEST_F(Gateway, ReloadsItsNodesAndDrains) {
  ASSERT_NO_FATAL_FAILURE(StartNode("a"));
  ASSERT_NO_FATAL_FAILURE(StartNode("b"));
  ASSERT_NO_FATAL_FAILURE(
      StartGateway({absl::StrCat("127.0.0.1:", port("a"))}, 1));
  RemoteCaller caller = Caller("team", "ci");
  v1::RunCodeResponse response;
  ASSERT_THAT(Bash(caller, "true", &response), IsOk());
  EXPECT_EQ(NodeOfId(response.run_id()), "a");
  WriteConfig({"nonsense"});
  gateway().Signal(SIGHUP);
  ASSERT_TRUE(gateway().ReadErrorUntil("reload_failed"));
  ASSERT_THAT(Bash(caller, "true", &response), IsOk());
  WriteConfig({absl::StrCat("127.0.0.1:", port("b"))});
  gateway().Signal(SIGHUP);
  ASSERT_TRUE(gateway().ReadErrorUntil("node=b"));
  ASSERT_THAT(Bash(caller, "true", &response), IsOk());
  EXPECT_EQ(NodeOfId(response.run_id()), "b");
  // What goes on may end.
  auto last = std::async(std::launch::async, [&] {
    v1::RunCodeResponse answer;
    return Bash(caller, "sleep 1", &answer);
  });
  absl::SleepFor(absl::Milliseconds(300));
  gateway().Signal(SIGTERM);
  EXPECT_THAT(last.get(), IsOk());
  EXPECT_EQ(gateway().Wait().exit_code, 0);
}

TEST_F(Gateway, WhatIsNoGoodNodeGetsNothing) {
  ASSERT_NO_FATAL_FAILURE(StartNode("a"));
  ASSERT_NO_FATAL_FAILURE(StartNode("second", "a"));
  // One that takes connections and says nothing.
  const auto silent = server::ListenOnTcp("test", "127.0.0.1:0");
  ASSERT_TRUE(silent.ok()) << silent.status();
  ASSERT_NO_FATAL_FAILURE(
      StartGateway({absl::StrCat("127.0.0.1:", port("a")),
                    absl::StrCat("127.0.0.1:", server::TcpPortOf(*silent)),
                    "127.0.0.1:1", "nowhere.invalid:1"},
                   1));
  RemoteCaller caller = Caller("team", "ci");
  v1::RunCodeResponse response;
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(Bash(caller, "true", &response), IsOk());
    EXPECT_EQ(NodeOfId(response.run_id()), "a");
  }
  // Of two of one name the first stays.
  WriteConfig({absl::StrCat("127.0.0.1:", port("a")),
               absl::StrCat("127.0.0.1:", port("second"))});
  gateway().Signal(SIGHUP);
  ASSERT_TRUE(gateway().ReadErrorUntil("node_not_taken"));
  const auto finished = [this](const char* name) {
    v1::ListRunsRequest request;
    v1::ListRunsResponse runs;
    EXPECT_THAT(node(name).client().List(request, &runs), IsOk());
    return runs.runs_size();
  };
  ASSERT_THAT(Bash(caller, "true", &response), IsOk());
  EXPECT_EQ(finished("second"), 0);
  EXPECT_EQ(finished("a"), 6);
}

}  // namespace
}  // namespace sandglass::testing
