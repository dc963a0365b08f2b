#include "client/toolbox/run_words.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/run/exec_text.h"
#include "client/run/verdict_line.h"

namespace sandglass::client {
namespace {

constexpr absl::string_view kOurName = "sandglass: ";

std::string OutcomeWords(const v1::RunCodeResponse& run) {
  switch (run.outcome()) {
    case v1::OUTCOME_OK:
    case v1::OUTCOME_NONZERO_EXIT:
      return absl::StrCat("exit ", run.exit_code());
    case v1::OUTCOME_SIGNALED:
      return absl::StrCat("ended by ",
                          run.signal().name().empty()
                              ? absl::StrCat("signal ", run.signal().number())
                              : VisibleText(run.signal().name()));
    case v1::OUTCOME_TIMEOUT:
      return "stopped: time limit";
    case v1::OUTCOME_CPU_LIMIT:
      return "stopped: processor time limit";
    case v1::OUTCOME_MEMORY_LIMIT:
      return "stopped: memory limit";
    case v1::OUTCOME_OUTPUT_LIMIT:
      return "stopped: output limit";
    case v1::OUTCOME_FILE_SIZE_LIMIT:
      return "stopped: file size limit";
    case v1::OUTCOME_DISK_LIMIT:
      return "failed: disk limit";
    case v1::OUTCOME_PIDS_LIMIT:
      return "failed: limit of processes";
    case v1::OUTCOME_COMPILE_ERROR:
      return "compile error, it did not run";
    case v1::OUTCOME_CANCELLED:
      return "cancelled";
    case v1::OUTCOME_SHUTDOWN:
      return "stopped: the daemon shuts down";
    case v1::OUTCOME_JAIL_FAILED:
      return "failed through no fault of the program, try again";
    case v1::OUTCOME_NEEDS_APPROVAL:
      return "not run: a person has to approve it first";
    case v1::OUTCOME_DENIED:
      return "not run: a rule forbids it";
    default:
      return OutcomeName(run.outcome());
  }
}

bool HasRun(const v1::RunCodeResponse& run) {
  return run.evidence().phase() != v1::PHASE_COMPILE &&
         run.evidence().phase() != v1::PHASE_ANALYSIS &&
         run.outcome() != v1::OUTCOME_COMPILE_ERROR &&
         run.outcome() != v1::OUTCOME_NEEDS_APPROVAL &&
         run.outcome() != v1::OUTCOME_DENIED;
}

// A text such as "main.py:3:1: deny no-sockets: … (2 times)".
std::string FindingWords(const v1::Finding& finding) {
  std::string words;
  if (finding.line() > 0) {
    words = absl::StrCat(finding.path(), ":", finding.line(), ":",
                         finding.column(), ": ");
  }
  absl::StrAppend(&words,
                  absl::AsciiStrToLower(absl::StripPrefix(
                      v1::Severity_Name(finding.severity()), "SEVERITY_")),
                  " by rule ", finding.rule_id(), ": ", finding.message());
  if (finding.count() > 1) {
    absl::StrAppend(&words, " (", finding.count(), " times)");
  }
  return VisibleText(words);
}

void AddFindings(const v1::RunCodeResponse& run, AnswerText& text) {
  for (const v1::Finding& finding : run.findings()) {
    text.AddNote(FindingWords(finding));
  }
  if (run.findings_dropped() > 0) {
    text.AddNote(absl::StrCat(run.findings_dropped(), " more findings"));
  }
  if (!run.has_approval()) return;
  const std::string id = VisibleText(run.approval().approval_id());
  text.AddNote(absl::StrCat(
      "It waits for a person's approval: sandglass approvals approve ", id,
      ". Nothing ran. Once that is given, the same call with approval id ", id,
      " runs it; until then do something else, or tell the user."));
}

void AddNetwork(const v1::NetworkUse& network, AnswerText& text) {
  for (const v1::NetworkRefusal& refusal : network.refusals()) {
    text.AddNote(VisibleText(absl::StrCat("network: ", refusal.target(),
                                          " was refused: ", refusal.reason())));
  }
}

void AddLibraries(const v1::LibrariesUsed& used, AnswerText& text) {
  if (!used.installed()) return;
  text.AddNote(VisibleText(
      absl::StrCat("installed: ", absl::StrJoin(used.libraries(), " "), " (",
                   FormatTimeSpan(FromProto(used.wait())), ")")));
}

bool IsShownImage(absl::string_view type) {
  return type == "image/png" || type == "image/jpeg" || type == "image/gif";
}

const std::string* BestText(const v1::RichResult& result) {
  static constexpr std::array<absl::string_view, 4> kTexts = {
      "text/plain", "text/markdown", "text/latex", "application/json"};
  for (const absl::string_view type : kTexts) {
    for (const v1::MimeData& data : result.data()) {
      if (data.mime_type() == type) return &data.data();
    }
  }
  return nullptr;
}

// Says whether the image is part of the answer.
std::string AddImage(std::string type, const std::string& bytes,
                     const ToolBounds& bounds, std::vector<ToolImage>& images) {
  const std::string size = FormatByteSize(bytes.size());
  const std::string what = absl::StrCat(VisibleText(type), ", ", size);
  if (bytes.size() > bounds.image_bytes) {
    return absl::StrCat(what, ", too large to be shown");
  }
  if (images.size() >= bounds.images) {
    return absl::StrCat(what, ", not shown: there are too many");
  }
  images.push_back({std::move(type), bytes});
  return absl::StrCat(what, ", shown as image ", images.size());
}

std::string ResultText(const v1::RichResult& result, const ToolBounds& bounds,
                       std::vector<ToolImage>& images) {
  const std::string* plain = BestText(result);
  std::string text = plain == nullptr ? "" : *plain;
  for (const v1::MimeData& data : result.data()) {
    const bool image = absl::StartsWith(data.mime_type(), "image/");
    // Other forms of what is already there as text would only repeat it.
    if (!image && plain != nullptr) continue;
    if (!text.empty() && text.back() != '\n') text += '\n';
    absl::StrAppend(
        &text, "[",
        IsShownImage(data.mime_type())
            ? AddImage(data.mime_type(), data.data(), bounds, images)
            : absl::StrCat(VisibleText(data.mime_type()), ", ",
                           FormatByteSize(data.data().size()), ", not shown"),
        "]\n");
  }
  return text;
}

void AddError(const v1::RunError& error, AnswerText& text) {
  text.Add("error",
           error.traceback().empty()
               ? absl::StrCat(error.name(), error.value().empty() ? "" : ": ",
                              error.value())
               : error.traceback());
}

absl::string_view ErrorWords(v1::FileError error) {
  switch (error) {
    case v1::FILE_ERROR_TOO_LARGE:
      return "too large to be shown";
    case v1::FILE_ERROR_PERMISSION_DENIED:
      return "can't be read";
    default:
      return "can't be shown";
  }
}

}  // namespace

std::string VerdictWords(const v1::RunCodeResponse& run) {
  std::string words = OutcomeWords(run);
  if (HasRun(run)) {
    absl::StrAppend(&words, " after ",
                    FormatTimeSpan(FromProto(run.usage().wall_time())));
    if (run.usage().peak_memory_bytes() > 0) {
      absl::StrAppend(&words, ", peak ",
                      FormatByteSize(run.usage().peak_memory_bytes()));
    }
  }
  const bool says_all = run.outcome() == v1::OUTCOME_OK ||
                        run.outcome() == v1::OUTCOME_NONZERO_EXIT ||
                        run.outcome() == v1::OUTCOME_SIGNALED;
  const std::string why = VisibleText(run.evidence().explanation());
  if (!says_all && !why.empty()) absl::StrAppend(&words, ": ", why);
  return words;
}

void AddNotes(const v1::RunCodeResponse& run, AnswerText& text) {
  v1::RunCodeResponse told;
  *told.mutable_evidence() = run.evidence();
  // The output that an answer omits was received in the stream.
  for (const v1::Hint& hint : run.hints()) {
    if (hint.id() != "output-truncated") *told.add_hints() = hint;
  }
  *told.mutable_session() = run.session();
  told.set_results_dropped(run.results_dropped());
  told.set_results_dropped_bytes(run.results_dropped_bytes());
  for (const std::string& line : LossLines(told)) {
    text.AddNote(std::string(absl::StripPrefix(line, kOurName)));
  }
  for (const std::string& line : NoteLines(told)) {
    text.AddNote(std::string(absl::StripPrefix(line, kOurName)));
  }
  AddFindings(run, text);
  if (run.has_network()) AddNetwork(run.network(), text);
  if (run.has_libraries()) AddLibraries(run.libraries(), text);
  for (const v1::Redaction& redaction : run.redactions()) {
    text.AddNote(
        VisibleText(absl::StrCat("redacted in the output: ", redaction.name(),
                                 ", ", redaction.count(), " times")));
  }
  if (!run.session().files_not_saved().empty()) {
    text.AddNote(absl::StrCat("the sandbox's files could not be saved: ",
                              VisibleText(run.session().files_not_saved())));
  }
}

void AddResults(const v1::RunCodeResponse& run, const ToolBounds& bounds,
                AnswerText& text, std::vector<ToolImage>& images) {
  if (run.has_error()) AddError(run.error(), text);
  std::string displayed;
  std::string value;
  for (const v1::RichResult& result : run.results()) {
    std::string& part = result.is_value() ? value : displayed;
    if (!part.empty() && part.back() != '\n') part += '\n';
    part += ResultText(result, bounds, images);
  }
  text.Add("displayed", displayed);
  text.Add("value", value);
}

void AddFiles(const v1::RunCodeResponse& run, const ToolBounds& bounds,
              AnswerText& text, std::vector<ToolImage>& images) {
  std::string names;
  for (const v1::OutputFile& file : run.files()) {
    // A pattern that matched nothing, or a file that has gone meanwhile.
    if (file.error() == v1::FILE_ERROR_NOT_FOUND) continue;
    absl::StrAppend(&names, VisibleText(file.path()), ": ");
    if (file.error() != v1::FILE_ERROR_UNSPECIFIED) {
      absl::StrAppend(&names, ErrorWords(file.error()), "\n");
      continue;
    }
    const std::string type = ImageTypeOf(file.content());
    absl::StrAppend(&names,
                    type.empty()
                        ? FormatByteSize(file.size())
                        : AddImage(type, file.content(), bounds, images),
                    "\n");
  }
  text.Add("files", names);
}

v1::RunCodeResponse RunOf(const v1::ExecEnd& end) {
  v1::RunCodeResponse run = AsRun(end);
  *run.mutable_redactions() = end.redactions();
  if (end.has_network()) *run.mutable_network() = end.network();
  if (!end.files_not_saved().empty()) {
    run.mutable_session()->set_files_not_saved(end.files_not_saved());
  }
  return run;
}

std::string ImageTypeOf(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\x89PNG\r\n\x1a\n")) return "image/png";
  if (absl::StartsWith(bytes, "\xff\xd8\xff")) return "image/jpeg";
  if (absl::StartsWith(bytes, "GIF87a") || absl::StartsWith(bytes, "GIF89a")) {
    return "image/gif";
  }
  return "";
}

}  // namespace sandglass::client
