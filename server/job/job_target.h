#ifndef SANDGLASS_SERVER_JOB_JOB_TARGET_H_
#define SANDGLASS_SERVER_JOB_JOB_TARGET_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "server/job/session_spec.h"

namespace sandglass::server {

class JobRunner;

// A program, in a jail of its own.
struct OwnJail {};

// The only cell of a kernel, in a jail of its own.
struct OwnKernel {
  SessionSpec spec;  // what both are like
};

// A place in a session.
struct SessionPlace {
  std::shared_ptr<JobRunner> session;  // runs the job there; never null
  std::string context;
  // The session as it is for a language that isn't its own; absent: it is.
  std::optional<SessionSpec> guest;
};
// A cell of the kernel of a session's context.
struct SessionCell : SessionPlace {};
// A program in a session's jail, in a context whose language has no kernel.
struct SessionProgram : SessionPlace {};

// Nothing of it is run: it ends with the look at its program's text, as if that
// were a program or a cell.
struct LookAlone {
  bool as_cell = false;
};

// Where a job runs, and as what.
using JobTarget =
    std::variant<OwnJail, OwnKernel, SessionCell, SessionProgram, LookAlone>;

// The place in a session; null: the job runs in none.
inline const SessionPlace* SessionPlaceOf(const JobTarget& target) {
  if (const auto* cell = std::get_if<SessionCell>(&target)) return cell;
  return std::get_if<SessionProgram>(&target);
}
// The context there; empty outside of sessions.
inline const std::string& ContextOf(const JobTarget& target) {
  static const std::string none;
  const SessionPlace* place = SessionPlaceOf(target);
  return place == nullptr ? none : place->context;
}
// What the job takes for its session, where that has another language; else
// null.
inline const SessionSpec* GuestOf(const JobTarget& target) {
  const SessionPlace* place = SessionPlaceOf(target);
  return place == nullptr || !place->guest ? nullptr : &*place->guest;
}
// Whether the text is a cell, which a kernel takes, and not a program.
inline bool IsCell(const JobTarget& target) {
  if (const auto* look = std::get_if<LookAlone>(&target)) return look->as_cell;
  return std::holds_alternative<OwnKernel>(target) ||
         std::holds_alternative<SessionCell>(target);
}
inline bool IsLookAlone(const JobTarget& target) {
  return std::holds_alternative<LookAlone>(target);
}

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_TARGET_H_
