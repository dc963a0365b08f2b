// The binary's `session` commands against a daemon in this process.
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string& kId = *new std::string("ses-1111111111111111");

// NOT_FOUND as the daemon says it.
grpc::Status NotFound(const std::string& reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("sandglass.dev");
  return RichStatus(grpc::StatusCode::NOT_FOUND, "there is no session x",
                    {&info});
}

TEST(CliSessionTest, CreateSendsAllAndPrintsTheIdAlone) {
  FakeDaemon daemon;
  Shared<v1::CreateSessionRequest> got;
  daemon.sessions.on_create_session = [&](const auto& request, auto& response) {
    got = request;
    *response.mutable_session() = SessionWith('1');
    return grpc::Status::OK;
  };
  const SubprocessResult result =
      daemon.RunClient({"session", "create", "py", "--profile", "p", "--memory",
                        "1G", "--timeout", "5s", "--env", "A=b", "--label",
                        "k=v", "--idle-timeout", "30m", "--max-age", "8h"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, kId + "\n");
  EXPECT_EQ(result.err, "");
  v1::CreateSessionRequest expected;
  expected.set_language("py");
  expected.set_profile("p");
  expected.mutable_limits()->mutable_wall_time()->set_seconds(5);
  expected.mutable_limits()->set_memory_bytes(1 << 30);
  (*expected.mutable_env())["A"] = "b";
  (*expected.mutable_labels())["k"] = "v";
  expected.mutable_idle_timeout()->set_seconds(1800);
  expected.mutable_max_age()->set_seconds(8 * 3600);
  EXPECT_EQ(got.Get().DebugString(), expected.DebugString());

  EXPECT_EQ(daemon.RunClient({"session", "create"}).exit_code, 0);
  EXPECT_EQ(got.Get().DebugString(), v1::CreateSessionRequest().DebugString());
}

TEST(CliSessionTest, CreateGetsByItsLabels) {
  FakeDaemon daemon;
  std::atomic<bool> created{true};
  Shared<v1::CreateSessionRequest> got;
  daemon.sessions.on_get_or_create_session = [&](const auto& request,
                                                 auto& response) {
    got = request.create();
    *response.mutable_session() = SessionWith('1');
    response.set_created(created);
    return grpc::Status::OK;
  };
  const std::vector<std::string> arguments = {"session", "create",  "py",
                                              "--get",   "--label", "k=v"};
  SubprocessResult result = daemon.RunClient(arguments);
  EXPECT_EQ(result.out, kId + "\n");
  EXPECT_EQ(result.err, "sandglass: a new session\n");
  EXPECT_EQ(got.Get().labels().at("k"), "v");
  created = false;
  result = daemon.RunClient(arguments);
  EXPECT_EQ(result.out, kId + "\n");
  EXPECT_EQ(result.err,
            "sandglass: a session that was there already: python, profile "
            "default\n");
}

TEST(CliSessionTest, JsonIsTheAnswerAndNothingElse) {
  FakeDaemon daemon;
  daemon.sessions.on_create_session = [](const auto&, auto& response) {
    *response.mutable_session() = SessionWith('1');
    return grpc::Status::OK;
  };
  daemon.sessions.on_get_session = [](const auto& request, auto& response) {
    *response.mutable_session() = SessionWith(request.session_id().back());
    return grpc::Status::OK;
  };
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"session", "create", "--json"},
        std::vector<std::string>{"session", "info", kId, "--json"}}) {
    const SubprocessResult result = daemon.RunClient(arguments);
    EXPECT_EQ(result.err, "");
    v1::GetSessionResponse parsed;
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(result.out, &parsed).ok())
        << result.out;
    EXPECT_EQ(parsed.session().session_id(), kId);
  }
  EXPECT_THAT(daemon.RunClient({"session", "info", kId}).out,
              HasSubstr("session " + kId + "\n  language:   python\n"));
}

