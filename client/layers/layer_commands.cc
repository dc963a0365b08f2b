#include "client/layers/layer_commands.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/connect.h"
#include "client/connection/daemon.h"
#include "client/flags/library_lock.h"
#include "client/terminal/interrupt_watcher.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

// How many digits of a layer's id are shown; enough to identify it.
constexpr size_t kShownDigits = 16;

std::string ClockText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(time),
                          absl::LocalTimeZone());
}

int List(const Daemon& daemon, const ListLayersOptions& options) {
  v1::ListLayersRequest request;
  request.set_language(options.language);
  if (const absl::Status text = CheckUtf8("--lang", options.language);
      !text.ok()) {
    return Fail(text);
  }
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ListLayersResponse layers;
  const grpc::Status status =
      daemon.layers->ListLayers(&context, request, &layers);
  if (!status.ok()) return FailCall(status, daemon);
  return options.json ? PrintJson(layers) : PrintText(LayersText(layers));
}

absl::StatusOr<v1::BuildLayerRequest> BuildRequest(
    const BuildLayerOptions& options) {
  v1::BuildLayerRequest request;
  request.set_language(options.language);
  request.set_profile(options.profile);
  if (absl::Status set = SetLibraries(options.libraries, options.lock_file,
                                      "LIBRARY", request);
      !set.ok()) {
    return set;
  }
  absl::Status text = CheckUtf8("LANGUAGE", request.language());
  text.Update(CheckUtf8("--profile", request.profile()));
  if (!text.ok()) return text;
  return request;
}

int Build(const Daemon& daemon, InterruptWatcher& interrupts,
          const BuildLayerOptions& options) {
  const absl::StatusOr<v1::BuildLayerRequest> request = BuildRequest(options);
  if (!request.ok()) return Fail(request.status());
  grpc::ClientContext context;
  const InterruptWatcher::Scope scope(interrupts, context);
  const auto reader = daemon.layers->BuildLayer(&context, *request);
  WaitLine waiting("waiting for the installer");
  v1::BuildLayerResponse event;
  v1::LayerBuilt built;
  while (reader->Read(&event)) {
    if (event.has_progress() && !options.quiet) {
      waiting.End();
      WriteAll(STDERR_FILENO,
               absl::StrCat(VisibleText(event.progress().line()), "\n"));
    }
    if (event.has_built()) built = std::move(*event.mutable_built());
  }
  const grpc::Status status = reader->Finish();
  waiting.End();
  if (interrupts.signal() != 0 && !status.ok()) {
    return kExitSignalBase + interrupts.signal();
  }
  if (!status.ok()) return FailCall(status, daemon);
  if (options.json) return PrintJson(built);
  if (!options.quiet) {
    WriteAll(STDERR_FILENO,
             absl::StrCat(
                 "sandglass: ",
                 built.used().installed() ? "installed " : "there already: ",
                 VisibleText(absl::StrJoin(built.used().libraries(), " ")),
                 ", ", built.layer().files(), " files, ",
                 FormatByteSize(built.layer().bytes()), "\n"));
  }
  return PrintText(absl::StrCat(VisibleText(built.layer().layer_id()), "\n"));
}

int Remove(const Daemon& daemon, const RemoveLayersOptions& options) {
  int code = kExitOk;
  for (const std::string& id : options.ids) {
    v1::RemoveLayerRequest request;
    request.set_layer_id(id);
    if (const absl::Status text = CheckUtf8("LAYER_ID", id); !text.ok()) {
      return Fail(text);
    }
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::RemoveLayerResponse response;
    const grpc::Status status =
        daemon.layers->RemoveLayer(&context, request, &response);
    if (!status.ok()) {
      code = FailCall(status, daemon);
      continue;
    }
    const int printed =
        options.json
            ? PrintJson(response)
            : PrintText(absl::StrCat(
                  "removed ", VisibleText(response.layer().layer_id()), "\n"));
    if (printed != kExitOk) return printed;
  }
  return code;
}

}  // namespace

std::string LayersText(const v1::ListLayersResponse& layers) {
  std::vector<std::vector<std::string>> rows = {{"LAYER ID", "LANGUAGE", "SIZE",
                                                 "FILES", "LAST USED", "IN USE",
                                                 "LIBRARIES"}};
  for (const v1::Layer& layer : layers.layers()) {
    rows.push_back({layer.layer_id().substr(0, kShownDigits), layer.language(),
                    FormatByteSize(layer.bytes()), absl::StrCat(layer.files()),
                    ClockText(layer.last_used_time()),
                    layer.in_use() ? "yes" : "no",
                    absl::StrJoin(layer.sets(), " | ")});
  }
  return absl::StrCat(
      TextTable(rows, ""), layers.layers_size(),
      layers.layers_size() == 1 ? " layer; all: " : " layers; all: ",
      FormatByteSize(layers.bytes()), " of at most ",
      FormatByteSize(layers.max_bytes()), "\n");
}

int LayersCommand(const Endpoint& endpoint, const LayersOptions& options) {
  // ORDER: before gRPC's threads are started.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  if (const auto* list = std::get_if<ListLayersOptions>(&options)) {
    return List(*daemon, *list);
  }
  if (const auto* build = std::get_if<BuildLayerOptions>(&options)) {
    return Build(*daemon, **interrupts, *build);
  }
  return Remove(*daemon, std::get<RemoveLayersOptions>(options));
}

}  // namespace sandglass::client
