// Attacks in the languages' own means, see scripts/README.md.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/security/hostile/hostile_fixture.h"
#include "tests/support/calls/warm.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr int kAllRefused = 42;

struct Script {
  const char* language;
  const char* file;
};

class HostileScripts : public HostileTest,
                       public ::testing::WithParamInterface<Script> {
 protected:
  static v1::RunCodeRequest Request() {
    v1::RunCodeRequest request = Program(
        GetParam().language,
        ReadFile(absl::StrCat(SANDGLASS_SOURCE_DIR, "/tests/security/scripts/",
                              GetParam().file)));
    for (const std::string& word :
         {host().directory(), host().socket_path(), host().abstract_name(),
          absl::StrCat(host().tcp_port()),
          absl::StrCat(host().process().pid)}) {
      request.add_args(word);
    }
    return request;
  }

  static void ExpectAllRefused(const RunResult& result) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
    EXPECT_EQ(result.response.exit_code(), kAllRefused)
        << result.response.stderr().data();
  }
};

TEST_P(HostileScripts, NoAttackSucceeds) {
  for (int i = 0; i < 3; ++i) ExpectAllRefused(Run(Request()));
}

TEST_P(HostileScripts, NoAttackSucceedsAmongManyAtOnce) {
  const std::vector<v1::RunCodeRequest> requests(8, Request());
  for (const RunResult& result : client().RunAll(requests, 4)) {
    ExpectAllRefused(result);
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, HostileScripts,
                         ::testing::Values(Script{"python", "attack.py"},
                                           Script{"ruby", "attack.rb"},
                                           Script{"javascript", "attack.js"},
                                           Script{"bash", "attack.sh"},
                                           Script{"perl", "attack.pl"},
                                           Script{"java", "Attack.java"},
                                           Script{"go", "attack.go"},
                                           Script{"cpp", "attack.cpp"}),
                         [](const auto& each) { return each.param.language; });

}  // namespace
}  // namespace sandglass::testing
