#include "server/languages/fill_jail.h"

#include "server/base/clock.h"
#include "server/job/await_event.h"

namespace sandglass::server {

MadeJail FillJail(sandbox::Sandbox& sandbox, const PrestartKinds& prestart,
                  const JailKey& key, sandbox::FillFor fill_for) {
  constexpr absl::Duration kFillTimeout = absl::Seconds(15);
  const MonotonicTime end = After(Now(), kFillTimeout);
  const bool waits = prestart.Has(key.kind);
  MadeJail made =
      sandbox.CreateJail(waits ? sandbox::kExecKind : key.kind, key.profile,
                         key.limits, kFillTimeout, fill_for, key.layer.id);
  if (!made.ok()) return made;
  sandbox::Jail& jail = **made;
  jail.Hold(key.layer.pin);
  absl::Status ready =
      AwaitEvent<sandbox::ReadyEvent>(jail, end, "the jail was not ready");
  if (ready.ok() && waits) {
    const absl::StatusOr<sandbox::ProgramSpec> interpreter =
        prestart.InterpreterOf(key);
    ready =
        interpreter.ok() ? jail.Prestart(*interpreter) : interpreter.status();
    if (ready.ok()) {
      ready = AwaitEvent<sandbox::WaitsEvent>(jail, end,
                                              "the interpreter did not wait");
    }
  }
  if (!ready.ok()) return ready;
  return made;
}

}  // namespace sandglass::server
