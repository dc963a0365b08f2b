#include "server/run/run_registry.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using How = RunRegistry::Claimed::How;

RunEnd Answer(v1::Outcome outcome, size_t bytes = 10) {
  auto response = std::make_shared<v1::RunCodeResponse>();
  response->set_outcome(outcome);
  response->mutable_stdout()->set_data(std::string(bytes, 'x'));
  return {absl::OkStatus(), std::move(response)};
}

// Records a run's end, and tells it to those who wait.
void Finish(RunRegistry& registry, Run& run, const RunEnd& end) {
  if (const auto told = registry.Finish(run, end)) run.OnEnd(*told);
}

RunPtr Identified(const Identity& caller, const std::string& id,
                  const std::string& fingerprint = "same") {
  return MakeRun(caller, 1 << 20, 100, id, fingerprint);
}

class RegistryTest : public ::testing::Test {
 protected:
  How Claim(const RunPtr& run) { return registry_.Claim(run, &listener_).how; }
  RunRegistry registry_{RetentionOptions{}};
  RecordingListener listener_;
  RecordingListener other_;
};

TEST_F(RegistryTest, ARepeatJoinsWhileItRunsAndGetsTheAnswerAfterwards) {
  const auto first = Identified(User(1), "id");
  EXPECT_EQ(Claim(first), How::kNew);
  const auto joined = registry_.Claim(Identified(User(1), "id"), &other_);
  EXPECT_EQ(joined.how, How::kJoined);
  EXPECT_EQ(joined.run, first);
  Finish(registry_, *first, Answer(v1::OUTCOME_OK));
  EXPECT_FALSE(listener_.WaitForEnd().joined);
  EXPECT_TRUE(other_.WaitForEnd().joined);
  const auto later = registry_.Claim(Identified(User(1), "id"), &other_);
  EXPECT_EQ(later.how, How::kEnded);
  EXPECT_TRUE(later.end.joined);
  EXPECT_EQ(later.end.response->outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(other_.ends(), 1u);
}

TEST_F(RegistryTest, EachEndSaysWhetherItsAnswerIsKept) {
  const auto kept = [&](const RunPtr& run, const RunEnd& end) {
    RecordingListener listener;
    EXPECT_EQ(registry_.Claim(run, &listener).how, How::kNew);
    Finish(registry_, *run, end);
    return listener.WaitForEnd().kept;
  };
  EXPECT_TRUE(kept(Identified(User(1), "id"), Answer(v1::OUTCOME_OK)));
  EXPECT_TRUE(registry_.Claim(Identified(User(1), "id"), &other_).end.kept);
  EXPECT_FALSE(kept(MakeRun(User(1)), Answer(v1::OUTCOME_OK)));
  EXPECT_FALSE(
      kept(Identified(User(1), "failed"), Answer(v1::OUTCOME_JAIL_FAILED)));
  EXPECT_FALSE(kept(Identified(User(1), "large"),
                    Answer(v1::OUTCOME_OK, RetentionOptions{}.max_bytes)));
}

TEST_F(RegistryTest, AnotherBodyUnderTheSameIdIsRefused) {
  const auto first = Identified(User(1), "id");
  Claim(first);
  for (int finished = 0; finished < 2; ++finished) {
    const auto claimed =
        registry_.Claim(Identified(User(1), "id", "different"), &other_);
    EXPECT_EQ(claimed.how, How::kEnded);
    EXPECT_EQ(claimed.end.status.code(), absl::StatusCode::kAlreadyExists);
    Finish(registry_, *first, Answer(v1::OUTCOME_OK));
  }
}

TEST_F(RegistryTest, IdsBelongToTheirCaller) {
  EXPECT_EQ(Claim(Identified(User(1), "id")), How::kNew);
  EXPECT_EQ(Claim(Identified(User(2), "id", "different")), How::kNew);
  EXPECT_EQ(Claim(MakeRun(User(1))), How::kNew);
  EXPECT_EQ(Claim(MakeRun(User(1))), How::kNew);
}

TEST_F(RegistryTest, FailuresOfOursAreNotRepeated) {
  const RunEnd ends[] = {{absl::InternalError("x"), nullptr},
                         Answer(v1::OUTCOME_JAIL_FAILED),
                         Answer(v1::OUTCOME_SHUTDOWN)};
  for (const RunEnd& end : ends) {
    const auto run = Identified(User(1), "id");
    EXPECT_EQ(Claim(run), How::kNew);
    Finish(registry_, *run, end);
  }
}

TEST_F(RegistryTest, AnAbandonedRunIsNotJoinedAndARepeatRunsAfresh) {
  const auto first = Identified(User(1), "id");
  Claim(first);
  EXPECT_TRUE(first->Detach(&listener_));
  EXPECT_TRUE(first->abandoned());
  EXPECT_EQ(first->cancel().reason(), policy::KillReason::kCancelled);
  const auto second = Identified(User(1), "id");
  EXPECT_EQ(registry_.Claim(second, &other_).how, How::kNew);
  // The old run's end must not take the id away from the new one.
  Finish(registry_, *first, Answer(v1::OUTCOME_CANCELLED));
  Finish(registry_, *second, Answer(v1::OUTCOME_OK));
  const auto third = registry_.Claim(Identified(User(1), "id"), &other_);
  EXPECT_EQ(third.how, How::kEnded);
  EXPECT_EQ(third.end.response->outcome(), v1::OUTCOME_OK);
  EXPECT_EQ(listener_.ends(), 0u);
}

TEST_F(RegistryTest, ARunGoesOnWhileAnotherCallWaits) {
  const auto run = Identified(User(1), "id");
  Claim(run);
  registry_.Claim(Identified(User(1), "id"), &other_);
  EXPECT_TRUE(run->Detach(&listener_));
  EXPECT_FALSE(run->abandoned());
  EXPECT_FALSE(run->cancel().reason().has_value());
  Finish(registry_, *run, Answer(v1::OUTCOME_OK));
  EXPECT_EQ(other_.ends(), 1u);
  EXPECT_EQ(listener_.ends(), 0u);
}

TEST_F(RegistryTest, ListsNewestFirstInPages) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    const auto run = MakeRun(User(1));
    ids.insert(ids.begin(), run->id());
    Claim(run);
    if (i % 2 == 0) Finish(registry_, *run, Answer(v1::OUTCOME_OK));
  }
  v1::ListRunsRequest request;
  request.set_page_size(2);
  std::vector<std::string> listed;
  for (int page = 0; page < 3; ++page) {
    const auto response = registry_.List(User(1), request);
    ASSERT_TRUE(response.ok());
    for (const auto& run : response->runs()) listed.push_back(run.run_id());
    request.set_page_token(response->next_page_token());
  }
  EXPECT_EQ(listed, ids);
  EXPECT_EQ(request.page_token(), "");
}

