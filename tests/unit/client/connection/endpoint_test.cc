// Which of the places that say where the daemon is comes first.
#include "client/connection/endpoint.h"

#include <map>
#include <string>

#include "client/connection/contexts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;

class ResolveEndpointTest : public ::testing::Test {
 protected:
  ResolveEndpointTest() {
    Contexts contexts;
    contexts.current = "used";
    for (const char* name : {"used", "other"}) {
      Endpoint endpoint(std::string(name) + ":1");
      endpoint.ca = std::string(name) + "-ca";
      endpoint.token_file = std::string(name) + "-token";
      contexts.by_name[name] = endpoint;
    }
    variables_["HOME"] = home_.path();
    EXPECT_TRUE(
        WriteContexts(home_.Path(".config/sandglass/config"), contexts).ok());
  }
  absl::StatusOr<Endpoint> Resolve(const EndpointFlags& flags) const {
    return ResolveEndpoint(
        flags, [&](const std::string& name) -> std::optional<std::string> {
          const auto found = variables_.find(name);
          if (found == variables_.end()) return std::nullopt;
          return found->second;
        });
  }

  testing::TempDir home_;
  std::map<std::string, std::string> variables_;
};

TEST_F(ResolveEndpointTest, FlagsBeatVariablesBeatTheContextInUse) {
  EXPECT_EQ(Resolve({})->address, "used:1");
  EXPECT_EQ(Resolve({})->token_file, "used-token");
  variables_["SANDGLASS_ADDRESS"] = "variable:1";
  EXPECT_EQ(Resolve({})->address, "variable:1");
  EXPECT_EQ(Resolve({})->token_file, "");
  EXPECT_EQ(Resolve({.address = "flag:1"})->address, "flag:1");
}

TEST_F(ResolveEndpointTest, AContextByNameBeatsTheVariables) {
  variables_["SANDGLASS_ADDRESS"] = "variable:1";
  variables_["SANDGLASS_TOKEN"] = "secret";
  const auto named = Resolve({.ca = "flag-ca", .context = "other"});
  EXPECT_EQ(named->address, "other:1");
  EXPECT_EQ(named->ca, "flag-ca");
  EXPECT_EQ(named->token_file, "other-token");
  EXPECT_EQ(named->token, "");
  variables_["SANDGLASS_CONTEXT"] = "other";
  EXPECT_EQ(Resolve({})->address, "variable:1");
  EXPECT_EQ(Resolve({})->token, "secret");
}

TEST_F(ResolveEndpointTest, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(Resolve({.cert = "c"}).status().message(),
              HasSubstr("without its key"));
  EXPECT_THAT(Resolve({.address = ""}).status().message(),
              HasSubstr("--address is empty"));
  EXPECT_THAT(Resolve({.context = "none"}).status().message(),
              HasSubstr("no such context"));
  variables_["SANDGLASS_TOKEN"] = "secret";
  variables_["SANDGLASS_TOKEN_FILE"] = "file";
  EXPECT_THAT(Resolve({}).status().message(), HasSubstr("are both set"));
}

}  // namespace
}  // namespace sandglass::client
