// Package managers, as programs use them, reach the registry that their profile
// allows, and no other: over HTTP as they find the proxy by themselves and by
// names alone, and where the proxy is TLS's end.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/network/network_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "packages" gives them the room that they take.
constexpr char kProfile[] = R"({
  "description": "package managers",
  "limits": {"wall_time": "120s", "cpu_time": "120s", "memory_bytes": "1GiB",
             "max_processes": 512, "cpu_millis": 2000, "tmp_bytes": "256MiB",
             "workspace_bytes": "256MiB", "file_size_bytes": "256MiB"},
  "network": {
    "hosts": [{"host": "allowed.test.org", "ports": [80]},
              {"host": "inspected.test.org", "ports": [443], "inspect": true}]
  }
})";

// A script that gets the package of make_registry.py from the registry at
// @BASE@ and says so.
struct Manager {
  const char* name;
  const char* script;
  const char* words;
};

constexpr Manager kManagers[] = {
    // It says why no page of an index came only where it is asked to say more.
    {"Pip", R"(
host=${BASE#*://}
/usr/bin/python3 -m pip install --no-cache-dir --disable-pip-version-check \
  --verbose --verbose --target out --index-url "$BASE/simple" --trusted-host "$host" tiny-py &&
PYTHONPATH=out /usr/bin/python3 -c 'import tiny_py; print(tiny_py.WORDS)'
)",
     "tiny python"},
    {"Npm", R"(
npm install --no-audit --no-fund --no-update-notifier --fetch-retries=0 \
  --registry "$BASE/npm" tiny-js &&
node -e 'console.log(require("tiny-js"))'
)",
     "tiny javascript"},
    {"Go", R"(
export GOPROXY=$BASE/go GOSUMDB=off GOPATH=/tmp/go GOTOOLCHAIN=local
go mod init test.org/program && go get tiny.test.org/go@v1.0.0 &&
cat /tmp/go/pkg/mod/tiny.test.org/*/tiny.go
)",
     "tiny go"},
    {"Gem", R"(
gem install --no-document --clear-sources --source "$BASE" --install-dir gems \
  tiny_rb &&
GEM_PATH=gems ruby -e 'require "tiny_rb"; puts WORDS'
)",
     "tiny ruby"},
    {"Maven", R"(
cat > settings.xml << END
<settings><mirrors><mirror>
  <id>tiny</id><mirrorOf>*</mirrorOf><url>$BASE/maven</url>
</mirror></mirrors></settings>
END
cat > pom.xml << END
<project>
  <modelVersion>4.0.0</modelVersion>
  <parent>
    <groupId>org.test.tiny</groupId>
    <artifactId>parent</artifactId>
    <version>1.0</version>
  </parent>
  <artifactId>program</artifactId>
  <packaging>pom</packaging>
  <build><extensions><extension>
    <groupId>org.test.tiny</groupId>
    <artifactId>extension</artifactId>
    <version>1.0</version>
  </extension></extensions></build>
</project>
END
mvn --batch-mode --settings settings.xml -Dmaven.repo.local=repo validate &&
ls repo/org/test/tiny/extension/1.0/extension-1.0.jar
)",
     "extension-1.0.jar"},
};

// ORDER: a proxy's names go before anything is asked.
constexpr char kForgetProxy[] =
    "unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY MAVEN_OPTS\n";

class EachManager : public NetworkTest,
                    public ::testing::WithParamInterface<Manager> {
 protected:
  void SetUp() override {
    WriteProfile("packages", kProfile);
    const std::string made =
        absl::StrCat("/usr/bin/python3 -I " SANDGLASS_SOURCE_DIR
                     "/tests/e2e/libraries/make_registry.py ",
                     files(), " 2>/dev/null");
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ASSERT_EQ(std::system(made.c_str()), 0) << made;
    NetworkTest::SetUp();
  }

  v1::RunCodeResponse Install(const std::string& base,
                              const std::string& before = "") {
    return RunIn("packages",
                 Program("bash", absl::StrCat("BASE=", base, "\n", before,
                                              GetParam().script)));
  }
};

TEST_P(EachManager, GetsAPackageThroughTheProxyThatItFinds) {
  const v1::RunCodeResponse response =
      Install(absl::StrCat("http://", kAllowed));
  EXPECT_EQ(response.outcome(), v1::OUTCOME_OK) << Describe(response);
  EXPECT_THAT(response.stdout().data(), HasSubstr(GetParam().words));
  EXPECT_GE(response.network().connections(), 1);
  EXPECT_EQ(response.network().refused(), 0) << Describe(response);
}

TEST_P(EachManager, GetsAPackageByNamesAlone) {
  const v1::RunCodeResponse response =
      Install(absl::StrCat("http://", kAllowed), kForgetProxy);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_OK) << Describe(response);
  EXPECT_THAT(response.stdout().data(), HasSubstr(GetParam().words));
}

TEST_P(EachManager, TrustsAnInspectedRegistry) {
  const v1::RunCodeResponse response =
      Install(absl::StrCat("https://", kInspected));
  EXPECT_EQ(response.outcome(), v1::OUTCOME_OK) << Describe(response);
  EXPECT_THAT(response.stdout().data(), HasSubstr(GetParam().words));
  EXPECT_THAT(Heard(), Not(IsEmpty()));
}

TEST_P(EachManager, IsRefusedAnotherRegistryWithWords) {
  const v1::RunCodeResponse response = Install(absl::StrCat("http://", kOther));
  EXPECT_EQ(response.outcome(), v1::OUTCOME_NONZERO_EXIT) << Describe(response);
  EXPECT_THAT(absl::StrCat(response.stdout().data(), response.stderr().data()),
              HasSubstr("403"));
  ASSERT_THAT(response.network().refusals(), Not(IsEmpty()));
  EXPECT_THAT(response.network().refusals(0).reason(),
              AllOf(HasSubstr(kOther), HasSubstr("packages")));
  EXPECT_THAT(Heard(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Network, EachManager, ::testing::ValuesIn(kManagers),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace sandglass::testing
