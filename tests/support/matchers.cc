#include "tests/support/matchers.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sandglass::testing {
namespace {

// Long outputs are cut in the middle: a message must stay readable.
std::string Shorten(const std::string& bytes) {
  constexpr size_t kKept = 400;
  if (bytes.size() <= 2 * kKept) return absl::CHexEscape(bytes);
  return absl::StrCat(absl::CHexEscape(bytes.substr(0, kKept)), " [… ",
                      bytes.size() - 2 * kKept, " bytes …] ",
                      absl::CHexEscape(bytes.substr(bytes.size() - kKept)));
}

}  // namespace

std::string Describe(const grpc::Status& status) {
  if (status.ok()) return "OK";
  std::string text = absl::StrCat("code ", status.error_code(), " \"",
                                  status.error_message(), "\"");
  const ErrorDetails details = DetailsOf(status);
  if (!details.reason.empty()) {
    absl::StrAppend(&text, " reason ", details.domain, "/", details.reason);
  }
  for (const auto& [field, description] : details.fields) {
    absl::StrAppend(&text, " field ", field, ": ", description, ";");
  }
  return text;
}

std::string Describe(const v1::RunCodeResponse& response) {
  std::string text = absl::StrCat("run ", response.run_id(), " ",
                                  v1::Outcome_Name(response.outcome()));
  if (response.has_exit_code()) {
    absl::StrAppend(&text, " exit ", response.exit_code());
  }
  if (response.has_signal()) {
    absl::StrAppend(&text, " signal ", response.signal().name());
  }
  if (response.has_compile()) {
    absl::StrAppend(
        &text, "\n  compiler: ", Shorten(response.compile().stdout().data()),
        Shorten(response.compile().stderr().data()));
  }
  absl::StrAppend(&text,
                  "\n  evidence: ", response.evidence().ShortDebugString(),
                  "\n  stdout (", response.stdout().total_bytes(),
                  "): ", Shorten(response.stdout().data()), "\n  stderr (",
                  response.stderr().total_bytes(),
                  "): ", Shorten(response.stderr().data()));
  return text;
}

std::string Describe(const RunResult& result) {
  if (!result.status.ok()) return Describe(result.status);
  return absl::StrCat(Describe(result.response), "\n  after ",
                      absl::FormatDuration(result.elapsed));
}

std::string Describe(const StreamResult& result) {
  return absl::StrCat(
      Describe(result.status), " with ", result.events.size(), " events, ",
      result.result() == nullptr ? "no result" : Describe(*result.result()));
}

void PrintTo(const RunResult& result, std::ostream* out) {
  *out << Describe(result);
}

void PrintTo(const StreamResult& result, std::ostream* out) {
  *out << Describe(result);
}

}  // namespace sandglass::testing
