#ifndef SANDGLASS_SERVER_LANGUAGES_FILL_JAIL_H_
#define SANDGLASS_SERVER_LANGUAGES_FILL_JAIL_H_

#include "sandbox/yard/sandbox.h"
#include "server/languages/prestart_kinds.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {

// Makes a jail of this key and waits until it is ready for its run, at most 15
// seconds; for a prestart kind, until its interpreter waits. INTERNAL: a step
// failed; UNAVAILABLE: the jail died before it was ready, or the spawner is
// gone; RESOURCE_EXHAUSTED: no slot is free.
MadeJail FillJail(sandbox::Sandbox& sandbox, const PrestartKinds& prestart,
                  const JailKey& key, sandbox::FillFor fill_for);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LANGUAGES_FILL_JAIL_H_
