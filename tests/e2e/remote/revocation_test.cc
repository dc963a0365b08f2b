// Calls that are under way when their credentials stop counting.

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/file_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"
#include "tests/e2e/remote/remote_fixture.h"
#include "tests/support/slowdown.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Much longer than it takes to find out, and much shorter than the calls.
constexpr absl::Duration kSoon = absl::Seconds(4);
constexpr char kLong[] = "import time\nprint('on', flush=True)\ntime.sleep(20)";

// A call on a thread of its own. `make` has said that the call is under way,
// by the argument that it gets, before it waits for the call's end.
class CallUnderWay {
 public:
  using Make = std::function<grpc::Status(const std::function<void()>& begun)>;
  explicit CallUnderWay(const Make& make)
      : status_(std::async(std::launch::async, [this, make] {
          return make([this] { begun_.set_value(); });
        })) {
    begun_.get_future().wait();
  }
  // nullopt: it goes on.
  std::optional<grpc::Status> EndsWithin(absl::Duration time) {
    if (status_.wait_for(absl::ToChronoMilliseconds(time * Slowdown())) !=
        std::future_status::ready) {
      return std::nullopt;
    }
    return status_.get();
  }

 private:
  std::promise<void> begun_;
  std::future<grpc::Status> status_;
};

void ExpectRefused(const char* what, CallUnderWay& call) {
  const std::optional<grpc::Status> status = call.EndsWithin(kSoon);
  ASSERT_TRUE(status.has_value()) << what << " goes on";
  EXPECT_EQ(status->error_code(), StatusCode::UNAUTHENTICATED) << what;
  EXPECT_THAT(status->error_message(), HasSubstr("revoked or have ended"))
      << what;
}

