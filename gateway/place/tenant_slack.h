#ifndef SANDGLASS_GATEWAY_PLACE_TENANT_SLACK_H_
#define SANDGLASS_GATEWAY_PLACE_TENANT_SLACK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/place/node_load.h"
#include "gateway/place/sent_since.h"
#include "policy/tenant/tenant.h"
#include "server/base/clock.h"

namespace sandglass::gateway {

struct SlackOptions {
  // R: gateways that send to the same nodes without knowing of each other. One
  // that was started again counts twice until `window` is over.
  uint64_t replicas = 1;
  // S: in `window` one gateway takes at most an S-th of a ceiling. 0: as many
  // as there are replicas.
  uint64_t shares = 0;
  // W: so old may the newest report of a node be, by its as_of: the time T
  // between two reports, and the longest way that one takes.
  absl::Duration window = absl::Milliseconds(400);
  // An answer that a node sent before it made a report comes at most so much
  // later than the report.
  absl::Duration answer_delay = absl::Milliseconds(50);
};

// A tenant's ceilings over all nodes: of runs (those that wait on a node count
// as running, since a node starts them by itself), sessions, and what sessions
// may take.
//
// What a gateway knows is what nodes reported and what it sent them since; it
// doesn't know what other gateways sent within the last W. The rule therefore
// is, for a ceiling C and all that it knows of the tenant,
//
//   known + (S - 1) * own <= C
//
// where `own` is what it sent itself within the last W and still goes on. One
// alone is let in wherever known <= C holds with it.
//
// The bound: if every report is at most W old, a tenant never has more than
//
//   C + (R - 1) * max(m, C / S)        m: its largest single amount; of counts
//   1
//
// With one gateway that is C, exactly. With S = R, the default, it is less than
// 2 C, whatever T is, for all C >= R. With S = 1 it is R * C. The proof: take
// the moment of the latest admission, by gateway k. What others than k sent
// before the last W is in k's reports, so the tenant has at most k's `known`,
// which is at most C, and the `own` of the R - 1 others. Each of these was at
// most max(m, C / S) when it was last added to, since `own` is a part of
// `known` and so S * own <= known + (S - 1) * own <= C; and without an
// admission it only falls.
//
// The price of S > 1: a tenant all of whose short runs come by one gateway gets
// about an S-th of its ceiling there, and a tenant that begins reaches its
// ceiling in steps, one each W. Where operators would rather have too much than
// too little, S is 1.
//
// Not thread-safe. It knows no clock: times are passed in, and never go back.
class TenantSlack {
 public:
  // Of what was sent; never 0.
  using Ticket = uint64_t;

  explicit TenantSlack(const SlackOptions& options);

  // Replaces what a node reported. The report is one that NodeTable::Report
  // took.
  void Report(const NodeLoad& load);
  // The node is none any more: what it reported counts no longer. What was sent
  // there since counts until Ended.
  void Forget(std::string_view node);

  // Whether one more may be sent. RESOURCE_EXHAUSTED, "TENANT_CEILING", says
  // which ceiling is in the way; with RetryInfo, unless one alone is larger.
  absl::Status MaySend(const policy::Tenant& tenant, const Taken& taken,
                       server::MonotonicTime now);
  // It is sent to that node. Whether it may is the caller's business.
  Ticket Sent(const std::string& tenant, std::string_view node,
              const Taken& taken, server::MonotonicTime now);
  // It has ended, or never arrived. A ticket that is no more is ignored, so
  // that sessions, which often end elsewhere, need none.
  void Ended(Ticket ticket, server::MonotonicTime now);

  // Whether one more run may wait in this gateway, where `waiting` do. All
  // gateways together let max(R, ceilings.queued) wait at most, and none where
  // the ceiling is 0.
  bool MayWait(const policy::Tenant& tenant, uint64_t waiting) const;

  // What it takes a tenant to have.
  struct Has {
    uint64_t runs = 0;
    uint64_t sessions = 0;
    uint64_t session_memory = 0;  // bytes

    bool empty() const {
      return runs == 0 && sessions == 0 && session_memory == 0;
    }
  };
  // As far as this gateway knows.
  Has Known(std::string_view tenant) const;
  // Tenants and tickets that are remembered: for tests, since it has to stay
  // small.
  size_t tenants() const { return tenants_.size(); }
  size_t tickets() const { return tickets_.size(); }

 private:
  // What is known of one tenant.
  struct Tenant {
    Has reported;  // by all nodes, less what is known to have ended since
    Has unseen;    // sent, not ended, and in no report yet
    Has own;       // sent within the last W, and not ended
  };
  struct Open {
    std::string tenant;
    std::string node;
    Has amount;
    server::MonotonicTime sent;
    bool seen = false;  // a report counts it
    bool own = true;    // it was sent within the last W
  };
  struct Node {
    server::MonotonicTime heard;
    // By tenant, less what is known to have ended since.
    std::map<std::string, Has, std::less<>> reported;
    std::deque<Ticket> unseen;  // in the order of sending
  };
  using Tenants = std::map<std::string, Tenant, std::less<>>;

  // Takes what was sent before the last W out of `own`.
  void Expire(server::MonotonicTime now);
  void TakeBackReport(const Node& node);
  // Forgets a ticket that no sum needs any more.
  void DropIfDone(Ticket ticket);
  void DropIfEmpty(const std::string& tenant);
  absl::Status Check(const policy::Tenant& tenant, const char* ceiling,
                     uint64_t most, uint64_t Has::*amount, const Has& wanted);

  const SlackOptions options_;
  Tenants tenants_;  // none that is all zero
  std::map<std::string, Node, std::less<>> nodes_;
  std::map<Ticket, Open> tickets_;
  std::deque<Ticket> sent_;  // all of the last W, in the order of sending
  Ticket next_ = 1;
};

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_TENANT_SLACK_H_
