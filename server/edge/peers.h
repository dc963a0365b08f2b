#ifndef SANDGLASS_SERVER_EDGE_PEERS_H_
#define SANDGLASS_SERVER_EDGE_PEERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "server/base/clock.h"
#include "server/edge/answer_room.h"
#include "server/edge/connection_tap.h"
#include "server/edge/open_calls.h"
#include "server/identity/credentials.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// The metadata in which a call that is made in this process says whose it is
// (PeerTable::AddInner). It counts on no other connection.
inline constexpr char kConnectionMetadata[] = "sandglass-connection";

// Who is at the other end of each connection. gRPC names a connection that it
// was given as a descriptor by that descriptor's number ("fd:1234"), so a
// number stands for one caller until its entry is removed. An entry stays for a
// while after its connection was closed, since a call that came in just before
// may still ask for it. The table also has the room for answers that all
// connections share, and knows of calls under way. Thread-safe.
class PeerTable {
 public:
  static constexpr uint64_t kAnswerBytes = uint64_t{512} << 20;

  // `answer_bytes` is the size of the room for answers. `credentials`, by which
  // calls say who they are of where the connection doesn't, must outlive this
  // object; without it no credentials are right.
  explicit PeerTable(uint64_t answer_bytes = kAnswerBytes,
                     Credentials* credentials = nullptr)
      : answers_(answer_bytes),
        credentials_(credentials == nullptr ? none_ : *credentials) {}
  ~PeerTable();

  // A connection of another protocol, whose calls somebody in this process
  // makes for it, each with the number that is returned in its metadata
  // kConnectionMetadata. Until RemoveInner.
  int64_t AddInner(Identity caller) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveInner(int64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns false when the number still stands for an earlier connection.
  // `tap`, which may be null, sees what gRPC reads and writes on the connection
  // from now on until it is closed.
  bool Add(int fd, Identity caller,
           std::unique_ptr<ConnectionTap> tap = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The connection was closed; the number may be used again after `grace`.
  void MarkClosed(int fd, absl::Duration grace) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the entries whose grace is over, without looking at others. Returns
  // their callers' names, one for each entry.
  std::vector<std::string> Sweep() ABSL_LOCKS_EXCLUDED(mutex_);
  bool Contains(int fd) const ABSL_LOCKS_EXCLUDED(mutex_);

  // What the functions below call the connection of a call: what gRPC does, but
  // "inner:-7" where the call was made in this process for a connection.
  static std::string PeerOf(const grpc::ServerContextBase& call);
  static bool IsInner(absl::string_view peer);
  // Who is at the connection's other end; nullopt when it wasn't added.
  std::optional<Identity> CallerOf(const std::string& peer) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Somebody has proved on that connection who they are, by what a call
  // brought.
  void MarkProved(const std::string& peer) const ABSL_LOCKS_EXCLUDED(mutex_);
  bool Proved(int64_t number) const ABSL_LOCKS_EXCLUDED(mutex_);

  AnswerRoom& answers() const { return answers_; }
  OpenCalls& calls() const { return calls_; }
  Credentials& credentials() const { return credentials_; }

 private:
  struct Entry {
    Identity caller;
    // Lives as long as the entry, since gRPC may still be using it when the
    // connection closes.
    std::unique_ptr<ConnectionTap> tap;
    bool closed = false;
    bool proved = false;
  };
  static std::optional<int64_t> NumberOf(absl::string_view peer);
  mutable AnswerRoom answers_;
  mutable OpenCalls calls_;
  Credentials none_;
  Credentials& credentials_;
  mutable absl::Mutex mutex_;
  // By the descriptors' numbers, and those of inner connections, which are
  // below zero.
  mutable std::map<int64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  int64_t last_inner_ ABSL_GUARDED_BY(mutex_) = 0;
  // The numbers of closed connections, by the time when they may be used again.
  std::multimap<MonotonicTime, int> closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_PEERS_H_
