#include "gateway/nodes/node_registry.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "sandglass/node/v1/node_service.grpc.pb.h"

namespace sandglass::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A node's answers to a gateway, without a daemon behind them.
class FakeNode final : public node::v1::NodeService::Service {
 public:
  FakeNode(std::string name, std::string instance)
      : name_(std::move(name)), instance_(std::move(instance)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeNode() override { server_->Shutdown(absl::ToChronoTime(absl::Now())); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  void Rename(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    name_ = name;
  }

 private:
  grpc::Status WatchLoad(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<node::v1::WatchLoadResponse,
                               node::v1::WatchLoadRequest>* stream) override {
    node::v1::WatchLoadRequest question;
    while (stream->Read(&question)) {
      node::v1::WatchLoadResponse answer;
      {
        absl::MutexLock lock(&mutex_);
        answer.set_node(name_);
      }
      answer.set_instance(instance_);
      answer.mutable_offer()->add_languages("python");
      answer.mutable_offer()->add_profiles("default");
      answer.mutable_load()->set_max_running(4);
      answer.mutable_load()->set_memory_budget_bytes(uint64_t{1} << 30);
      if (!stream->Write(answer)) break;
    }
    return grpc::Status::OK;
  }

  absl::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  const std::string instance_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class NodeRegistryTest : public testing::Test {
 protected:
  void SetNodes(const std::vector<std::string>& addresses) {
    std::vector<NodeAddress> nodes;
    for (const std::string& address : addresses) nodes.push_back({address, ""});
    registry_.SetNodes(nodes, grpc::InsecureChannelCredentials());
  }
  // The nodes that are there, with their addresses.
  std::map<std::string, std::string> There() {
    std::map<std::string, std::string> there;
    for (const NodeState& node : registry_.States()) {
      if (node.there) there[node.name] = node.address;
    }
    EXPECT_EQ(registry_.AnyThere(), !there.empty());
    return there;
  }
  // Returns what is there once that is as it should be, or after 20 s.
  std::map<std::string, std::string> ThereOnce(
      const std::map<std::string, std::string>& expected) {
    const absl::Time end = absl::Now() + absl::Seconds(20);
    while (There() != expected && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    return There();
  }
  absl::StatusOr<std::unique_ptr<Visit>> FindForRun() {
    RoutingFields fields;
    fields.language = "python";
    return registry_.Find(Route::kRun, fields, server::Identity(), {});
  }

  NodeRegistry registry_;
};

TEST_F(NodeRegistryTest, AnAddressThatIsTakenOutTakesItsNodeWithIt) {
  const FakeNode node("node-1", "first");
  SetNodes({node.address()});
  ASSERT_THAT(ThereOnce({{"node-1", node.address()}}),
              ElementsAre(Pair("node-1", node.address())));
  EXPECT_TRUE(FindForRun().ok());
  SetNodes({});
  EXPECT_THAT(There(), IsEmpty());
  EXPECT_EQ(FindForRun().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(NodeRegistryTest, ANodeThatMovedStaysWhenItsFormerAddressIsTakenOut) {
  auto former = std::make_unique<FakeNode>("node-1", "first");
  const std::string before = former->address();
  SetNodes({before});
  ASSERT_THAT(ThereOnce({{"node-1", before}}),
              ElementsAre(Pair("node-1", before)));
  former.reset();
  const FakeNode moved("node-1", "second");
  const std::map<std::string, std::string> there = {
      {"node-1", moved.address()}};
  SetNodes({before, moved.address()});
  ASSERT_EQ(ThereOnce(there), there);
  SetNodes({moved.address()});
  EXPECT_EQ(There(), there);
  // It goes on to be asked, and to get calls.
  absl::SleepFor(kSilentAfter);
  EXPECT_EQ(There(), there);
  const auto visit = FindForRun();
  ASSERT_TRUE(visit.ok()) << visit.status();
  EXPECT_EQ((*visit)->node(), "node-1");
}

TEST_F(NodeRegistryTest, ANodeThatGotAnotherNameIsThereUnderThatAlone) {
  FakeNode node("node-1", "first");
  SetNodes({node.address()});
  ASSERT_THAT(ThereOnce({{"node-1", node.address()}}),
              ElementsAre(Pair("node-1", node.address())));
  node.Rename("node-2");
  EXPECT_THAT(ThereOnce({{"node-2", node.address()}}),
              ElementsAre(Pair("node-2", node.address())));
  const auto visit = FindForRun();
  ASSERT_TRUE(visit.ok()) << visit.status();
  EXPECT_EQ((*visit)->node(), "node-2");
}

}  // namespace
}  // namespace sandglass::gateway
