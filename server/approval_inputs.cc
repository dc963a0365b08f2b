#include "server/approval_inputs.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "policy/utf8.h"
#include "server/run_inputs.h"

namespace sandglass::server {
namespace {

// Whether a person can read it.
bool IsText(std::string_view content) {
  return content.find('\0') == std::string_view::npos &&
         policy::IsValidUtf8(content);
}

void AddText(std::string_view content, uint64_t& room,
             v1::ApprovalInput& input) {
  if (content.size() > room || !IsText(content)) return;
  room -= content.size();
  input.set_text(content.data(), content.size());
}

}  // namespace

void ShowInputs(Run& run, v1::Approval& shown) {
  const Job& job = run.job();
  RunInputs& inputs = run.mutable_inputs();
  AddDigests(job, /*with_code=*/false, inputs);
  shown.set_code(job.code);
  shown.set_code_sha256(inputs.code_sha256);
  uint64_t room = kMostInputText;
  for (size_t i = 0; i < inputs.files.size(); ++i) {
    const RunInputs::File& file = inputs.files[i];
    v1::ApprovalInput& input = *shown.add_files();
    input.set_path(file.path);
    input.set_size_bytes(file.bytes);
    input.set_sha256(file.sha256);
    AddText(job.files[i].bytes(), room, input);
  }
  if (inputs.stdin_bytes == 0) return;
  v1::ApprovalInput& input = *shown.mutable_stdin();
  input.set_size_bytes(inputs.stdin_bytes);
  input.set_sha256(inputs.stdin_sha256);
  AddText(job.stdin_data, room, input);
}

uint64_t ProgramBytes(const v1::Approval& approval) {
  return approval.code().size();
}

uint64_t TextBytes(const v1::Approval& approval) {
  uint64_t bytes = ProgramBytes(approval) + approval.stdin().text().size();
  for (const v1::ApprovalInput& file : approval.files()) {
    bytes += file.text().size();
  }
  return bytes;
}

void ForgetInputTexts(v1::Approval& approval) {
  for (v1::ApprovalInput& file : *approval.mutable_files()) file.clear_text();
  if (approval.has_stdin()) approval.mutable_stdin()->clear_text();
}

void ForgetTexts(v1::Approval& approval) {
  approval.clear_code();
  ForgetInputTexts(approval);
}

}  // namespace sandglass::server
