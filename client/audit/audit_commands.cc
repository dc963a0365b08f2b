#include "client/audit/audit_commands.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/audit/audit_files.h"
#include "client/audit/audit_lines.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/connection/daemon.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

using OrderedJson = nlohmann::ordered_json;
using policy::AuditFinding;
using policy::AuditReport;
using policy::AuditVerifier;

int FailAudit(const absl::Status& status) {
  Fail(status);
  return kExitAuditError;
}

absl::Status NoLog(const std::string& path) {
  return absl::NotFoundError(absl::StrCat(
      "there is no file of an audit log in '", VisibleText(path), "'"));
}

// Prints the text, and returns `code` unless that fails.
int Print(const std::string& text, int code) {
  const int printed = PrintText(text);
  return printed == kExitOk ? code : printed;
}

int CodeOf(const AuditReport& report) {
  return report.tampering == 0 ? kExitOk : kExitTampered;
}

std::string PlaceOf(const AuditFinding& finding) {
  if (finding.file.empty()) return "";
  std::string place = VisibleText(finding.file);
  if (finding.line > 0) absl::StrAppend(&place, ":", finding.line);
  return absl::StrCat(place, ": ");
}

OrderedJson HeadJson(const policy::AuditHead& head) {
  return {{"seq", head.seq}, {"hash", head.hash}};
}

// Only ASCII, and never an exception for bytes that aren't UTF-8.
std::string Line(const OrderedJson& json) {
  return absl::StrCat(
      json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace), "\n");
}

// Reads the newest file, and earlier ones until a line is found.
absl::StatusOr<AuditReport> ReadEnd(const std::vector<std::string>& files) {
  uint64_t tampering = 0;
  for (size_t i = files.size(); i > 0; --i) {
    AuditVerifier verifier;
    absl::Status read = ReadAuditFiles({files[i - 1]}, verifier);
    if (!read.ok()) return read;
    AuditReport report = verifier.Finish();
    tampering += report.tampering;
    report.tampering = tampering;
    if (report.lines > 0 || i == 1) return report;
  }
  return AuditReport();
}

struct Dispatch {
  int operator()(const AuditVerifyOptions& options) const {
    const absl::StatusOr<std::vector<std::string>> files =
        AuditFilesOf(options.paths);
    if (!files.ok()) return FailAudit(files.status());
    // With a head, even an empty log proves something.
    if (files->empty() && !options.head) {
      return FailAudit(NoLog(options.paths.front()));
    }
    AuditVerifier verifier(options.head);
    const absl::Status read = ReadAuditFiles(*files, verifier);
    if (!read.ok()) return FailAudit(read);
    const AuditReport report = verifier.Finish();
    return Print(options.json ? AuditReportJson(report, files->size())
                              : AuditReportText(report, files->size()),
                 CodeOf(report));
  }

  int operator()(const AuditHeadOptions& options) const {
    absl::StatusOr<std::vector<std::string>> files =
        AuditFilesOf({options.path});
    if (!files.ok()) return FailAudit(files.status());
    if (files->empty()) return FailAudit(NoLog(options.path));
    absl::StatusOr<AuditReport> read = ReadEnd(*files);
    // A daemon that is just writing finishes its line in a moment.
    for (int again = 0; again < 3 && read.ok() && read->tampering > 0;
         ++again) {
      absl::SleepFor(absl::Milliseconds(50));
      read = ReadEnd(*files);
    }
    if (!read.ok()) return FailAudit(read.status());
    const AuditReport& report = *read;
    if (report.tampering > 0) {
      Fail(absl::DataLossError(
          "the log's last file is not as it was written; sandglass audit "
          "verify says where"));
      return kExitTampered;
    }
    return Print(options.json
                     ? Line(HeadJson(report.head))
                     : absl::StrCat(FormatAuditHead(report.head), "\n"),
                 kExitOk);
  }

  int operator()(const AuditShowOptions& options) const {
    const absl::StatusOr<std::vector<std::string>> files =
        AuditFilesOf(options.paths);
    if (!files.ok()) return FailAudit(files.status());
    if (files->empty()) return FailAudit(NoLog(options.paths.front()));
    AuditLines lines(options);
    AuditVerifier verifier(std::nullopt, [&](absl::string_view line,
                                             const policy::AuditLine& parts) {
      lines.Append(line, parts);
    });
    const absl::Status read = ReadAuditFiles(*files, verifier);
    const int printed = lines.Finish();
    if (!read.ok()) return FailAudit(read);
    if (printed != kExitOk) return printed;
    const AuditReport report = verifier.Finish();
    if (report.tampering > 0) {
      Fail(absl::DataLossError(
          "the log is not as it was written, or something is missing; "
          "sandglass audit verify says what"));
    }
    return CodeOf(report);
  }
};

}  // namespace

std::string AuditReportText(const AuditReport& report, size_t files) {
  std::string text =
      absl::StrCat(report.lines, report.lines == 1 ? " line" : " lines", " in ",
                   files, files == 1 ? " file" : " files");
  if (report.first_seq > 0) {
    absl::StrAppend(&text, ": ", report.first_seq, " to ", report.head.seq,
                    ", ", report.first_time, " to ", report.last_time);
  }
  absl::StrAppend(&text, "\nhead ", FormatAuditHead(report.head), "\n");
  for (const AuditFinding& finding : report.findings) {
    absl::StrAppend(
        &text,
        finding.kind == AuditFinding::Kind::kNote ? "note: " : "TAMPERING: ",
        PlaceOf(finding), finding.what, "\n");
  }
  const uint64_t found = report.notes + report.tampering;
  if (found > report.findings.size()) {
    absl::StrAppend(&text, "and ", found - report.findings.size(), " more\n");
  }
  if (report.tampering == 0) {
    absl::StrAppend(&text, "as it was written\n");
  } else {
    absl::StrAppend(&text, "NOT as it was written: ", report.tampering,
                    report.tampering == 1 ? " place\n" : " places\n");
  }
  return text;
}

std::string AuditReportJson(const AuditReport& report, size_t files) {
  OrderedJson findings = OrderedJson::array();
  for (const AuditFinding& finding : report.findings) {
    findings.push_back(
        {{"kind",
          finding.kind == AuditFinding::Kind::kNote ? "note" : "tampering"},
         {"file", finding.file},
         {"line", finding.line},
         {"what", finding.what}});
  }
  return Line({{"format", 1},
               {"as_written", report.tampering == 0},
               {"files", files},
               {"lines", report.lines},
               {"first_seq", report.first_seq},
               {"first_time", report.first_time},
               {"last_time", report.last_time},
               {"head", HeadJson(report.head)},
               {"notes", report.notes},
               {"tampering", report.tampering},
               {"findings", std::move(findings)}});
}

int AuditCommand(const AuditOptions& options) {
  return std::visit(Dispatch(), options);
}

}  // namespace sandglass::client
