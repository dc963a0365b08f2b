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
const SessionPlace* SessionPlaceOf(const JobTarget& target);
// The context there; empty outside of sessions.
const std::string& ContextOf(const JobTarget& target);
// What the job takes for its session, where that has another language; else
// null.
const SessionSpec* GuestOf(const JobTarget& target);
// Whether the text is a cell, which a kernel takes, and not a program.
bool IsCell(const JobTarget& target);
bool IsLookAlone(const JobTarget& target);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JOB_TARGET_H_
