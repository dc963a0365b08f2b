#ifndef SANDGLASS_CLIENT_RUN_RUN_CALL_H_
#define SANDGLASS_CLIENT_RUN_RUN_CALL_H_

#include <optional>

#include "client/connection/daemon.h"
#include "client/flags/options.h"
#include "client/run/fetch_writer.h"
#include "client/run/result_files.h"
#include "client/terminal/interrupt_watcher.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Makes one run, prints its output and results, writes the files that came back
// (only with a writer) and prints the verdict. Returns the exit code (see
// exit_codes.h).
int CarryOutRun(const Daemon& daemon, v1::RunCodeRequest request,
                const RunOptions& options,
                const std::optional<FetchWriter>& writer, ResultFiles& results,
                InterruptWatcher& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_RUN_CALL_H_
