#include "client/session/session_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/base/limits_text.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"

namespace sandglass::client {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// Turns "NOT_STARTED" after its prefix into "not started".
std::string Words(const std::string& name, absl::string_view prefix) {
  if (name.empty()) return "unknown";
  return absl::StrReplaceAll(
      absl::AsciiStrToLower(absl::StripPrefix(name, prefix)), {{"_", " "}});
}

std::string StateWords(v1::SessionState state) {
  return Words(v1::SessionState_Name(state), "SESSION_STATE_");
}

std::string StateWords(v1::KernelState state) {
  return Words(v1::KernelState_Name(state), "KERNEL_STATE_");
}

// A map's order is random, but the table's shall not be.
std::string LabelsText(const v1::Session& session) {
  const std::map<std::string, std::string> labels(session.labels().begin(),
                                                  session.labels().end());
  return absl::StrJoin(labels, ",", absl::PairFormatter("="));
}

// For example "busy,plot:idle": the default kernel has no name.
std::string KernelsText(const v1::Session& session) {
  std::vector<std::string> kernels;
  for (const v1::KernelInfo& kernel : session.kernels()) {
    kernels.push_back(absl::StrCat(kernel.context(),
                                   kernel.context().empty() ? "" : ":",
                                   StateWords(kernel.state())));
  }
  return kernels.empty() ? "-" : absl::StrJoin(kernels, ",");
}

// The clocks of two machines may differ, so negative times become zero.
std::string Between(absl::Time from, absl::Time to) {
  return FormatLongTime(std::max(to - from, absl::ZeroDuration()));
}

std::string LocalTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::LocalTimeZone());
}

std::string KernelRows(const v1::Session& session) {
  Rows rows = {{"KERNEL", "STATE", "RUNS", "RESTARTS", "LAST END"}};
  for (const v1::KernelInfo& kernel : session.kernels()) {
    rows.push_back({kernel.context().empty() ? "(default)" : kernel.context(),
                    StateWords(kernel.state()), absl::StrCat(kernel.runs()),
                    absl::StrCat(kernel.restarts()),
                    kernel.last_end().empty() ? "-" : kernel.last_end()});
  }
  return TextTable(rows, "  ");
}

std::string FilesText(const v1::Session& session) {
  return session.durable()
             ? absl::StrCat("durable, ",
                            FormatByteSize(session.durable_bytes()),
                            " on the daemon's disk")
             : "gone with the daemon";
}

}  // namespace

std::string ExpiryText(const v1::Session& session, absl::Time now) {
  const absl::Time expiry = FromProto(session.expire_time());
  if (expiry <= now) return "at once";
  return absl::StrCat("in ", Between(now, expiry), " unless it is used before");
}

std::string SessionsText(const v1::ListSessionsResponse& sessions,
                         absl::Time now) {
  Rows rows = {{"SESSION ID", "LANGUAGE", "STATE", "KERNELS", "MEMORY", "AGE",
                "EXPIRES IN", "CALLER", "LABELS"}};
  for (const v1::Session& session : sessions.sessions()) {
    rows.push_back({session.session_id(),
                    session.language().empty() ? "-" : session.language(),
                    StateWords(session.state()), KernelsText(session),
                    session.memory_bytes() > 0
                        ? FormatByteSize(session.memory_bytes())
                        : "-",
                    Between(FromProto(session.create_time()), now),
                    Between(now, FromProto(session.expire_time())),
                    session.caller(), LabelsText(session)});
  }
  return TextTable(rows, "");
}

std::string SessionText(const v1::Session& session, absl::Time now) {
  const absl::Time created = FromProto(session.create_time());
  const absl::Time used = FromProto(session.last_used_time());
  const bool has_labels = !session.labels().empty();
  Rows rows = {{"language:", session.language().empty() ? "none (no kernel)"
                                                        : session.language()},
               {"state:", StateWords(session.state())},
               {"profile:", session.profile()},
               {"caller:", session.caller()},
               {"labels:", has_labels ? LabelsText(session) : "none"},
               {"memory:", session.memory_bytes() > 0
                               ? FormatByteSize(session.memory_bytes())
                               : "none yet"},
               {"files:", FilesText(session)}};
  if (!session.forked_from().empty()) {
    rows.push_back({"forked of:", session.forked_from()});
  }
  if (!session.libraries().empty()) {
    rows.push_back(
        {"libraries:",
         absl::StrCat(absl::StrJoin(session.libraries(), " "),
                      session.layer_id().empty()
                          ? ", not in its jail yet"
                          : absl::StrCat(", layer ", session.layer_id()))});
  }
  const Rows rest = {
      {"created:",
       absl::StrCat(LocalTime(created), ", ", Between(created, now), " ago")},
      {"last used:",
       absl::StrCat(LocalTime(used), ", ", Between(used, now), " ago")},
      {"ends:",
       absl::StrCat(ExpiryText(session, now), " (idle timeout ",
                    FormatLongTime(FromProto(session.idle_timeout())),
                    ", at most ", FormatLongTime(FromProto(session.max_age())),
                    " old)")},
      {"limits:", LimitsText(session.limits())}};
  rows.insert(rows.end(), rest.begin(), rest.end());
  return absl::StrCat("session ", VisibleText(session.session_id()), "\n",
                      TextTable(rows, "  "),
                      session.kernels().empty() ? "" : "\nKernels\n",
                      session.kernels().empty() ? "" : KernelRows(session));
}

}  // namespace sandglass::client
