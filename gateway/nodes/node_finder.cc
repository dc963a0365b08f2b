#include "gateway/nodes/node_finder.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "server/base/log.h"

namespace sandglass::gateway {
namespace {

constexpr char kDns[] = "dns:";
constexpr char kSrv[] = "srv:";
// More than a gateway's table takes.
constexpr size_t kMostAddresses = 4096;
constexpr size_t kAnswerBytes = 65536;

// HOST:PORT, as gRPC's resolver takes it.
bool IsAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  return colon != absl::string_view::npos && colon > 0 &&
         colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) ==
             absl::string_view::npos &&
         text.find_first_of("/ \t\n,") == absl::string_view::npos;
}

absl::StatusOr<std::vector<NodeAddress>> ResolveAddresses(
    absl::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string host(text.substr(0, colon));
  const std::string port(text.substr(colon + 1));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (failed != 0) {
    const std::string why = absl::StrCat(host, ": ", ::gai_strerror(failed));
    return failed == EAI_NONAME ? absl::NotFoundError(why)
                                : absl::UnavailableError(why);
  }
  const absl::Cleanup free = [list] { ::freeaddrinfo(list); };
  std::set<NodeAddress> found;
  for (const addrinfo* each = list;
       each != nullptr && found.size() < kMostAddresses; each = each->ai_next) {
    std::array<char, NI_MAXHOST> name{};
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, name.data(), name.size(),
                      nullptr, 0, NI_NUMERICHOST) != 0) {
      continue;
    }
    const bool v6 = each->ai_family == AF_INET6;
    found.insert(
        {absl::StrCat(v6 ? "[" : "", name.data(), v6 ? "]:" : ":", port),
         host});
  }
  return std::vector<NodeAddress>(found.begin(), found.end());
}

absl::StatusOr<std::vector<NodeAddress>> ResolveServices(
    const std::string& name) {
  struct __res_state state = {};
  if (::res_ninit(&state) != 0) {
    return absl::UnavailableError("the resolver's configuration can't be read");
  }
  const absl::Cleanup close = [&state] { ::res_nclose(&state); };
  std::vector<unsigned char> answer(kAnswerBytes);
  const int size =
      ::res_nsearch(&state, name.c_str(), ns_c_in, ns_t_srv, answer.data(),
                    static_cast<int>(answer.size()));
  if (size < 0) {
    const std::string why =
        absl::StrCat(name, ": ", ::hstrerror(state.res_h_errno));
    return state.res_h_errno == HOST_NOT_FOUND || state.res_h_errno == NO_DATA
               ? absl::NotFoundError(why)
               : absl::UnavailableError(why);
  }
  ns_msg message;
  if (::ns_initparse(answer.data(), size, &message) != 0) {
    return absl::UnavailableError(absl::StrCat(name, ": a bad answer"));
  }
  std::set<NodeAddress> found;
  constexpr int kHead = 6;  // priority, weight, port
  for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
    ns_rr record;
    std::array<char, NS_MAXDNAME> target{};
    if (::ns_parserr(&message, ns_s_an, i, &record) != 0 ||
        ns_rr_type(record) != ns_t_srv || ns_rr_rdlen(record) <= kHead ||
        ::dn_expand(ns_msg_base(message), ns_msg_end(message),
                    ns_rr_rdata(record) + kHead, target.data(),
                    static_cast<int>(target.size())) < 0) {
      continue;
    }
    const absl::string_view host = absl::StripSuffix(target.data(), ".");
    // A dot alone says that there is none.
    if (host.empty() || found.size() >= kMostAddresses) continue;
    found.insert(
        {absl::StrCat(host, ":", ns_get16(ns_rr_rdata(record) + 4)), ""});
  }
  if (found.empty()) return absl::NotFoundError(absl::StrCat(name, ": none"));
  return std::vector<NodeAddress>(found.begin(), found.end());
}

}  // namespace

bool IsNodeSource(const std::string& text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, kSrv)) {
    return !rest.empty() &&
           rest.find_first_of("/: \t\n,") == absl::string_view::npos;
  }
  absl::ConsumePrefix(&rest, kDns);
  return IsAddress(rest);
}

absl::StatusOr<std::vector<NodeAddress>> ResolveNodes(
    const std::string& source) {
  absl::string_view rest = source;
  if (absl::ConsumePrefix(&rest, kSrv)) {
    return ResolveServices(std::string(rest));
  }
  if (absl::ConsumePrefix(&rest, kDns)) return ResolveAddresses(rest);
  return std::vector<NodeAddress>{{source, ""}};
}

NodeFinder::NodeFinder(Resolve resolve, absl::Duration keep)
    : resolve_(std::move(resolve)), keep_(keep), thread_([this] { Loop(); }) {}

NodeFinder::~NodeFinder() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void NodeFinder::SetSources(const std::vector<std::string>& sources,
                            absl::Duration every, Found found) {
  absl::MutexLock lock(&mutex_);
  found_ = std::move(found);
  every_ = every;
  ++turn_;
  sources_ = sources;
  asked_ = true;
  const std::set<std::string> wanted(sources.begin(), sources.end());
  std::erase_if(seen_,
                [&](const auto& each) { return !wanted.contains(each.first); });
  for (const std::string& source : sources) {
    if (absl::StartsWith(source, kDns) || absl::StartsWith(source, kSrv)) {
      continue;
    }
    seen_[source] = {{{source, ""}, absl::InfiniteFuture()}};
  }
  TellIfNew();
}

void NodeFinder::Loop() {
  while (true) {
    std::vector<std::string> sources;
    uint64_t turn = 0;
    {
      absl::MutexLock lock(&mutex_);
      const auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return ending_ || asked_;
      };
      mutex_.AwaitWithTimeout(absl::Condition(&wanted), every_);
      if (ending_) return;
      asked_ = false;
      sources = sources_;
      turn = turn_;
    }
    for (const std::string& source : sources) {
      if (absl::StartsWith(source, kDns) || absl::StartsWith(source, kSrv)) {
        Take(turn, source, resolve_(source));
      }
    }
  }
}

void NodeFinder::Take(uint64_t turn, const std::string& source,
                      const absl::StatusOr<std::vector<NodeAddress>>& answer) {
  absl::MutexLock lock(&mutex_);
  if (ending_ || turn != turn_) return;
  const absl::Time now = absl::Now();
  std::string& said = errors_[source];
  const std::string error(answer.status().message());
  if (error != said) {
    server::Log(
        answer.ok() ? server::LogLevel::kInfo : server::LogLevel::kWarning,
        answer.ok() ? "nodes_found_again" : "nodes_not_found",
        {{"source", source}, {"error", error, true}});
    said = error;
  }
  std::map<NodeAddress, absl::Time>& seen = seen_[source];
  if (answer.ok()) {
    for (const NodeAddress& address : *answer) seen[address] = now;
  }
  // Where nobody knows, what was known stays.
  if (!answer.ok() && !absl::IsNotFound(answer.status())) return;
  std::erase_if(seen,
                [&](const auto& each) { return now - each.second > keep_; });
  TellIfNew();
}

void NodeFinder::TellIfNew() {
  std::set<NodeAddress> all;
  for (const auto& [source, seen] : seen_) {
    for (const auto& [address, when] : seen) all.insert(address);
  }
  std::vector<NodeAddress> now(all.begin(), all.end());
  if (now == told_) return;
  told_ = std::move(now);
  found_(told_);
}

}  // namespace sandglass::gateway
