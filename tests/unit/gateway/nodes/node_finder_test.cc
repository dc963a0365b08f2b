#include "gateway/nodes/node_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace sandglass::gateway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Addresses = std::vector<NodeAddress>;

TEST(NodeSourceTest, HasOneOfThreeForms) {
  for (const char* text : {"a:1", "127.0.0.1:8443", "[::1]:8443",
                           "dns:nodes.example.org:8443", "srv:_grpc._tcp.a"}) {
    EXPECT_TRUE(IsNodeSource(text)) << text;
  }
  for (const char* text : {"", "a", "a:", ":1", "a:b", "https://a:1", "a:1,b:2",
                           "dns:a", "dns::1", "srv:", "srv:a:1", "srv:a b"}) {
    EXPECT_FALSE(IsNodeSource(text)) << text;
  }
}

TEST(NodeSourceTest, IsAskedOfThisMachinesResolver) {
  const auto local = ResolveNodes("dns:localhost:8443");
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_THAT(*local, Contains(NodeAddress{"127.0.0.1:8443", "localhost"}));
  const auto plain = ResolveNodes("node-1:8443");
  ASSERT_TRUE(plain.ok());
  EXPECT_THAT(*plain, ElementsAre(NodeAddress{"node-1:8443", ""}));
}

// A DNS that says what the test wants, and whose answers are counted.
class NodeFinderTest : public ::testing::Test {
 protected:
  absl::StatusOr<Addresses> Resolve(const std::string& source) {
    absl::MutexLock lock(&mutex_);
    ++asked_;
    return answers_[source];
  }
  void Set(const std::string& source, absl::StatusOr<Addresses> answer) {
    absl::MutexLock lock(&mutex_);
    answers_[source] = std::move(answer);
  }
  void Found(const Addresses& found) {
    absl::MutexLock lock(&mutex_);
    found_ = found;
    ++told_;
  }
  void SetSources(NodeFinder& finder, const std::vector<std::string>& sources) {
    finder.SetSources(sources, absl::Milliseconds(5),
                      [this](const Addresses& found) { Found(found); });
  }
  // Waits until DNS was asked twice more.
  void AskTwice() {
    absl::MutexLock lock(&mutex_);
    const int enough = asked_ + 2;
    const auto done = [&] { return asked_ >= enough; };
    EXPECT_TRUE(
        mutex_.AwaitWithTimeout(absl::Condition(&done), absl::Seconds(20)));
  }
  Addresses found() {
    absl::MutexLock lock(&mutex_);
    return found_;
  }
  int told() {
    absl::MutexLock lock(&mutex_);
    return told_;
  }

  absl::Mutex mutex_;
  std::map<std::string, absl::StatusOr<Addresses>> answers_;
  Addresses found_;
  int asked_ = 0;
  int told_ = 0;
};

const NodeAddress kA{"10.0.0.1:1", "n"};
const NodeAddress kB{"10.0.0.2:1", "n"};

TEST_F(NodeFinderTest, FollowsTheName) {
  Set("dns:n:1", Addresses{kA});
  NodeFinder finder([this](const std::string& s) { return Resolve(s); },
                    /*keep=*/absl::ZeroDuration());
  SetSources(finder, {"dns:n:1", "static:2"});
  // At once what needs no DNS.
  EXPECT_THAT(found(), Contains(NodeAddress{"static:2", ""}));
  AskTwice();
  EXPECT_THAT(found(), ElementsAre(kA, NodeAddress{"static:2", ""}));
  Set("dns:n:1", Addresses{kA, kB});
  AskTwice();
  EXPECT_THAT(found(), ElementsAre(kA, kB, NodeAddress{"static:2", ""}));
  const int before = told();
  AskTwice();
  EXPECT_EQ(told(), before);
  Set("dns:n:1", Addresses{kB});
  AskTwice();
  AskTwice();
  EXPECT_THAT(found(), ElementsAre(kB, NodeAddress{"static:2", ""}));
  // What was found stays when the sources are set again.
  SetSources(finder, {"dns:n:1"});
  EXPECT_THAT(found(), ElementsAre(kB));
  SetSources(finder, {});
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(NodeFinderTest, ANameThatFlapsLosesNoNodes) {
  Set("dns:n:1", Addresses{kA, kB});
  NodeFinder finder([this](const std::string& s) { return Resolve(s); },
                    /*keep=*/absl::Seconds(60));
  SetSources(finder, {"dns:n:1"});
  AskTwice();
  ASSERT_THAT(found(), ElementsAre(kA, kB));
  const std::vector<absl::StatusOr<Addresses>> flaps = {
      absl::UnavailableError("no answer"), absl::NotFoundError("no such name"),
      Addresses{}, Addresses{kA}, absl::UnavailableError("no answer")};
  for (const auto& answer : flaps) {
    Set("dns:n:1", answer);
    AskTwice();
    EXPECT_THAT(found(), ElementsAre(kA, kB));
  }
}

TEST_F(NodeFinderTest, WhereNobodyKnowsWhatWasKnownStays) {
  Set("dns:n:1", Addresses{kA});
  NodeFinder finder([this](const std::string& s) { return Resolve(s); },
                    /*keep=*/absl::ZeroDuration());
  SetSources(finder, {"dns:n:1"});
  AskTwice();
  Set("dns:n:1", absl::UnavailableError("no answer"));
  AskTwice();
  EXPECT_THAT(found(), ElementsAre(kA));
  // But for a name that there is no more.
  Set("dns:n:1", absl::NotFoundError("no such name"));
  AskTwice();
  AskTwice();
  EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace sandglass::gateway
