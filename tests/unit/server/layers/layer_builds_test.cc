#include "server/layers/layer_builds.h"

#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TempDir;

const LayerKey kKey = {policy::Ecosystem::kPython, "six", "t", "r"};

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return false;
}

class LayerBuildsTest : public ::testing::Test {
 protected:
  LayerBuildsTest()
      : store_(*LayerStore::Open(dir_.Path("s"), ::getuid(), ::getgid(), {})) {}

  // A build that waits until it is let go, or cancelled.
  LayerBuilds::Build Slow() {
    return [this](const LayerStore::Staging& staging,
                  const LayerBuilds::Progress& progress, CancelToken& cancel) {
      ++begun_;
      progress("one");
      while (!go_ && !cancel.reason()) absl::SleepFor(absl::Milliseconds(1));
      if (cancel.reason()) {
        ++cancelled_;
        return absl::CancelledError("stopped");
      }
      progress("two");
      testing::WriteFile(staging.path() + "/six.py", "1");
      return absl::OkStatus();
    };
  }

  struct Identity {
    CancelToken cancel;
    std::vector<std::string> lines;
    std::atomic<int> seen = 0;
    std::optional<absl::StatusOr<LayerStore::Pin>> result;
    std::thread thread;
  };
  std::unique_ptr<Identity> Call(const LayerBuilds::Build& build) {
    auto caller = std::make_unique<Identity>();
    Identity* const own = caller.get();
    own->thread = std::thread([this, own, build] {
      own->result = builds_->GetOrBuild(
          kKey, build,
          [own](std::string_view line) {
            own->lines.emplace_back(line);
            ++own->seen;
          },
          own->cancel);
    });
    return caller;
  }

  void Restart(absl::Duration remember) {
    builds_ = std::make_unique<LayerBuilds>(*store_, remember);
  }

  const TempDir dir_;
  const std::unique_ptr<LayerStore> store_;
  std::atomic<bool> go_ = false;
  std::atomic<int> begun_ = 0;
  std::atomic<int> cancelled_ = 0;
  std::unique_ptr<LayerBuilds> builds_ = std::make_unique<LayerBuilds>(*store_);
};

TEST_F(LayerBuildsTest, ManyCallersShareOneBuild) {
  std::vector<std::unique_ptr<Identity>> callers;
  callers.push_back(Call(Slow()));
  ASSERT_TRUE(Eventually([&] { return callers[0]->seen == 1; }));
  for (int i = 0; i < 7; ++i) callers.push_back(Call(Slow()));
  // Those that come later get what was said before.
  ASSERT_TRUE(Eventually([&] {
    return std::all_of(callers.begin(), callers.end(),
                       [](const auto& caller) { return caller->seen == 1; });
  }));
  go_ = true;
  for (const auto& caller : callers) {
    caller->thread.join();
    ASSERT_TRUE(caller->result->ok()) << caller->result->status();
    EXPECT_EQ((*caller->result)->id(), (*callers[0]->result)->id());
    EXPECT_THAT(caller->lines, ElementsAre("one", "two"));
  }
  EXPECT_EQ(begun_, 1);
  // And the next finds it.
  CancelToken cancel;
  EXPECT_TRUE(builds_->GetOrBuild(kKey, Slow(), nullptr, cancel).ok());
  EXPECT_EQ(begun_, 1);
}

TEST_F(LayerBuildsTest, KeepsNoLayerThatNobodyHas) {
  go_ = true;
  auto caller = Call(Slow());
  caller->thread.join();
  ASSERT_TRUE(caller->result && caller->result->ok());
  const std::string id = (**caller->result).id();
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->Remove(id)));
  caller->result.reset();
  EXPECT_TRUE(store_->Remove(id).ok());
}