class RemoteRevocation : public RemoteTest {
 protected:
  static void Revoke(const v1::CreateTokenResponse& token) {
    grpc::ClientContext context;
    v1::RevokeTokenRequest request;
    request.set_id(token.token().id());
    v1::RevokeTokenResponse response;
    const grpc::Status status =
        Root()->RevokeToken(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Runs of all callers that haven't ended.
  static std::vector<v1::RunSummary> Going() {
    v1::ListRunsResponse listed;
    EXPECT_TRUE(client().List(v1::ListRunsRequest(), &listed).ok());
    std::vector<v1::RunSummary> runs;
    for (const v1::RunSummary& each : listed.runs()) {
      if (each.state() != v1::RUN_STATE_FINISHED) runs.push_back(each);
    }
    return runs;
  }
  // What nobody else waited for is stopped, as when a client goes away; one run
  // goes on until here.
  static void StopTheOneLeft() {
    EXPECT_TRUE(WaitUntil([] { return Going().size() == 1; }, kSoon));
    for (const v1::RunSummary& run : Going()) {
      v1::CancelRunResponse cancelled;
      EXPECT_TRUE(client().CancelRun(run.run_id(), &cancelled).ok());
    }
  }
  static std::string Session(RemoteCaller& caller) {
    v1::CreateSessionRequest request;
    request.set_language("python");
    v1::CreateSessionResponse response;
    const grpc::Status status = caller.Call(
        v1::SessionService::NewStub(caller.channel()),
        &v1::SessionService::Stub::CreateSession, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.session().session_id();
  }
  static void Delete(const std::string& session) {
    grpc::ClientContext context;
    v1::DeleteSessionRequest request;
    request.set_session_id(session);
    v1::DeleteSessionResponse response;
    const grpc::Status status =
        v1::SessionService::NewStub(
            grpc::CreateChannel(daemon().address(),
                                grpc::InsecureChannelCredentials()))
            ->DeleteSession(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  // Each of these is under way until something ends it.
  static CallUnderWay::Make LongRun(RemoteCaller& caller,
                                    const std::string& request_id = "") {
    return [&caller, request_id](const std::function<void()>& begun) {
      const size_t before = Going().size();
      std::future<grpc::Status> status = std::async(std::launch::async, [&] {
        v1::RunCodeResponse response;
        return caller.Run(kLong, &response, request_id);
      });
      EXPECT_TRUE(WaitUntil([&] { return Going().size() > before; },
                            absl::Seconds(10)));
      begun();
      return status.get();
    };
  }
  static CallUnderWay::Make LongStream(RemoteCaller& caller) {
    return [&caller](const std::function<void()>& begun) {
      grpc::ClientContext context;
      caller.Prepare(context);
      v1::StreamRunCodeRequest request;
      *request.mutable_run() = Python(kLong);
      const auto stub = v1::SandboxService::NewStub(caller.channel());
      const auto reader = stub->StreamRunCode(&context, request);
      v1::StreamRunCodeResponse event;
      while (reader->Read(&event) && !event.has_chunk()) {
      }
      begun();
      while (reader->Read(&event)) {
      }
      return reader->Finish();
    };
  }
  static CallUnderWay::Make OpenCommand(RemoteCaller& caller,
                                        const std::string& session) {
    return [&caller, session](const std::function<void()>& begun) {
      grpc::ClientContext context;
      caller.Prepare(context);
      const auto stub = v1::ExecService::NewStub(caller.channel());
      const auto stream = stub->Execute(&context);
      v1::ExecuteRequest request;
      v1::ExecSpec& spec = *request.mutable_start()->mutable_spec();
      spec.set_session_id(session);
      spec.set_command("cat");
      spec.set_open_stdin(true);
      stream->Write(request);
      v1::ExecuteResponse event;
      EXPECT_TRUE(stream->Read(&event));
      begun();
      while (stream->Read(&event)) {
      }
      return stream->Finish();
    };
  }
  static CallUnderWay::Make Watch(RemoteCaller& caller,
                                  const std::string& session) {
    return [&caller, session](const std::function<void()>& begun) {
      grpc::ClientContext context;
      caller.Prepare(context);
      v1::WatchFilesRequest request;
      request.set_session_id(session);
      const auto stub = v1::FileService::NewStub(caller.channel());
      const auto reader = stub->WatchFiles(&context, request);
      v1::WatchFilesResponse event;
      EXPECT_TRUE(reader->Read(&event));
      begun();
      while (reader->Read(&event)) {
      }
      return reader->Finish();
    };
  }
  static CallUnderWay::Make Upload(RemoteCaller& caller,
                                   const std::string& session) {
    return [&caller, session](const std::function<void()>& begun) {
      grpc::ClientContext context;
      caller.Prepare(context);
      v1::WriteFileResponse response;
      const auto stub = v1::FileService::NewStub(caller.channel());
      const auto writer = stub->WriteFile(&context, &response);
      v1::WriteFileRequest request;
      request.mutable_start()->set_session_id(session);
      request.mutable_start()->set_path("half");
      writer->Write(request);
      request.Clear();
      request.set_data(std::string(1000, 'x'));
      writer->Write(request);
      begun();
      return writer->Finish();
    };
  }
};

TEST_F(RemoteRevocation, CallsUnderWayEndWithTheirTokenAndOthersGoOn) {
  const v1::CreateTokenResponse token = Token("team-b", "ci");
  RemoteCaller revoked = With(token);
  RemoteCaller same = With(Token("team-b", "ci"));
  const std::string session = Session(revoked);
  CallUnderWay others(LongStream(same));
  CallUnderWay run(LongRun(revoked));
  CallUnderWay stream(LongStream(revoked));
  CallUnderWay command(OpenCommand(revoked, session));
  CallUnderWay watch(Watch(revoked, session));
  CallUnderWay upload(Upload(revoked, session));
  EXPECT_THAT(Going(), SizeIs(3));
  EXPECT_FALSE(run.EndsWithin(absl::Seconds(1)).has_value());

  Revoke(token);
  ExpectRefused("RunCode", run);
  ExpectRefused("StreamRunCode", stream);
  ExpectRefused("Execute", command);
  ExpectRefused("WatchFiles", watch);
  ExpectRefused("WriteFile", upload);
  // The same connection serves another token, and the principal has what it
  // had.
  EXPECT_FALSE(others.EndsWithin(absl::Seconds(1)).has_value());
  v1::GetSessionRequest get;
  get.set_session_id(session);
  v1::GetSessionResponse got;
  EXPECT_TRUE(same.Call(v1::SessionService::NewStub(same.channel()),
                        &v1::SessionService::Stub::GetSession, get, &got)
                  .ok());
  StopTheOneLeft();
  EXPECT_EQ(others.EndsWithin(kSoon)->error_code(), StatusCode::OK);
  Delete(session);
}

TEST_F(RemoteRevocation, ARunForWhichAnotherTokenWaitsGoesOn) {
  const v1::CreateTokenResponse token = Token("team-b", "ci");
  RemoteCaller revoked = With(token);
  RemoteCaller same = With(Token("team-b", "ci"));
  CallUnderWay first(LongRun(revoked, "shared"));
  std::future<grpc::Status> second = std::async(std::launch::async, [&] {
    v1::RunCodeResponse response;
    return same.Run(kLong, &response, "shared");
  });
  // It has joined, once it has not been answered for a while.
  EXPECT_EQ(second.wait_for(std::chrono::seconds(1)),
            std::future_status::timeout);
  Revoke(token);
  ExpectRefused("RunCode", first);
  StopTheOneLeft();
  EXPECT_TRUE(second.get().ok());
}

TEST_F(RemoteRevocation, CallsEndWhenTheirTokenExpires) {
  v1::CreateTokenRequest brief;
  brief.set_tenant("team-b");
  brief.mutable_lifetime()->set_seconds(2);
  RemoteCaller caller = With(Token(brief));
  CallUnderWay run(LongRun(caller));
  ExpectRefused("RunCode", run);
  EXPECT_TRUE(WaitUntil([] { return Going().empty(); }, kSoon));
}

TEST_F(RemoteRevocation, CallsEndWhenTheirTokenIsTakenOutOfTheFile) {
  RemoteCaller caller = With(Token("team-b", "ci"));
  CallUnderWay run(LongRun(caller));
  // In place, so that the file stays the daemon's.
  WriteFile(absl::StrCat(directory(), "/tokens/tokens.json"),
            R"({"tokens": []})");
  ExpectRefused("RunCode", run);
}

TEST_F(RemoteRevocation, BackgroundCommandsGoOnUntilSomebodyEndsThem) {
  const v1::CreateTokenResponse token = Token("team-b", "ci");
  RemoteCaller revoked = With(token);
  const std::string session = Session(revoked);
  v1::StartExecRequest start;
  start.mutable_spec()->set_session_id(session);
  start.mutable_spec()->set_command("sleep 20");
  start.mutable_spec()->set_background(true);
  start.mutable_wait()->set_nanos(1);
  v1::StartExecResponse started;
  ASSERT_TRUE(revoked
                  .Call(v1::ExecService::NewStub(revoked.channel()),
                        &v1::ExecService::Stub::StartExec, start, &started)
                  .ok());
  Revoke(token);
  RemoteCaller same = With(Token("team-b", "ci"));
  absl::SleepFor(absl::Seconds(1));
  v1::ListExecsRequest list;
  list.set_session_id(session);
  v1::ListExecsResponse listed;
  ASSERT_TRUE(same.Call(v1::ExecService::NewStub(same.channel()),
                        &v1::ExecService::Stub::ListExecs, list, &listed)
                  .ok());
  ASSERT_THAT(listed.execs(), SizeIs(1));
  EXPECT_EQ(listed.execs(0).state(), v1::EXEC_STATE_RUNNING);
  Delete(session);
}

TEST_F(RemoteRevocation, ConnectionsEndWithTheirCertificate) {
  const TestIssuer::Pair mallory =
      issuer().Issue({.names = "URI:spiffe://test/team-a/mallory"});
  RemoteCaller revoked = Certified(mallory);
  // The token of a call doesn't help a connection whose certificate is bad.
  RemoteCaller with_token(
      port(), issuer().pem(), mallory,
      {absl::StrCat("Bearer ", Token("team-b", "ci").value())});
  RemoteCaller brief = Certified(issuer().Issue(
      {.names = "URI:spiffe://test/team-a/brief", .until = absl::Seconds(4)}));
  RemoteCaller other =
      Certified(issuer().Issue({.names = "URI:spiffe://test/team-a/alice"}));
  CallUnderWay others(LongStream(other));
  CallUnderWay run(LongRun(revoked));
  CallUnderWay token_run(LongStream(with_token));
  CallUnderWay until_the_end(LongRun(brief));
  EXPECT_FALSE(run.EndsWithin(absl::ZeroDuration()).has_value());
  Put("crl.pem", issuer().Revoked({mallory.certificate}));
  for (CallUnderWay* ended : {&run, &token_run}) {
    const std::optional<grpc::Status> status = ended->EndsWithin(kSoon);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->error_code(), StatusCode::UNAVAILABLE);
  }
  const std::optional<grpc::Status> status =
      until_the_end.EndsWithin(absl::Seconds(10));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->error_code(), StatusCode::UNAVAILABLE);
  EXPECT_FALSE(others.EndsWithin(absl::ZeroDuration()).has_value());
  StopTheOneLeft();
  EXPECT_EQ(others.EndsWithin(kSoon)->error_code(), StatusCode::OK);
  Put("crl.pem", issuer().Revoked({}));
}

}  // namespace
}  // namespace sandglass::testing
