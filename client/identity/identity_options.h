#ifndef SANDGLASS_CLIENT_IDENTITY_IDENTITY_OPTIONS_H_
#define SANDGLASS_CLIENT_IDENTITY_IDENTITY_OPTIONS_H_

#include <string>
#include <variant>
#include <vector>

#include "sandglass/v1/identity.pb.h"

namespace sandglass::client {

// `sandglass context …`.
struct ContextOptions {
  enum class Act { kList, kAdd, kUse, kShow, kRemove };
  Act act = Act::kList;
  std::string name;  // kShow: empty is the one in use
  bool json = false;
};

struct WhoAmIOptions {
  bool json = false;
};

// `sandglass token …`.
struct CreateTokenOptions {
  v1::CreateTokenRequest request;
  bool json = false;
};
struct ListTokensOptions {
  std::string tenant;  // empty: all
  bool json = false;
};
struct RevokeTokensOptions {
  std::vector<std::string> ids;
  bool json = false;
};

using IdentityOptions =
    std::variant<ContextOptions, WhoAmIOptions, CreateTokenOptions,
                 ListTokensOptions, RevokeTokensOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_IDENTITY_IDENTITY_OPTIONS_H_