TEST_F(LayerBuildsTest, GoesOnForTheOthersWhenItsFirstCallerLeaves) {
  const auto first = Call(Slow());
  ASSERT_TRUE(Eventually([&] { return first->seen == 1; }));
  const auto second = Call(Slow());
  ASSERT_TRUE(Eventually([&] { return second->seen == 1; }));
  first->cancel.Cancel(policy::KillReason::kCancelled);
  first->thread.join();
  EXPECT_EQ(first->result->status().code(), absl::StatusCode::kCancelled);
  go_ = true;
  second->thread.join();
  EXPECT_TRUE(second->result->ok()) << second->result->status();
  EXPECT_EQ(begun_, 1);
  EXPECT_EQ(cancelled_, 0);
}

TEST_F(LayerBuildsTest, IsCancelledWhenTheLastCallerLeaves) {
  const auto first = Call(Slow());
  const auto second = Call(Slow());
  ASSERT_TRUE(
      Eventually([&] { return first->seen == 1 && second->seen == 1; }));
  first->cancel.Cancel(policy::KillReason::kCancelled);
  second->cancel.Cancel(policy::KillReason::kCancelled);
  first->thread.join();
  second->thread.join();
  EXPECT_TRUE(Eventually([&] { return cancelled_ == 1; }));
  // It isn't remembered as a failure.
  go_ = true;
  const auto third = Call(Slow());
  third->thread.join();
  EXPECT_TRUE(third->result->ok()) << third->result->status();
}

TEST_F(LayerBuildsTest, TellsAFailureToAllAndForgetsItSoon) {
  Restart(absl::Milliseconds(300));
  const LayerBuilds::Build failing =
      [this](const LayerStore::Staging&, const LayerBuilds::Progress& progress,
             CancelToken&) {
        ++begun_;
        progress("trying");
        while (!go_) absl::SleepFor(absl::Milliseconds(1));
        return absl::NotFoundError("no such package");
      };
  const auto first = Call(failing);
  const auto second = Call(failing);
  ASSERT_TRUE(
      Eventually([&] { return first->seen == 1 && second->seen == 1; }));
  go_ = true;
  first->thread.join();
  second->thread.join();
  for (const Identity* caller : {first.get(), second.get()}) {
    EXPECT_EQ(caller->result->status(), absl::NotFoundError("no such package"));
  }
  CancelToken cancel;
  EXPECT_EQ(builds_->GetOrBuild(kKey, Slow(), nullptr, cancel).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(begun_, 1);
  // Once it is forgotten.
  EXPECT_TRUE(Eventually(
      [&] { return builds_->GetOrBuild(kKey, Slow(), nullptr, cancel).ok(); }));
}

TEST_F(LayerBuildsTest, TellsWhatTheStoreRefuses) {
  CancelToken cancel;
  const LayerBuilds::Build empty =
      [](const LayerStore::Staging&, const LayerBuilds::Progress&,
         CancelToken&) { return absl::OkStatus(); };
  EXPECT_EQ(builds_->GetOrBuild(kKey, empty, nullptr, cancel).status(),
            absl::InvalidArgumentError("nothing was installed"));
  EXPECT_THAT(store_->List(), IsEmpty());
}

TEST_F(LayerBuildsTest, BoundsProgress) {
  CancelToken cancel;
  std::vector<std::string> lines;
  const LayerBuilds::Build chatty = [](const LayerStore::Staging& staging,
                                       const LayerBuilds::Progress& progress,
                                       CancelToken&) {
    progress(std::string(1 << 20, 'x'));
    for (int i = 0; i < 10'000; ++i) progress(std::to_string(i));
    testing::WriteFile(staging.path() + "/f", "1");
    return absl::OkStatus();
  };
  ASSERT_TRUE(builds_
                  ->GetOrBuild(
                      kKey, chatty,
                      [&](std::string_view line) { lines.emplace_back(line); },
                      cancel)
                  .ok());
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "9999");
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), LayerBuilds::kMaxLine);
  }
}

TEST_F(LayerBuildsTest, EndsWhatIsUnderWayWithItself) {
  const auto caller = Call(Slow());
  ASSERT_TRUE(Eventually([&] { return caller->seen == 1; }));
  caller->cancel.Cancel(policy::KillReason::kShutdown);
  caller->thread.join();
  builds_.reset();
  EXPECT_EQ(cancelled_, 1);
}

}  // namespace
}  // namespace sandglass::server
