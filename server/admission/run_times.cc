#include "server/admission/run_times.h"

#include <algorithm>
#include <cmath>

namespace sandglass::server {
namespace {

constexpr double kPart = 0.2;  // of a new time in the average
constexpr uint64_t kEnough = 16;

// No tenant has an empty name, so that "" stands for all.
std::string KeyOf(const std::string& tenant, const std::string& kind) {
  return tenant + "\n" + kind;
}

}  // namespace

RunTimes::Expected RunTimes::Get(const std::string& tenant,
                                 const std::string& kind) const {
  auto found = averages_.find(KeyOf(tenant, kind));
  if (found != averages_.end()) {
    const Average& known = found->second;
    return {known.mean,
            known.count >= kEnough && known.deviation <= known.mean / 2};
  }
  found = averages_.find(KeyOf("", kind));
  return {found != averages_.end() ? found->second.mean : usual_, false};
}

void RunTimes::LearnOf(const std::string& key, double seconds) {
  Average& average = averages_[key];
  ++average.count;
  const double part = std::max(kPart, 1 / static_cast<double>(average.count));
  const double differs = std::abs(seconds - average.mean);
  if (average.count > 1) {
    average.deviation += (differs - average.deviation) * part;
  }
  average.mean += (seconds - average.mean) * part;
  used_.Put(key, 1);
  if (used_.size() > max_known_) {
    averages_.erase(used_.oldest());
    used_.Erase(std::string(used_.oldest()));
  }
}

void RunTimes::Learn(const std::string& tenant, const std::string& kind,
                     double seconds) {
  LearnOf(KeyOf("", kind), seconds);
  LearnOf(KeyOf(tenant, kind), seconds);
  usual_ += (seconds - usual_) * kPart;
}

}  // namespace sandglass::server
