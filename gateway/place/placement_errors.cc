#include "gateway/place/placement_errors.h"

#include <algorithm>
#include <cstddef>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/limits/limit_request.h"
#include "policy/text/quoted.h"
#include "server/base/errors.h"
#include "server/base/make_error.h"

namespace sandglass::gateway {
namespace {

using policy::Quoted;
using server::make_error::Code;
using server::make_error::Make;
using server::make_error::MakeRetryable;

constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
constexpr absl::Duration kLastRetry = absl::Seconds(5);
constexpr size_t kMaxListed = 32;

// At most kMaxListed keys, and how many there are beyond.
std::string List(const NodeTable::Index& index) {
  std::vector<std::string> names;
  for (const auto& [name, nodes] : index) {
    if (names.size() == kMaxListed) break;
    names.push_back(name);
  }
  std::string list = names.empty() ? "none" : absl::StrJoin(names, ", ");
  if (index.size() > names.size()) {
    absl::StrAppend(&list, " and ", index.size() - names.size(), " more");
  }
  return list;
}

// "language "python" with profile …".
std::string What(const Wish& wish) {
  return absl::StrCat("language ", Quoted(wish.language), " with profile ",
                      Quoted(wish.profile), " and image ", Quoted(wish.image));
}

// Those that have all of it, whether they are there or not. Empty where a key
// is unknown.
NodeSet HaveAll(const Wish& wish, const NodeTable& nodes) {
  NodeSet all;
  for (const auto& [name, node] : nodes.by_name()) all.Set(node);
  const auto narrow = [&all](const NodeTable::Index& index,
                             const std::string& key) {
    if (key.empty()) return;
    const auto having = index.find(key);
    all = having == index.end() ? NodeSet() : all & having->second;
  };
  narrow(nodes.languages(), wish.language);
  narrow(nodes.profiles(), wish.profile);
  narrow(nodes.images(), wish.image);
  return all;
}

NodeSet Indices(const std::vector<std::string>& names, const NodeTable& nodes) {
  NodeSet set;
  for (const std::string& name : names) {
    const auto it = nodes.by_name().find(name);
    if (it != nodes.by_name().end()) set.Set(it->second);
  }
  return set;
}

absl::Status NobodyHasIt(const std::string& what,
                         const NodeTable::Index& index) {
  return Make(Code::kFailedPrecondition, "NO_FITTING_NODE", "no node has ",
              what, "; there are: ", List(index));
}

}  // namespace

absl::Duration RetryAfter(int tries, absl::BitGenRef random) {
  // More doublings would make no difference.
  const int doublings = std::clamp(tries, 0, 10);
  const absl::Duration longest =
      std::min(kFirstRetry * (1 << doublings), kLastRetry);
  return longest * absl::Uniform(random, 0.5, 1.0);
}

absl::Status TooMuchMemory(const Wish& wish) {
  return server::InvalidRequest(
      {{"limits.memory_bytes",
        absl::StrCat("is ", wish.memory_bytes, ", and may be ", kMaxBytes)}});
}

absl::Status NobodyIsFit(const Wish& wish, const NodeTable& nodes,
                         const std::vector<std::string>& excluded,
                         absl::BitGenRef random) {
  const absl::Duration retry = RetryAfter(wish.tries, random);
  if (nodes.size() == 0) {
    return MakeRetryable(Code::kUnavailable, "NO_NODES", retry,
                         "the gateway has heard of no node yet; try again");
  }
  if (!wish.language.empty() && nodes.languages().count(wish.language) == 0) {
    return server::LanguageUnavailable(
        absl::StrCat("no node has the language ", Quoted(wish.language),
                     "; there are: ", List(nodes.languages())));
  }
  if (!wish.profile.empty() && nodes.profiles().count(wish.profile) == 0) {
    return NobodyHasIt(absl::StrCat("the profile ", Quoted(wish.profile)),
                       nodes.profiles());
  }
  if (!wish.image.empty() && nodes.images().count(wish.image) == 0) {
    return NobodyHasIt(absl::StrCat("the image ", Quoted(wish.image)),
                       nodes.images());
  }
  const NodeSet have = HaveAll(wish, nodes);
  if (have.empty()) {
    return Make(Code::kFailedPrecondition, "NO_FITTING_NODE",
                "there are nodes with each, but none has ", What(wish),
                "; ask for another of them");
  }
  const NodeSet tried = Indices(excluded, nodes);
  size_t drain = 0;
  size_t silent = 0;
  have.ForEach([&](NodeIndex node) {
    if (tried.Has(node)) return;
    ++(nodes.node(node).load.draining ? drain : silent);
  });
  return MakeRetryable(Code::kUnavailable, "NODES_AWAY", retry, "of the ",
                       have.Count(), " nodes that have ", What(wish), ", ",
                       silent, " are silent, ", drain, " drain and ",
                       (have & tried).Count(),
                       " were tried already; try again later");
}

absl::Status AllAreFull(const Wish& wish, const NodeTable& nodes,
                        const std::vector<std::string>& excluded,
                        absl::BitGenRef random) {
  NodeSet fit = HaveAll(wish, nodes) & nodes.there();
  Indices(excluded, nodes).ForEach([&](NodeIndex node) { fit.Clear(node); });
  int64_t most = 0;
  fit.ForEach([&](NodeIndex node) {
    most = std::max(most, nodes.room(node).memory_budget);
  });
  const auto budget = static_cast<uint64_t>(most);
  if (!wish.session && wish.memory_bytes > budget) {
    return server::NeverFits(wish.memory_bytes, budget);
  }
  return MakeRetryable(Code::kResourceExhausted, "NODES_FULL",
                       RetryAfter(wish.tries, random), "all ", fit.Count(),
                       " nodes that have ", What(wish),
                       wish.session ? " have no room for another session"
                                    : " are full, their queues as well",
                       "; try again later");
}

}  // namespace sandglass::gateway
