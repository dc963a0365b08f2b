// What cells and commands of sessions have of the network, and what JVMs of all
// kinds are told of it.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/network/network_fixture.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/prestart.h"
#include "tests/support/calls/sessions.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::CreateSessionRequest SessionIn(const std::string& profile) {
  v1::CreateSessionRequest create = PythonSession();
  create.set_profile(profile);
  return create;
}

TEST_F(NetworkTest, EachCellReportsItsNetworkUse) {
  TestSession session(client(), SessionIn("web"));
  const std::string fetch =
      absl::StrCat("import urllib.request as u; print(u.urlopen('http://",
                   kAllowed, "/cell').read())");
  for (int cell = 0; cell < 2; ++cell) {
    const v1::RunCodeResponse response = session.Run(fetch).response;
    EXPECT_THAT(response.stdout().data(), HasSubstr("/cell"));
    EXPECT_EQ(response.network().connections(), 1);
  }
  const v1::RunCodeResponse response = session.Run("1 + 1").response;
  ASSERT_TRUE(response.has_network());
  EXPECT_EQ(response.network().connections(), 0);
}

class NetworkOfCommands : public NetworkTest {
 protected:
  v1::ExecEnd Run(const TestSession& session, const std::string& command) {
    const ExecResult result = Execute(*execs(), Command(session.id(), command));
    EXPECT_TRUE(result.end.has_value()) << Describe(result.status);
    out_ = result.out();
    return result.end.value_or(v1::ExecEnd());
  }
  std::unique_ptr<v1::ExecService::Stub> execs() {
    return v1::ExecService::NewStub(grpc::CreateChannel(
        daemon().address(), grpc::InsecureChannelCredentials()));
  }
  // Of the audit log's lines on commands, in order.
  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    for (const absl::string_view line :
         absl::StrSplit(AuditText(), '\n', absl::SkipEmpty())) {
      auto entry =
          nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
      if (entry.value("event", "") == "exec") lines.push_back(std::move(entry));
    }
    return lines;
  }

  std::string out_;  // of the last one
};

TEST_F(NetworkOfCommands, IsReportedForEachCommand) {
  TestSession session(client(), SessionIn("web"));
  const std::string fetch =
      absl::StrCat("curl -sS http://", kAllowed, "/command");
  for (int command = 0; command < 2; ++command) {
    const v1::ExecEnd end = Run(session, fetch);
    EXPECT_THAT(out_, HasSubstr("/command"));
    EXPECT_EQ(end.network().connections(), 1);
    EXPECT_EQ(end.network().refused(), 0);
    EXPECT_GT(end.network().received_bytes(), 20);
  }
  const v1::ExecEnd refused =
      Run(session, absl::StrCat("curl -sS http://", kOther, "/"));
  EXPECT_EQ(refused.network().refused(), 1);
  ASSERT_EQ(refused.network().refusals_size(), 1);
  EXPECT_EQ(refused.network().refusals(0).target(),
            absl::StrCat(kOther, ":80"));
  const v1::ExecEnd none = Run(session, "true");
  ASSERT_TRUE(none.has_network());
  EXPECT_EQ(none.network().connections(), 0);
  EXPECT_THAT(none.network().refusals(), IsEmpty());

  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0]["network"]["connections"], 1);
  EXPECT_EQ(lines[2]["network"]["refusals"][0]["target"],
            absl::StrCat(kOther, ":80"));
  EXPECT_EQ(lines[3]["network"]["connections"], 0);
}

TEST_F(NetworkOfCommands, IsEmptyWhereTheProfileHasNoNetwork) {
  TestSession session(client(), SessionIn("default"));
  EXPECT_FALSE(Run(session, "true").has_network());
  ASSERT_THAT(Lines(), SizeIs(1));
  EXPECT_FALSE(Lines()[0].contains("network"));
}

// ---- JVMs ----

constexpr char kTellProperties[] = R"(
public class Main {
  public static void main(String[] args) {
    for (String name : new String[] {"http.proxyHost", "http.proxyPort",
        "https.proxyHost", "https.proxyPort", "javax.net.ssl.trustStore"}) {
      System.out.println(System.getProperty(name));
    }
  }
}
)";

TEST_F(NetworkTest, JvmsAreToldOfTheProxyByPropertiesAndQuietly) {
  const v1::RunCodeResponse looked =
      RunIn("look", Program("java", kTellProperties));
  EXPECT_EQ(looked.stdout().data(),
            "127.0.0.1\n3128\n127.0.0.1\n3128\n/etc/sandglass/trusted.jks\n")
      << Describe(looked);
  EXPECT_EQ(looked.stderr().data(), "");
  const v1::RunCodeResponse web =
      RunIn("web", Program("java", kTellProperties));
  EXPECT_EQ(web.stdout().data(), "127.0.0.1\n3128\n127.0.0.1\n3128\nnull\n");
  const v1::RunCodeResponse none =
      RunIn("default", Program("java", kTellProperties));
  EXPECT_EQ(none.stdout().data(), "null\nnull\nnull\nnull\nnull\n");
}

std::string JavaFetch(const std::string& path) {
  return absl::StrCat(
      "System.out.println(new String(new java.net.URL(\"https://", kInspected,
      path, "\").openStream().readAllBytes()));");
}

TEST_F(NetworkTest, AJvmThatWaitedTrustsWhatIsInspected) {
  v1::RunCodeRequest request = Program(
      "java", absl::StrCat("class Main { public static void main(String[] a) "
                           "throws Exception { ",
                           JavaFetch("/waited"), " } }"));
  request.set_profile("look");
  // JVMs are kept once one was asked for.
  ASSERT_THAT(client().Run(request), IsOk());
  const RunResult result = RunPrestarted(client(), request);
  EXPECT_THAT(result.response.stdout().data(), HasSubstr("/waited"))
      << Describe(result);
}

TEST_F(NetworkTest, JavaSessionsTrustWhatIsInspected) {
  v1::CreateSessionRequest create = SessionIn("look");
  create.set_language("java");
  TestSession session(client(), create);
  const RunResult cell = session.Run(JavaFetch("/cell"));
  EXPECT_THAT(cell.response.stdout().data(), HasSubstr("/cell"))
      << Describe(cell);
}

}  // namespace
}  // namespace sandglass::testing
