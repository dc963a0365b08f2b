#include "server/identity/refusal_limit.h"

#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sandglass::server {

double RefusalLimit::Left(const Bucket& bucket, MonotonicTime now) {
  const std::chrono::duration<double> passed = now - bucket.at;
  return std::max(0.0, bucket.refusals - passed.count() * kPerSecond);
}

void RefusalLimit::Count(const std::string& address, MonotonicTime now) {
  absl::MutexLock lock(&mutex_);
  if (addresses_.size() >= kMaxAddresses && !addresses_.contains(address)) {
    std::erase_if(addresses_, [&](const auto& each) {
      return Left(each.second, now) == 0;
    });
    if (addresses_.size() >= kMaxAddresses) {
      addresses_.erase(std::ranges::min_element(
          addresses_, {}, [](const auto& each) { return each.second.at; }));
    }
  }
  Bucket& bucket = addresses_[address];
  bucket = {Left(bucket, now) + 1, now};
}

absl::Duration RefusalLimit::Wait(const std::string& address,
                                  MonotonicTime now) const {
  absl::MutexLock lock(&mutex_);
  const auto bucket = addresses_.find(address);
  if (bucket == addresses_.end()) return absl::ZeroDuration();
  const double over = Left(bucket->second, now) + 1 - kBurst;
  return over <= 0 ? absl::ZeroDuration() : absl::Seconds(over / kPerSecond);
}

std::string NetworkOf(const std::string& address) {
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) != 1) return address;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    char text[INET_ADDRSTRLEN];
    ::inet_ntop(AF_INET, &v6.s6_addr[12], text, sizeof(text));
    return text;
  }
  std::memset(&v6.s6_addr[8], 0, 8);
  char text[INET6_ADDRSTRLEN];
  ::inet_ntop(AF_INET6, &v6, text, sizeof(text));
  return absl::StrCat(text, "/64");
}

}  // namespace sandglass::server
