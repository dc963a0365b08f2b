#ifndef SANDGLASS_CLIENT_CERT_CERT_OPTIONS_H_
#define SANDGLASS_CLIENT_CERT_CERT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sandglass::client {

// `sandglass cert …`.
struct CertOptions {
  enum class Act { kInit, kServer, kClient, kRenew, kShow };
  Act act = Act::kShow;
  std::string dir;
  std::string name;  // kServer, kClient
  std::string tenant = "local";
  std::vector<std::string> hosts;  // empty: this machine's, or the name
  std::optional<uint32_t> days;
  std::vector<std::string> names;  // kRenew; kShow: files
  bool force = false;
  bool json = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CERT_CERT_OPTIONS_H_