TEST_F(RegistryTest, FiltersByStateAndLabels) {
  RunOrigin origin = MakeRun(User(1))->origin();
  origin.labels = {{"task", "a"}, {"try", "1"}};
  const auto labelled = std::make_shared<server::Run>(origin, Job{});
  Claim(labelled);
  Claim(MakeRun(User(1)));
  v1::ListRunsRequest request;
  (*request.mutable_labels())["task"] = "a";
  EXPECT_EQ(registry_.List(User(1), request)->runs_size(), 1);
  (*request.mutable_labels())["task"] = "b";
  EXPECT_EQ(registry_.List(User(1), request)->runs_size(), 0);
  request.clear_labels();
  request.add_states(v1::RUN_STATE_FINISHED);
  EXPECT_EQ(registry_.List(User(1), request)->runs_size(), 0);
  Finish(registry_, *labelled, Answer(v1::OUTCOME_TIMEOUT));
  const auto finished = registry_.List(User(1), request);
  ASSERT_EQ(finished->runs_size(), 1);
  EXPECT_EQ(finished->runs(0).outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(finished->runs(0).state(), v1::RUN_STATE_FINISHED);
}

TEST_F(RegistryTest, CallersSeeTheirOwnAndRootSeesAll) {
  const auto run = MakeRun(User(1));
  Claim(run);
  EXPECT_EQ(registry_.List(User(2), {})->runs_size(), 0);
  EXPECT_EQ(registry_.List(User(0), {})->runs_size(), 1);
  EXPECT_EQ(registry_.Find(User(2), run->id()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(*registry_.Find(User(0), run->id()), run);
}

TEST_F(RegistryTest, RefusesBadPages) {
  v1::ListRunsRequest request;
  request.set_page_size(-1);
  EXPECT_FALSE(registry_.List(User(1), request).ok());
  request.set_page_size(1001);
  EXPECT_FALSE(registry_.List(User(1), request).ok());
  request.set_page_size(1);
  request.set_page_token("garbage");
  EXPECT_EQ(registry_.List(User(1), request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RegistryBounds, TheOldestGoWhenCountOrBytesOrTimeAreFull) {
  const auto known = [](RunRegistry& registry) {
    return registry.List(User(1), {})->runs_size();
  };
  const auto fill = [](RunRegistry& registry, size_t bytes) {
    RecordingListener listener;
    for (int i = 0; i < 10; ++i) {
      const auto run = Identified(User(1), "id" + std::to_string(i));
      registry.Claim(run, &listener);
      Finish(registry, *run, Answer(v1::OUTCOME_OK, bytes));
    }
  };
  RunRegistry counted(RetentionOptions{.max_runs = 3});
  fill(counted, 10);
  EXPECT_EQ(known(counted), 3);
  RunRegistry weighed(RetentionOptions{.max_bytes = 50'000});
  fill(weighed, 20'000);
  EXPECT_EQ(known(weighed), 2);
  // What went can be run again.
  RecordingListener listener;
  EXPECT_EQ(weighed.Claim(Identified(User(1), "id0"), &listener).how,
            How::kNew);
  EXPECT_EQ(weighed.Claim(Identified(User(1), "id9"), &listener).how,
            How::kEnded);
  RunRegistry timed(RetentionOptions{.time = absl::Milliseconds(1)});
  fill(timed, 10);
  absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(known(timed), 0);
}

// One caller's flood makes none of another's runs unknown.
TEST(RegistryBounds, TheCallerWithTheMostLosesFirst) {
  for (const RetentionOptions& options :
       {RetentionOptions{.max_runs = 20},
        RetentionOptions{.max_bytes = 200'000}}) {
    RunRegistry registry(options);
    RecordingListener listener;
    const auto add = [&](uid_t uid, int count) {
      for (int i = 0; i < count; ++i) {
        const auto run = Identified(User(uid), "id" + std::to_string(i));
        registry.Claim(run, &listener);
        Finish(registry, *run, Answer(v1::OUTCOME_OK, 10'000));
      }
    };
    add(2, 3);
    add(1, 100);
    EXPECT_EQ(registry.List(User(2), {})->runs_size(), 3);
    EXPECT_EQ(registry.Claim(Identified(User(2), "id0"), &listener).how,
              How::kEnded);
    EXPECT_GT(registry.List(User(1), {})->runs_size(), 10);
    EXPECT_LE(registry.List(User(1), {})->runs_size(), 17);
    EXPECT_EQ(registry.live_count(), 0u);
  }
}

TEST(Fingerprint, TellsRequestsApartAndNotTheOrderOfAMap) {
  v1::RunCodeRequest a, b;
  for (int i = 0; i < 50; ++i) {
    (*a.mutable_env())["k" + std::to_string(i)] = "v";
    (*b.mutable_env())["k" + std::to_string(49 - i)] = "v";
  }
  EXPECT_EQ(Fingerprint(a), Fingerprint(b));
  b.set_code("x");
  EXPECT_NE(Fingerprint(a), Fingerprint(b));
  EXPECT_EQ(Fingerprint(a).size(), 32u);
}

}  // namespace
}  // namespace sandglass::server
