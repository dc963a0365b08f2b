#include "server/netlink_watch.h"

#include "absl/time/time.h"
#include "policy/verdict.h"

namespace sandglass::server {
namespace {

constexpr int kShare = 20;

}  // namespace

void NetlinkWatch::Look(const sandbox::Jail& jail, Instant now) {
  if (now < next_) return;
  const Instant began = Now();
  bytes_ = jail.NetlinkBytes(policy::kMostNetlinkBytes);
  const Instant ended = Now();
  next_ = After(ended, kShare * Between(began, ended));
}

}  // namespace sandglass::server
