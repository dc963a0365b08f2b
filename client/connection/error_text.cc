#include "client/connection/error_text.h"

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/connection/address.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "policy/text/docs_page.h"

namespace sandglass::client {
namespace {

std::string CodeName(grpc::StatusCode code) {
  static constexpr std::array<const char*, 17> kNames = {"OK",
                                                         "CANCELLED",
                                                         "UNKNOWN",
                                                         "INVALID_ARGUMENT",
                                                         "DEADLINE_EXCEEDED",
                                                         "NOT_FOUND",
                                                         "ALREADY_EXISTS",
                                                         "PERMISSION_DENIED",
                                                         "RESOURCE_EXHAUSTED",
                                                         "FAILED_PRECONDITION",
                                                         "ABORTED",
                                                         "OUT_OF_RANGE",
                                                         "UNIMPLEMENTED",
                                                         "INTERNAL",
                                                         "UNAVAILABLE",
                                                         "DATA_LOSS",
                                                         "UNAUTHENTICATED"};
  const int number = static_cast<int>(code);
  if (number < 0 || number >= static_cast<int>(kNames.size())) {
    return absl::StrCat("error ", number);
  }
  return kNames[static_cast<size_t>(number)];
}

// Indents a message; one of several lines keeps them.
std::string Indented(absl::string_view text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&out, out.empty() ? "" : "\n  ", VisibleText(line));
  }
  return out;
}

// What to do about an error with this reason; empty when its message says so.
absl::string_view AdviceFor(absl::string_view reason) {
  static constexpr std::array<std::array<absl::string_view, 2>, 13> kAdvice = {
      {{"RUN_NOT_FOUND", "sandglass ps shows yours"},
       {"LAYER_NOT_FOUND", "sandglass layers list shows those there are"},
       {"SESSION_NOT_FOUND", "sandglass session list shows yours"},
       {"SESSION_EXPIRED",
        "start another with sandglass session create, whose --idle-timeout "
        "and --max-age say how long it lives"},
       {"SESSION_DELETED", "start another with sandglass session create"},
       {"SESSION_EVICTED", "start another with sandglass session create"},
       {"SESSION_DIED",
        "its files and state are lost; start another with sandglass session "
        "create"},
       {"EXEC_NOT_FOUND", "sandglass session ps shows the session's commands"},
       {"FILE_NO_SPACE",
        "its size is the profile's: sandglass info shows them, session create "
        "--profile takes another"},
       {"PROGRAM_NOT_FOUND",
        "a line for a shell goes after -c: sandglass session exec ID -c "
        "LINE"},
       {"NO_CREDENTIALS",
        "give a token (--token-file FILE, SANDGLASS_TOKEN) or a certificate "
        "(--cert, --key); sandglass context add keeps them"},
       {"BAD_CREDENTIALS",
        "the token or certificate may have expired or been revoked; ask "
        "whoever "
        "runs the daemon for another"},
       {"MISSING_SCOPE", "sandglass whoami shows what you may do"}}};
  for (const auto& [name, advice] : kAdvice) {
    if (name == reason) return advice;
  }
  return "";
}

// Leaves out what `message`, printed above, already says.
void AppendDetail(const google::protobuf::Any& any, const std::string& message,
                  Advice advice, std::string& out) {
  if (any.Is<google::rpc::BadRequest>()) {
    google::rpc::BadRequest bad;
    if (!any.UnpackTo(&bad)) return;
    for (const auto& violation : bad.field_violations()) {
      if (bad.field_violations_size() == 1 &&
          message ==
              absl::StrCat(violation.field(), ": ", violation.description())) {
        continue;
      }
      absl::StrAppend(&out, "  ", VisibleText(violation.field()), ": ",
                      Indented(violation.description()), "\n");
    }
  } else if (any.Is<google::rpc::RetryInfo>()) {
    google::rpc::RetryInfo retry;
    if (!any.UnpackTo(&retry)) return;
    absl::StrAppend(&out, "  try again in ",
                    FormatTimeSpan(FromProto(retry.retry_delay())), "\n");
  } else if (any.Is<google::rpc::ErrorInfo>()) {
    google::rpc::ErrorInfo info;
    if (!any.UnpackTo(&info)) return;
    absl::StrAppend(&out, "  reason: ", VisibleText(info.reason()), "\n");
    const absl::string_view words =
        advice == Advice::kCommands ? AdviceFor(info.reason()) : "";
    if (!words.empty()) absl::StrAppend(&out, "  ", words, "\n");
  }
}

// Recognises gRPC's own words for a deadline or a sign of life that didn't
// come; errors from the daemon have details.
bool HasNotAnswered(const grpc::Status& status) {
  if (!status.error_details().empty()) return false;
  return status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
         (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
          absl::StrContains(status.error_message(), "keepalive"));
}

// Whether TLS isn't spoken there, as only on this machine; whoever gave --ca or
// --cert knows that it is.
bool IsPlainTcp(absl::string_view address) {
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  return parsed.ok() && parsed->unix_path.empty() && !parsed->tls;
}

// Recognises gRPC's words for a server that speaks another protocol, like one
// for metrics.
bool IsOfAnotherProtocol(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNKNOWN &&
         status.error_details().empty() &&
         status.error_message() == "Stream removed";
}

}  // namespace

bool IsConnectionLoss(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         status.error_details().empty();
}

std::string RpcErrorText(const grpc::Status& status, absl::string_view address,
                         Advice advice) {
  const std::string daemon =
      absl::StrCat("the daemon at ", VisibleText(address));
  if (HasNotAnswered(status)) {
    return absl::StrCat("sandglass: ", daemon,
                        " does not answer: it is stopped or hangs, or its "
                        "machine is out of memory; see its log (",
                        policy::DocsPage("troubleshooting.md"), ")\n");
  }
  if (IsConnectionLoss(status)) {
    const std::string broke =
        absl::StrCat("sandglass: the connection to ", daemon, " broke (",
                     VisibleText(status.error_message()),
                     "); see whether it still runs with: sandglass info\n");
    return IsPlainTcp(address)
               ? absl::StrCat(broke,
                              "  if that port speaks TLS, give its authority "
                              "with --ca FILE, or write dns:///",
                              VisibleText(address), "\n")
               : broke;
  }
  std::string out = absl::StrCat("sandglass: ", CodeName(status.error_code()),
                                 ": ", Indented(status.error_message()), "\n");
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED ||
      IsOfAnotherProtocol(status)) {
    absl::StrAppend(&out, "  is ", VisibleText(address),
                    " a sandglassd of this client's version?\n");
  }
  google::rpc::Status rich;
  if (rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& any : rich.details()) {
      AppendDetail(any, status.error_message(), advice, out);
    }
  }
  return out;
}

std::vector<std::string> ViolatedFields(const grpc::Status& status) {
  std::vector<std::string> fields;
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) return fields;
  for (const google::protobuf::Any& any : rich.details()) {
    google::rpc::BadRequest bad;
    if (!any.Is<google::rpc::BadRequest>() || !any.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) {
      fields.push_back(violation.field());
    }
  }
  return fields;
}

std::string ErrorReason(const grpc::Status& status) {
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) return "";
  for (const google::protobuf::Any& any : rich.details()) {
    google::rpc::ErrorInfo info;
    if (any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info)) {
      return info.reason();
    }
  }
  return "";
}

}  // namespace sandglass::client
