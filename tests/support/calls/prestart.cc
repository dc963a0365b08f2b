#include "tests/support/calls/prestart.h"

#include "tests/support/calls/idle_jails.h"
#include "tests/support/host/programs.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(60);

}  // namespace

v1::RunCodeRequest Node(std::string_view code) {
  return Program("javascript", code);
}
v1::RunCodeRequest Java(std::string_view code) { return Program("java", code); }

v1::RunCodeRequest Fresh(v1::RunCodeRequest request) {
  const bool node = request.language() == "javascript";
  (*request.mutable_env())[node ? "UV_USE_IO_URING" : "NLSPATH"] =
      node ? "0" : "";
  return request;
}

std::string KindOf(const RunResult& result) {
  return result.response.timings().kind();
}

bool AwaitIdle(Client& client, const std::string& kind) {
  return WaitUntil([&] { return IdleOf(client, kind) > 0; }, kSettle);
}

void WarmUp(Client& client) {
  ASSERT_THAT(client.Run(Java("class A { public static void main(String[] a) "
                              "{ System.out.println(1); } }")),
              OutcomeIs(v1::OUTCOME_OK));
  for (const char* kind : {kNode, kJava, kJavac}) {
    ASSERT_TRUE(AwaitIdle(client, kind)) << kind;
  }
}

RunResult RunPrestarted(Client& client, const v1::RunCodeRequest& request) {
  const std::string kind = request.language() == "java" ? kJava : kNode;
  RunResult result;
  EXPECT_TRUE(WaitUntil(
      [&] {
        AwaitIdle(client, kind);
        result = client.Run(request);
        return !result.status.ok() || KindOf(result) == kind ||
               result.response.outcome() == v1::OUTCOME_COMPILE_ERROR;
      },
      kSettle))
      << kind << " never waits: " << Describe(result);
  if (result.response.outcome() != v1::OUTCOME_COMPILE_ERROR) {
    EXPECT_TRUE(result.response.timings().warm());
  }
  return result;
}

}  // namespace sandglass::testing
