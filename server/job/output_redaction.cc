#include "server/job/output_redaction.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sandglass::server {
namespace {

bool IsText(const std::string& mime_type) {
  // Parameters may follow after a semicolon.
  const absl::string_view type =
      absl::string_view(mime_type).substr(0, mime_type.find(';'));
  return absl::StartsWithIgnoreCase(type, "text/") ||
         absl::EqualsIgnoreCase(type, "application/json") ||
         absl::EqualsIgnoreCase(type, "application/javascript") ||
         absl::EqualsIgnoreCase(type, "application/xml") ||
         absl::EndsWithIgnoreCase(type, "+json") ||
         absl::EndsWithIgnoreCase(type, "+xml");
}

void RedactText(const policy::Redactor* redactor, std::string& text,
                policy::RedactionCounts& counts) {
  if (redactor != nullptr) text = redactor->Redact(text, &counts);
}

}  // namespace

OutputRedaction::OutputRedaction(
    std::shared_ptr<const policy::Redactor> redactor) {
  if (redactor != nullptr) redactor_.emplace(std::move(redactor));
}

std::string_view OutputRedaction::Feed(std::string_view data) {
  taken_ += data.size();
  if (!redactor_) return data;
  told_.clear();
  redactor_->Write(data, told_);
  return told_;
}

std::string_view OutputRedaction::Rest() {
  told_.clear();
  if (redactor_) redactor_->Finish(told_);
  return told_;
}

policy::RedactionCounts OutputRedaction::counts() const {
  return redactor_ ? redactor_->counts() : policy::RedactionCounts();
}

void RedactRich(const policy::Redactor* redactor, RichOutput& output,
                policy::RedactionCounts& counts) {
  for (auto& [type, data] : output.data) {
    if (IsText(type)) RedactText(redactor, data, counts);
  }
}

void RedactError(const policy::Redactor* redactor, ErrorWords& error,
                 policy::RedactionCounts& counts) {
  RedactText(redactor, error.name, counts);
  RedactText(redactor, error.value, counts);
  RedactText(redactor, error.traceback, counts);
}

void RedactStream(const policy::Redactor* redactor, StreamResult& stream,
                  policy::RedactionCounts& counts) {
  if (redactor == nullptr) return;
  // The two halves are redacted separately, since something is left out between
  // them.
  std::string head = stream.data.substr(0, stream.head_bytes);
  std::string tail = stream.data.substr(head.size());
  RedactText(redactor, head, counts);
  RedactText(redactor, tail, counts);
  const uint64_t was = stream.data.size();
  stream.head_bytes = head.size();
  stream.data = absl::StrCat(head, tail);
  stream.total_bytes = stream.total_bytes - was + stream.data.size();
}

}  // namespace sandglass::server