TEST(CliSessionTest, ListGoesThroughAllPages) {
  FakeDaemon daemon;
  Shared<v1::ListSessionsRequest> first;
  daemon.sessions.on_list_sessions = [&](const auto& request, auto& response) {
    if (request.page_token().empty()) {
      first = request;
      *response.add_sessions() = SessionWith('1');
      response.set_next_page_token("2");
    } else {
      EXPECT_EQ(request.labels().size(), 1u);
      *response.add_sessions() = SessionWith('2');
    }
    return grpc::Status::OK;
  };
  const SubprocessResult result = daemon.RunClient(
      {"session", "list", "--label", "k=v", "--state", "paused"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("SESSION ID"));
  EXPECT_THAT(result.out, HasSubstr("\n" + kId + "  python"));
  EXPECT_THAT(result.out, HasSubstr("\nses-2222222222222222  python"));
  EXPECT_EQ(first.Get().labels().at("k"), "v");
  EXPECT_THAT(first.Get().states(), ElementsAre(v1::SESSION_STATE_PAUSED));
  daemon.RunClient({"session", "list", "--label", "k=v", "--state", "dormant"});
  EXPECT_THAT(first.Get().states(), ElementsAre(v1::SESSION_STATE_DORMANT));
}

TEST(CliSessionTest, VerbsSayWhatBecameOfIt) {
  FakeDaemon daemon;
  std::atomic<bool> ran{true};
  Shared<std::string> contexts;
  daemon.sessions.on_pause_session = [](const auto& request, auto&) {
    EXPECT_EQ(request.session_id(), kId);
    return grpc::Status::OK;
  };
  daemon.sessions.on_resume_session = [](const auto& request, auto&) {
    EXPECT_EQ(request.session_id(), kId);
    return grpc::Status::OK;
  };
  daemon.sessions.on_interrupt_kernel = [&](const auto& request,
                                            auto& response) {
    EXPECT_EQ(request.session_id(), kId);
    contexts = request.context();
    response.set_interrupted(ran);
    return grpc::Status::OK;
  };
  daemon.sessions.on_restart_kernel = [&](const auto& request, auto& response) {
    EXPECT_EQ(request.session_id(), kId);
    contexts = request.context();
    v1::Session& session = *response.mutable_session();
    session.add_kernels()->set_state(v1::KERNEL_STATE_NOT_STARTED);
    v1::KernelInfo& kernel = *session.add_kernels();
    kernel.set_context("c");
    kernel.set_state(v1::KERNEL_STATE_DEAD);
    return grpc::Status::OK;
  };
  EXPECT_EQ(daemon.RunClient({"session", "pause", kId}).out,
            "session " + kId + " is paused\n");
  EXPECT_EQ(daemon.RunClient({"session", "resume", kId}).out,
            "session " + kId + " goes on\n");
  EXPECT_EQ(daemon.RunClient({"session", "interrupt", kId}).out,
            "interrupted\n");
  EXPECT_EQ(contexts.Get(), "");
  ran = false;
  EXPECT_EQ(
      daemon.RunClient({"session", "interrupt", kId, "--context", "b"}).out,
      "nothing ran that could be interrupted\n");
  EXPECT_EQ(contexts.Get(), "b");
  EXPECT_EQ(daemon.RunClient({"session", "restart", kId, "--context", "c"}).out,
            "the kernel has ended; the next run starts another\n");
  EXPECT_EQ(contexts.Get(), "c");
  EXPECT_EQ(daemon.RunClient({"session", "restart", kId}).out,
            "no such kernel has started\n");
  EXPECT_EQ(daemon.RunClient({"session", "restart", kId, "--context", "d"}).out,
            "no such kernel has started\n");
}

TEST(CliSessionTest, UpdateSendsOnlyWhatChanges) {
  FakeDaemon daemon;
  Shared<v1::UpdateSessionRequest> got;
  daemon.sessions.on_update_session = [&](const auto& request, auto& response) {
    got = request;
    *response.mutable_session() = SessionWith('1');
    return grpc::Status::OK;
  };
  const SubprocessResult result =
      daemon.RunClient({"session", "update", kId, "--idle-timeout", "30m"});
  EXPECT_THAT(result.out, HasSubstr("session " + kId + " ends in 29m"));
  v1::UpdateSessionRequest expected;
  expected.set_session_id(kId);
  expected.mutable_idle_timeout()->set_seconds(1800);
  EXPECT_EQ(got.Get().DebugString(), expected.DebugString());

  daemon.RunClient({"session", "update", kId, "--label", "a=b"});
  expected.clear_idle_timeout();
  (*expected.mutable_labels()->mutable_labels())["a"] = "b";
  EXPECT_EQ(got.Get().DebugString(), expected.DebugString());

  daemon.RunClient({"session", "update", kId, "--no-labels"});
  EXPECT_TRUE(got.Get().has_labels());
  EXPECT_TRUE(got.Get().labels().labels().empty());
}

// Remembers what was deleted; of ids that end in 0 there is no session.
class CliSessionDeleteTest : public ::testing::Test {
 protected:
  CliSessionDeleteTest() {
    daemon_.sessions.on_delete_session = [&](const auto& request, auto&) {
      if (request.session_id().back() == '0') {
        return NotFound("SESSION_DELETED");
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      deleted_.push_back(request.session_id());
      return grpc::Status::OK;
    };
    daemon_.sessions.on_list_sessions = [](const auto& request,
                                           auto& response) {
      for (const char digit : {'3', '0', '4'}) {
        v1::Session session = SessionWith(digit);
        if (digit == '3') (*session.mutable_labels())["a"] = "b";
        if (request.labels().empty() || !session.labels().empty()) {
          *response.add_sessions() = session;
        }
      }
      return grpc::Status::OK;
    };
  }

  std::vector<std::string> Deleted() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return deleted_;
  }

  FakeDaemon daemon_;
  std::mutex mutex_;
  std::vector<std::string> deleted_;
};

TEST_F(CliSessionDeleteTest, GoesOnAfterOneThatIsNotThere) {
  const SubprocessResult result =
      daemon_.RunClient({"session", "rm", "s-1", "s-0", "s-2"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(result.out, "s-1\ns-2\n");
  EXPECT_THAT(result.err, HasSubstr("reason: SESSION_DELETED\n"));
  EXPECT_THAT(Deleted(), ElementsAre("s-1", "s-2"));
}

TEST_F(CliSessionDeleteTest, AllTakesThoseThatAreListed) {
  const SubprocessResult result = daemon_.RunClient({"session", "rm", "--all"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, "ses-3333333333333333\nses-4444444444444444\n");
  EXPECT_EQ(Deleted().size(), 2u);
}

TEST_F(CliSessionDeleteTest, AllHeedsTheLabels) {
  EXPECT_EQ(daemon_.RunClient({"session", "rm", "--all", "--label", "a=b"}).out,
            "ses-3333333333333333\n");
  EXPECT_THAT(Deleted(), ElementsAre("ses-3333333333333333"));
}

TEST(CliSessionErrorTest, SaysWhatToDoWithoutTheSession) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"SESSION_NOT_FOUND", "sandglass session list shows yours"},
      {"SESSION_EXPIRED", "--idle-timeout"},
      {"SESSION_DELETED", "start another with sandglass session create"},
      {"SESSION_DIED", "its files and state are lost"}};
  for (const auto& [reason, advice] : cases) {
    FakeDaemon daemon;
    grpc::Status status = NotFound(reason);
    daemon.FailRuns(status);
    daemon.sessions.on_get_session = [&](const auto&, auto&) { return status; };
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"session", "info", "x"},
          std::vector<std::string>{"session", "run", "x", "-c", "1"}}) {
      const SubprocessResult result = daemon.RunClient(arguments);
      EXPECT_EQ(result.exit_code, 125);
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(result.err,
                  HasSubstr("sandglass: NOT_FOUND: there is no session x\n"));
      EXPECT_THAT(result.err, HasSubstr(advice));
    }
  }
}

TEST(CliSessionErrorTest, RefusesIdsThatNoMessageCanCarry) {
  FakeDaemon daemon;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"session", "info", "\xff"},
        std::vector<std::string>{"session", "rm", "\xff"},
        std::vector<std::string>{"session", "pause", "\xff"},
        std::vector<std::string>{"session", "restart", "x", "--context",
                                 "\xff"},
        std::vector<std::string>{"session", "update", "x", "--label", "a=\xff"},
        std::vector<std::string>{"session", "create", "--env", "a=\xff"},
        std::vector<std::string>{"session", "list", "--label", "a=\xff"},
        std::vector<std::string>{"session", "run", "\xff", "-c", "1"}}) {
    const SubprocessResult result = daemon.RunClient(arguments);
    EXPECT_EQ(result.exit_code, 125);
    EXPECT_THAT(result.err, HasSubstr("is not UTF-8 (byte 0)\n"));
  }
  EXPECT_EQ(daemon.runs, 0);
}

TEST(CliSessionErrorTest, ADaemonWithoutSessionsIsNamed) {
  FakeDaemon daemon;
  const SubprocessResult result = daemon.RunClient({"session", "list"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("a sandglassd of this client's version?"));
}

}  // namespace
}  // namespace sandglass::client
