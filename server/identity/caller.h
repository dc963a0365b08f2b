#ifndef SANDGLASS_SERVER_IDENTITY_CALLER_H_
#define SANDGLASS_SERVER_IDENTITY_CALLER_H_

#include <sys/types.h>

#include <optional>
#include <string>

namespace sandglass::server {

// Who sent a request, and which trace it is part of. Every request carries one.
// Quotas, the visibility of runs and request_id are kept per caller (by name).
struct Caller {
  // "uid:1000" on the unix socket; "tcp:127.0.0.1" on loopback TCP, where
  // nothing tells callers apart.
  std::string name;
  // The credentials from SO_PEERCRED when the connection was made; absent for
  // TCP.
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  // The trace id of this one request, see TraceIdOf; empty when it is part of
  // no trace.
  std::string trace_id;

  // Root sees every run and may cancel it; others only their own.
  bool SeesAll() const { return uid.has_value() && *uid == 0; }
  bool Sees(const std::string& owner) const {
    return SeesAll() || name == owner;
  }

  // Compares the callers, whichever request they are of.
  friend bool operator==(const Caller& a, const Caller& b) {
    return a.name == b.name && a.uid == b.uid && a.gid == b.gid;
  }
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_IDENTITY_CALLER_H_
