#include "client/run/runs_commands.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/connection/daemon.h"

namespace sandglass::client {
namespace {

constexpr int kRecentRuns = 10;
constexpr int kPageSize = 1000;
// Keeps a daemon that sends pages without end from filling our memory.
constexpr int kMaxPages = 1000;

std::string StateName(v1::RunState state) {
  const std::string& name = v1::RunState_Name(state);
  return name.empty()
             ? "unknown"
             : absl::AsciiStrToLower(absl::StripPrefix(name, "RUN_STATE_"));
}

v1::ListRunsRequest BaseRequest(const PsOptions& options) {
  v1::ListRunsRequest request;
  for (const auto& [name, value] : options.labels) {
    (*request.mutable_labels())[name] = value;
  }
  return request;
}

// Appends the listed runs to `runs`, from all pages or only from the first.
grpc::Status Collect(const Daemon& daemon, v1::ListRunsRequest request,
                     int max_pages, v1::ListRunsResponse& runs) {
  for (int i = 0; i < max_pages; ++i) {
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::ListRunsResponse page;
    grpc::Status status = daemon.stub->ListRuns(&context, request, &page);
    if (!status.ok()) return status;
    runs.mutable_runs()->MergeFrom(page.runs());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  return grpc::Status::OK;
}

grpc::Status CollectActiveAndRecent(const Daemon& daemon,
                                    const PsOptions& options,
                                    v1::ListRunsResponse& runs) {
  v1::ListRunsRequest active = BaseRequest(options);
  active.set_page_size(kPageSize);
  active.add_states(v1::RUN_STATE_QUEUED);
  active.add_states(v1::RUN_STATE_RUNNING);
  grpc::Status status = Collect(daemon, std::move(active), kMaxPages, runs);
  if (!status.ok()) return status;
  v1::ListRunsRequest recent = BaseRequest(options);
  recent.set_page_size(kRecentRuns);
  recent.add_states(v1::RUN_STATE_FINISHED);
  return Collect(daemon, std::move(recent), 1, runs);
}

}  // namespace

std::string RunsText(const v1::ListRunsResponse& runs) {
  std::vector<std::vector<std::string>> rows = {
      {"RUN ID", "STATE", "LANGUAGE", "PROFILE", "OUTCOME", "ELAPSED",
       "CREATED", "CALLER", "LABELS"}};
  for (const v1::RunSummary& run : runs.runs()) {
    const bool has_outcome = run.state() == v1::RUN_STATE_FINISHED &&
                             run.outcome() != v1::OUTCOME_UNSPECIFIED;
    // A map's order is random, but the table's shall not be.
    const std::map<std::string, std::string> labels(run.labels().begin(),
                                                    run.labels().end());
    rows.push_back(
        {run.run_id(), StateName(run.state()), run.language(), run.profile(),
         has_outcome ? OutcomeName(run.outcome()) : "-",
         FormatTimeSpan(FromProto(run.elapsed())),
         absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(run.create_time()),
                          absl::LocalTimeZone()),
         run.caller(), absl::StrJoin(labels, ",", absl::PairFormatter("="))});
  }
  return TextTable(rows, "");
}

int PsCommand(const Endpoint& endpoint, const PsOptions& options) {
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  v1::ListRunsResponse runs;
  v1::ListRunsRequest all = BaseRequest(options);
  all.set_page_size(kPageSize);
  const grpc::Status status =
      options.all ? Collect(*daemon, std::move(all), kMaxPages, runs)
                  : CollectActiveAndRecent(*daemon, options, runs);
  if (!status.ok()) return FailCall(status, *daemon);
  return options.json ? PrintJson(runs) : PrintText(RunsText(runs));
}

int KillCommand(const Endpoint& endpoint, const KillOptions& options) {
  if (FindInvalidUtf8(options.run_id) != absl::string_view::npos) {
    return Fail(absl::InvalidArgumentError("a run id is UTF-8"));
  }
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::CancelRunRequest request;
  request.set_run_id(options.run_id);
  v1::CancelRunResponse response;
  const grpc::Status status =
      daemon->stub->CancelRun(&context, request, &response);
  const std::string id = VisibleText(options.run_id);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    return Fail(absl::NotFoundError(absl::StrCat(
        "there is no run '", id, "' (sandglass ps --all lists yours)")));
  }
  if (!status.ok()) return FailCall(status, *daemon);
  if (options.json) return PrintJson(response);
  const v1::RunSummary& run = response.run();
  if (run.state() == v1::RUN_STATE_FINISHED) {
    // This very call ends a run that was still waiting: CANCELLED doesn't say
    // whether an earlier call did that.
    const bool before = run.outcome() != v1::OUTCOME_CANCELLED;
    return PrintText(absl::StrCat(
        "run ", id, before ? " had ended already: " : " has ended: ",
        OutcomeName(run.outcome()), "\n"));
  }
  return PrintText(absl::StrCat("run ", id, " is told to stop\n"));
}

}  // namespace sandglass::client
