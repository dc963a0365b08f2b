#include "client/agent/start_check.h"

#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/connection/error_text.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {
namespace {

constexpr char kLanguage[] = "python";  // which --library is for

absl::Status InstallLibraries(const Daemon& daemon, const AgentOptions& options,
                              CallCancel& cancel) {
  v1::BuildLayerRequest request;
  request.set_language(kLanguage);
  request.set_profile(options.profile);
  for (const std::string& library : options.libraries) {
    request.add_libraries(library);
  }
  grpc::ClientContext context;
  const CallCancel::Scope scope(cancel, context);
  const auto reader = daemon.layers->BuildLayer(&context, request);
  v1::BuildLayerResponse event;
  while (reader->Read(&event)) {
    if (!event.has_progress()) continue;
    WriteAll(STDERR_FILENO,
             absl::StrCat(VisibleText(event.progress().line()), "\n"));
  }
  const grpc::Status status = reader->Finish();
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(RpcErrorText(status, daemon.address));
}

}  // namespace

absl::Status CheckWishes(const Daemon& daemon, const AgentOptions& options,
                         AgentInterrupts& interrupts) {
  if (options.profile.empty() && options.libraries.empty()) {
    return absl::OkStatus();
  }
  const AgentInterrupts::TurnScope turn(interrupts);
  CallCancel cancel;
  const AgentInterrupts::ToolScope tool(interrupts, cancel);
  const Toolbox toolbox(daemon, {});
  SandboxOptions wishes;
  wishes.profile = options.profile;
  wishes.libraries = options.libraries;
  if (!options.libraries.empty()) wishes.language = kLanguage;
  wishes.evictable = true;
  // One that is never used gets no jail, so it costs next to nothing.
  const absl::StatusOr<std::string> made =
      toolbox.CreateSandbox(wishes, cancel);
  if (!made.ok()) {
    return absl::Status(
        made.status().code(),
        absl::StripTrailingAsciiWhitespace(made.status().message()));
  }
  toolbox.DeleteSandbox(*made, cancel);
  if (options.libraries.empty()) return absl::OkStatus();
  return InstallLibraries(daemon, options, cancel);
}

}  // namespace sandglass::client
