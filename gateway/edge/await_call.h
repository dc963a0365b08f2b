#ifndef SANDGLASS_GATEWAY_EDGE_AWAIT_CALL_H_
#define SANDGLASS_GATEWAY_EDGE_AWAIT_CALL_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/edge/asio.h"
#include "gateway/edge/inner_call.h"
#include "policy/text/views.h"

// An InnerCall for coroutines, and pieces of answers of HTTP.
namespace sandglass::gateway {

// Waits for what `begin` calls its argument with, on the coroutine's thread
// again.
template <typename T, typename Begin>
net::awaitable<T> Await(net::io_context& loop, Begin begin) {
  return net::async_initiate<const net::use_awaitable_t<>, void(T)>(
      [&loop](auto handler, Begin start) {
        using Handler = decltype(handler);
        auto shared = std::make_shared<Handler>(std::move(handler));
        start([&loop, shared](T value) {
          net::post(loop, [shared, value = std::move(value)]() mutable {
            Handler once = std::move(*shared);
            once(std::move(value));
          });
        });
      },
      net::use_awaitable, std::move(begin));
}

inline net::awaitable<bool> Send(net::io_context& loop, InnerCall& call,
                                 const std::string& message, bool last) {
  co_return co_await Await<bool>(loop, [&](InnerCall::Done done) {
    call.Send(message, last, std::move(done));
  });
}

inline net::awaitable<bool> Receive(net::io_context& loop, InnerCall& call,
                                    grpc::ByteBuffer& message) {
  co_return co_await Await<bool>(loop, [&](InnerCall::Done done) {
    call.Receive(&message, std::move(done));
  });
}

inline net::awaitable<CallEnd> End(net::io_context& loop, InnerCall& call) {
  co_return co_await Await<CallEnd>(
      loop, [&](InnerCall::Ended ended) { call.End(std::move(ended)); });
}

// Does work that takes a while beside the loop, where others have their turn,
// when it is about so many bytes. What the work uses stays until it is done.
template <typename Work>
net::awaitable<void> Aside(net::io_context& loop,
                           const std::function<void(std::function<void()>)>& to,
                           size_t bytes, Work work) {
  constexpr size_t kLittle = 256 << 10;
  if (bytes <= kLittle) {
    work();
    co_return;
  }
  (void)co_await Await<bool>(loop, [&](auto done) {
    to([&work, done] {
      work();
      done(true);
    });
  });
}

// "1a3\r\n…\r\n"
inline std::string ChunkOf(std::string_view bytes) {
  return absl::StrCat(absl::Hex(bytes.size()), "\r\n", policy::AbslView(bytes),
                      "\r\n");
}
inline constexpr char kLastChunk[] = "0\r\n\r\n";

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_EDGE_AWAIT_CALL_H_
