#include "server/run/run_inputs.h"

#include <algorithm>

#include "policy/audit/audit_chain.h"
#include "server/base/strings.h"

namespace sandglass::server {

std::string ShortenedText(const std::string& text) {
  return text.substr(0, WholeCharacters(text, kMaxAuditedCodeBytes));
}

RunInputs InputsOf(const v1::RunCodeRequest& request) {
  RunInputs inputs;
  inputs.args = static_cast<size_t>(request.args_size());
  for (const auto& [name, value] : request.env()) inputs.env.push_back(name);
  // A protobuf map has no order of its own, so the names are sorted.
  std::sort(inputs.env.begin(), inputs.env.end());
  inputs.file_count = static_cast<size_t>(request.files_size());
  return inputs;
}

void AddDigests(const Job& job, bool with_code, RunInputs& inputs) {
  if (!inputs.code_sha256.empty()) return;
  inputs.code_sha256 = policy::AuditHash(job.code);
  inputs.code_bytes = job.code.size();
  if (with_code) inputs.code = ShortenedText(job.code);
  // Files that the language adds come after the request's own.
  const size_t files = std::min(inputs.file_count, job.files.size());
  for (size_t i = 0; i < files; ++i) {
    const std::string_view bytes = job.files[i].bytes();
    inputs.files.push_back(
        {job.files[i].path, policy::AuditHash(AbslView(bytes)), bytes.size()});
  }
  if (!job.stdin_data.empty()) {
    inputs.stdin_sha256 = policy::AuditHash(job.stdin_data);
    inputs.stdin_bytes = job.stdin_data.size();
  }
}

}  // namespace sandglass::server
