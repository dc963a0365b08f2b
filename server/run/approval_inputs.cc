#include "server/run/approval_inputs.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/redaction/redaction.h"
#include "policy/text/utf8.h"
#include "server/run/run_inputs.h"
#include "server/session/session.h"

namespace sandglass::server {
namespace {

// Whether a person can read the content.
bool IsText(std::string_view content) {
  return content.find('\0') == std::string_view::npos &&
         policy::IsValidUtf8(content);
}

void ShowInput(std::string_view content, const std::string& sha256,
               uint64_t& room, v1::ApprovalInput& input) {
  input.set_size_bytes(content.size());
  input.set_sha256(sha256);
  if (content.size() > room || !IsText(content)) return;
  room -= content.size();
  input.set_text(content.data(), content.size());
}

// A variable with one of these words in its name is shown without its value.
constexpr absl::string_view kSecretWords[] = {
    "AUTH",   "APIKEY",  "COOKIE",     "CREDENTIAL", "CREDENTIALS", "KEY",
    "PASS",   "PASSWD",  "PASSPHRASE", "PASSWORD",   "PRIVATE",     "PWD",
    "SECRET", "SECRETS", "TOKEN",      "TOKENS"};

bool NamesASecret(const std::string& name) {
  const std::string upper = absl::AsciiStrToUpper(name);
  if (upper == "PWD") return false;  // the working directory
  const std::vector<absl::string_view> words =
      absl::StrSplit(upper, absl::ByAnyChar("_-."));
  return std::ranges::any_of(words, [](absl::string_view word) {
    return std::ranges::count(kSecretWords, word) > 0;
  });
}

// What the program is given beside what every program has, by the request or
// its session, in place of the names that are there.
void ShowEnvironment(const Run& run, uint64_t& room, v1::Approval& shown) {
  const Job& job = run.job();
  std::map<std::string, std::string> given;
  if (const auto& session = run.origin().session; session != nullptr) {
    const policy::StringPairs& env = session->spec().env;
    given.insert(env.begin(), env.end());
  }
  const std::set<std::string> named(shown.env().begin(), shown.env().end());
  for (const auto& [name, value] : job.env) {
    if (named.count(name) != 0) given[name] = value;
  }
  shown.clear_env();
  for (const auto& [name, value] : given) {
    if (NamesASecret(name) || value.size() > room || !IsText(value)) {
      shown.add_env(name);
      continue;
    }
    room -= value.size();
    shown.add_env(absl::StrCat(name, "=",
                               job.redactor == nullptr
                                   ? value
                                   : job.redactor->Redact(value, nullptr)));
  }
}

}  // namespace

void ShowInputs(Run& run, v1::Approval& shown) {
  const Job& job = run.job();
  RunInputs& inputs = run.mutable_inputs();
  AddDigests(job, /*with_code=*/false, inputs);
  shown.set_code(job.code);
  shown.set_code_sha256(inputs.code_sha256);
  uint64_t room = kMaxInputText;
  ShowEnvironment(run, room, shown);
  for (size_t i = 0; i < inputs.files.size(); ++i) {
    const RunInputs::File& file = inputs.files[i];
    v1::ApprovalInput& input = *shown.add_files();
    input.set_path(file.path);
    ShowInput(job.files[i].bytes(), file.sha256, room, input);
  }
  if (inputs.stdin_bytes == 0) return;
  ShowInput(job.stdin_data, inputs.stdin_sha256, room, *shown.mutable_stdin());
}

uint64_t TextBytes(const v1::Approval& approval) {
  uint64_t bytes = approval.code().size() + approval.stdin().text().size();
  for (const v1::ApprovalInput& file : approval.files()) {
    bytes += file.text().size();
  }
  for (const std::string& variable : approval.env()) bytes += variable.size();
  return bytes;
}

void ForgetInputTexts(v1::Approval& approval) {
  for (v1::ApprovalInput& file : *approval.mutable_files()) file.clear_text();
  if (approval.has_stdin()) approval.mutable_stdin()->clear_text();
  for (std::string& variable : *approval.mutable_env()) {
    variable.resize(std::min(variable.find('='), variable.size()));
  }
}

void ForgetTexts(v1::Approval& approval) {
  approval.clear_code();
  ForgetInputTexts(approval);
}

}  // namespace sandglass::server
