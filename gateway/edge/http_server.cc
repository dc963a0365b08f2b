#include "gateway/edge/http_server.h"

#include <algorithm>
#include <exception>
#include <map>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gateway/connect/openapi.h"
#include "gateway/edge/asio.h"
#include "gateway/edge/http_connection.h"
#include "server/base/clock.h"
#include "server/base/log.h"

namespace sandglass::gateway {
namespace {

constexpr unsigned kMaxThreads = 4;
constexpr size_t kAside = 2;
// Room for a body's beginning behind a head.
constexpr size_t kAhead = 16 << 10;
// For connections that were cut, until the last of their calls has ended.
constexpr absl::Duration kCut = absl::Seconds(10);

// Of the libraries: where there is no memory, say.
void LogThrown(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    server::Log(server::LogLevel::kError, "http_connection_failed",
                {{"error", std::string(error.what())}});
  }
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpShared shared) : shared_(std::move(shared)) {
    const unsigned threads =
        std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
    shared_.work = [this](std::function<void()> work) {
      net::post(aside_, std::move(work));
    };
    for (unsigned i = 0; i < threads; ++i) {
      loops_.push_back(std::make_unique<Loop>());
    }
  }

  void Offer(os::Fd fd, server::Identity identity,
             std::unique_ptr<server::TlsSocket> tls)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (stopping_ || !MakeRoom(identity.name)) return;
    Loop& loop = *loops_[next_++ % loops_.size()];
    std::shared_ptr<HttpSocket> socket =
        HttpSocket::Make(loop.context, std::move(fd), std::move(tls),
                         shared_.bounds.head_bytes + kAhead);
    if (socket == nullptr) return;
    auto connection = std::make_shared<HttpConnection>(
        loop.context, shared_, std::move(socket), std::move(identity));
    connection->number_of_all = accepted_++;
    connections_.emplace(connection.get(), Entry{connection, &loop});
    ++callers_[connection->identity().name];
    net::post(loop.context, [this, &loop, connection] {
      net::co_spawn(
          loop.context, [connection] { return connection->Serve(); },
          [this, connection](const std::exception_ptr& thrown) {
            LogThrown(thrown);
            connection->Close();
            Forget(*connection);
          });
    });
  }

  void ForEach(void (HttpConnection::*function)()) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, entry] : connections_) Post(entry, function);
  }

  size_t connections() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return connections_.size();
  }

  void Stop(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(stopping_, true)) return;
    }
    ForEach(&HttpConnection::EndSoon);
    if (!Empty(timeout)) {
      ForEach(&HttpConnection::Close);
      if (!Empty(kCut)) {
        server::Log(server::LogLevel::kError, "http_connections_stay",
                    {{"count", static_cast<uint64_t>(connections())}});
      }
    }
    aside_.join();
    loops_.clear();
    shared_.channel.reset();
  }

 private:
  struct Loop {
    Loop() : thread([this] { context.run(); }) {}
    ~Loop() {
      work.reset();
      context.stop();
      thread.join();
    }
    net::io_context context{1};
    net::executor_work_guard<net::io_context::executor_type> work{
        context.get_executor()};
    std::thread thread;
  };
  struct Entry {
    std::shared_ptr<HttpConnection> connection;
    Loop* loop;
    bool ended = false;  // another one has its room
  };

  static void Post(const Entry& entry, void (HttpConnection::*function)()) {
    net::post(entry.loop->context, [connection = entry.connection, function] {
      ((*connection).*function)();
    });
  }

  bool MakeRoom(const std::string& caller)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (connections_.size() < shared_.bounds.connections) return true;
    const auto most = std::ranges::max_element(
        callers_, {}, [](const auto& each) { return each.second; });
    const auto own = callers_.find(caller);
    const size_t has = own == callers_.end() ? 0 : own->second;
    if (most == callers_.end() || most->second < has) return false;
    // Of whoever has most of them the one that waits longest; else the oldest
    // that hasn't proved anything; else the oldest.
    Entry* longest = nullptr;
    std::tuple<int, int64_t> best;
    for (auto& [key, entry] : connections_) {
      const HttpConnection& each = *entry.connection;
      if (entry.ended || each.identity().name != most->first) continue;
      const auto idle = each.idle();
      const std::tuple<int, int64_t> rank =
          idle.has_value()
              ? std::tuple(0, int64_t{idle->time_since_epoch().count()})
              : std::tuple(each.proved() ? 2 : 1, each.number_of_all);
      if (longest == nullptr || rank < best) {
        longest = &entry;
        best = rank;
      }
    }
    // Nobody gives way to who has as many.
    if (longest == nullptr ||
        (std::get<0>(best) > 0 && most->second <= has + 1)) {
      return false;
    }
    longest->ended = true;
    Post(*longest, &HttpConnection::Close);
    // It ends soon; until then there is one more than there may be.
    return true;
  }

  void Forget(HttpConnection& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto caller = callers_.find(connection.identity().name);
    if (--caller->second == 0) callers_.erase(caller);
    connections_.erase(&connection);
  }

  // Waits until there are no connections.
  bool Empty(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto empty = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return connections_.empty();
    };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&empty), timeout);
  }

  HttpShared shared_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t accepted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<HttpConnection*, Entry> connections_ ABSL_GUARDED_BY(mutex_);
  // How many of them each caller has, or each network of strangers.
  std::map<std::string, size_t> callers_ ABSL_GUARDED_BY(mutex_);
  // For work that would hold others up.
  net::thread_pool aside_{kAside};
  std::vector<std::unique_ptr<Loop>> loops_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(absl::ZeroDuration()); }

std::unique_ptr<HttpServer> HttpServer::Start(HttpShared shared) {
  shared.openapi = MakeOpenApi();
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<Impl>(std::move(shared))));
}

void HttpServer::Offer(os::Fd connection, server::Identity identity,
                       std::unique_ptr<server::TlsSocket> tls) {
  impl_->Offer(std::move(connection), std::move(identity), std::move(tls));
}

void HttpServer::CheckPeers() { impl_->ForEach(&HttpConnection::CheckPeer); }

size_t HttpServer::connections() const { return impl_->connections(); }

void HttpServer::Stop(absl::Duration timeout) { impl_->Stop(timeout); }

}  // namespace sandglass::gateway
