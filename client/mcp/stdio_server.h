#ifndef SANDGLASS_CLIENT_MCP_STDIO_SERVER_H_
#define SANDGLASS_CLIENT_MCP_STDIO_SERVER_H_

#include "client/mcp/mcp_protocol.h"
#include "client/mcp/stop_signal.h"

namespace sandglass::client {

// Serves one client over two descriptors, with one message per line, until its
// input ends, its output breaks or the signal is set. Calls that still run then
// are cancelled.
void ServeLines(const McpProtocol& protocol, int in, int out,
                const StopSignal& stop);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_STDIO_SERVER_H_
