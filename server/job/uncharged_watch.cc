#include "server/job/uncharged_watch.h"

#include "absl/time/time.h"

namespace sandglass::server {
namespace {

constexpr int kShare = 20;

}  // namespace

void UnchargedWatch::Look(const sandbox::Jail& jail, Instant now) {
  if (now < next_) return;
  const Instant began = Now();
  excess_ = policy::FindExcess(jail.ReadUncharged());
  const Instant ended = Now();
  next_ = After(ended, kShare * Between(began, ended));
}

}  // namespace sandglass::server
