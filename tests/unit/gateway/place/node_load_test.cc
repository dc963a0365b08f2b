#include "gateway/place/node_load.h"

#include <functional>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/gateway/place/place_support.h"

namespace sandglass::gateway {
namespace {

using ::testing::HasSubstr;

TEST(NodeLoadTest, NamesOfNodes) {
  for (const char* name : {"a", "node-7", "0", "-", "rack-2-host-17"}) {
    EXPECT_TRUE(IsNodeName(name)) << name;
  }
  EXPECT_TRUE(IsNodeName(std::string(32, 'x')));
  for (const std::string& name :
       {std::string(), std::string("Node"), std::string("a_b"),
        std::string("a b"), std::string("a.b"), std::string("a\0b", 3),
        std::string("\xc3\xa4"), std::string(33, 'x')}) {
    EXPECT_FALSE(IsNodeName(name)) << name;
  }
}

TEST(NodeLoadTest, AReportThatAnyNodeCanMakePasses) {
  NodeLoad load = IdleNode("node-1");
  load.offers.layers = {"python-0123456789abcdef"};
  load.warm_jails = {{"python", 4}};
  load.tenants["team"] = {.running = 3, .queued = 1, .sessions = 2};
  EXPECT_TRUE(CheckNodeLoad(load).ok());
  EXPECT_TRUE(CheckNodeLoad({.name = "idle"}).ok());
}

Names ManyNames(size_t count) {
  Names names;
  for (size_t i = 0; i < count; ++i) names.insert(absl::StrCat("a", i));
  return names;
}

TEST(NodeLoadTest, TheLargestReportPasses) {
  NodeLoad load = IdleNode(std::string(32, 'n'));
  load.instance = std::string(64, 'i');
  load.max_running = load.running = load.max_queued = load.queued = kMaxCount;
  load.memory_budget = load.memory_reserved = kMaxBytes;
  load.max_sessions = load.sessions = kMaxCount;
  load.session_memory_left = kMaxBytes;
  load.offers = {.languages = ManyNames(kMaxLanguages),
                 .profiles = ManyNames(kMaxProfiles),
                 .images = ManyNames(kMaxImages),
                 .layers = ManyNames(kMaxLayersOfNode)};
  for (const std::string& name : ManyNames(kMaxTenantsOfNode)) {
    load.tenants[name] = {kMaxCount, kMaxCount, kMaxCount, kMaxBytes};
  }
  for (const std::string& name : ManyNames(kMaxLanguages)) {
    load.warm_jails[name] = kMaxCount;
  }
  EXPECT_TRUE(CheckNodeLoad(load).ok()) << CheckNodeLoad(load);
}

TEST(NodeLoadTest, WhatNoNodeCanMeanIsRefused) {
  constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  struct Case {
    const char* what;
    std::function<void(NodeLoad&)> spoil;
  };
  const Case cases[] = {
      {"no name of a node", [](NodeLoad& load) { load.name = "No Name"; }},
      {"no name of a node", [](NodeLoad& load) { load.name.clear(); }},
      {"64 bytes", [](NodeLoad& load) { load.instance.assign(65, 'x'); }},
      {"only after it had come",
       [](NodeLoad& load) { load.as_of += std::chrono::nanoseconds(1); }},
      {"max_running", [](NodeLoad& load) { load.max_running = kMaxCount + 1; }},
      {"running is", [](NodeLoad& load) { load.running = kAll; }},
      {"max_queued", [](NodeLoad& load) { load.max_queued = kAll; }},
      {"queued is", [](NodeLoad& load) { load.queued = kAll; }},
      {"memory_budget",
       [](NodeLoad& load) { load.memory_budget = kMaxBytes + 1; }},
      {"memory_reserved", [](NodeLoad& load) { load.memory_reserved = kAll; }},
      {"max_sessions", [](NodeLoad& load) { load.max_sessions = kAll; }},
      {"sessions is", [](NodeLoad& load) { load.sessions = kAll; }},
      {"session_memory_left",
       [](NodeLoad& load) { load.session_memory_left = kAll; }},
      {"is no language",
       [](NodeLoad& load) { load.offers.languages.insert("Python"); }},
      {"is no profile",
       [](NodeLoad& load) { load.offers.profiles.insert("a\nb"); }},
      {"is no image", [](NodeLoad& load) { load.offers.images.insert(""); }},
      {"is no key of a layer",
       [](NodeLoad& load) {
         load.offers.layers.insert(std::string(kMaxKeyBytes + 1, 'k'));
       }},
      {"number of languages",
       [](NodeLoad& load) {
         load.offers.languages = ManyNames(kMaxLanguages + 1);
       }},
      {"number of layers",
       [](NodeLoad& load) {
         load.offers.layers = ManyNames(kMaxLayersOfNode + 1);
       }},
      {"is no tenant", [](NodeLoad& load) { load.tenants["A b"] = {}; }},
      {"more than any node holds",
       [](NodeLoad& load) { load.tenants["team"].queued = kAll; }},
      {"more than any node holds",
       [](NodeLoad& load) { load.tenants["team"].session_memory = kAll; }},
      {"warm jails", [](NodeLoad& load) { load.warm_jails["python"] = kAll; }},
      {"warm jails", [](NodeLoad& load) { load.warm_jails["?"] = 1; }},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.what);
    NodeLoad load = IdleNode("node-1");
    wrong.spoil(load);
    const absl::Status status = CheckNodeLoad(load);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong.what));
  }
}

}  // namespace
}  // namespace sandglass::gateway
