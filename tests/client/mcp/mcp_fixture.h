#ifndef SANDGLASS_TESTS_CLIENT_MCP_MCP_FIXTURE_H_
#define SANDGLASS_TESTS_CLIENT_MCP_MCP_FIXTURE_H_

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "client/mcp/mcp_protocol.h"
#include "client/mcp/tool_table.h"

namespace sandglass::client {

// Tools that need no daemon:
//   echo {text, times?}  says the text so many times
//   picture {}           an image beside its text
//   fail {}              an error
//   talk {}              tells of its progress, then ends
//   hang {}              runs until it is cancelled
class McpTools {
 public:
  ToolTable Table();

  std::atomic<int> hanging{0};    // calls of hang under way
  std::atomic<int> cancelled{0};  // that have ended
  std::atomic<bool> has_network{false};
};

// A request as text; `params` is JSON.
std::string Request(const std::string& id, const std::string& method,
                    const std::string& params = "{}");
// The same with what the revision 2026-07-28 wants in it.
std::string ModernRequest(const std::string& id, const std::string& method,
                          const std::string& params = "{}");
// Parameters of tools/call.
std::string CallOf(const std::string& tool, const std::string& arguments = "{}",
                   const std::string& progress_token = "");

// True once it is; false after 20 s.
template <typename Condition>
bool Soon(Condition condition) {
  for (int i = 0; i < 4000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_MCP_MCP_FIXTURE_H_
