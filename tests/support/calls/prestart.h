#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_PRESTART_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_PRESTART_H_

#include <string>
#include <string_view>

#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {

// Kinds of the pool.
inline constexpr char kNode[] = "javascript-run";
inline constexpr char kJava[] = "java-run";
inline constexpr char kJavac[] = "java-compile";

v1::RunCodeRequest Node(std::string_view code);
v1::RunCodeRequest Java(std::string_view code);

// The same run in a fresh interpreter: the name acts at an interpreter's start,
// the value is what it has anyway.
v1::RunCodeRequest Fresh(v1::RunCodeRequest request);

std::string KindOf(const RunResult& result);

// False when none of that kind waits within a minute.
bool AwaitIdle(Client& client, const std::string& kind);

// Of the default limits; Java is kept from its first use on. Fails fatally.
void WarmUp(Client& client);

// In an interpreter that waited; those of other limits than the default are
// kept once they were asked for.
RunResult RunPrestarted(Client& client, const v1::RunCodeRequest& request);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_PRESTART_H_
