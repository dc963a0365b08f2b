#ifndef SANDGLASS_GATEWAY_EDGE_ASIO_H_
#define SANDGLASS_GATEWAY_EDGE_ASIO_H_

// Boost's Asio with coroutines, and Beast. Whoever includes this is compiled
// alone (ALONE in gateway/CMakeLists.txt).

// For clang 14, Asio looks for an older header of coroutines than is there.
#define BOOST_ASIO_HAS_CO_AWAIT 1
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace sandglass::gateway {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

// Makes an operation put its error there instead of throwing it.
inline auto Into(error_code& error) {
  return net::redirect_error(net::use_awaitable, error);
}

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_ASIO_H_
