#ifndef SANDGLASS_GATEWAY_EDGE_HEAD_CHECK_H_
#define SANDGLASS_GATEWAY_EDGE_HEAD_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sandglass::gateway {

// Where the head of a request of HTTP/1 ends: behind its empty line. nullopt:
// that has not come yet.
std::optional<size_t> EndOfHead(std::string_view bytes);

// What a parser might let pass and another one, before or behind this gateway,
// might read otherwise, so that the two see different requests in the same
// bytes: an end of line that isn't CR LF, a header that goes on in a second
// line, a space before a colon, a body whose end is said twice or unknown, a
// target that isn't a path, no host or two. `head` ends with its empty line.
// nullopt: there is nothing of that kind; else a sentence that says what it is.
std::optional<std::string> WrongWithHead(std::string_view head);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_HEAD_CHECK_H_
