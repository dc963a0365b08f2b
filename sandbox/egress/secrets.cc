#include "sandbox/egress/secrets.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "sandbox/egress/parse/wire_words.h"

namespace sandglass::egress {
namespace {

constexpr std::string_view kOpening = "${secret:";
constexpr size_t kMaxName = 64;

bool IsCapital(char c) { return c >= 'A' && c <= 'Z'; }

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && IsCapital(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsCapital(c) || (c >= '0' && c <= '9') || c == '_';
         });
}

std::string Placeholder(const std::string& name) {
  return absl::StrCat(AbslView(kOpening), name, "}");
}

}  // namespace

Secrets::~Secrets() {
  for (auto& [name, value] : values_) {
    ::OPENSSL_cleanse(value.data(), value.size());
  }
}

absl::StatusOr<Secrets> Secrets::Create(
    std::map<std::string, std::string> values) {
  Secrets secrets;
  secrets.values_ = std::move(values);
  for (const auto& [name, value] : secrets.values_) {
    std::string wrong;
    if (!IsName(name)) {
      wrong =
          "its name isn't a capital letter with up to 63 capital letters, "
          "digits and \"_\" behind it";
    } else if (value.empty()) {
      wrong = "its value is empty";
    } else if (value.size() > kMaxSecretBytes) {
      wrong = absl::StrCat("its value has ", value.size(), " bytes; at most ",
                           kMaxSecretBytes, " are possible");
    } else if (!IsFieldValue(value)) {
      wrong =
          "its value can't stand in a header; line ends, other control "
          "characters and white space around it are not possible";
    }
    if (!wrong.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("secret ", Quoted(name), ": ", wrong));
    }
  }
  return secrets;
}

const std::string* Secrets::Find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

absl::Status RuleSecrets::PutInto(std::vector<HttpField>& fields,
                                  std::string_view host) const {
  size_t bytes = 0;
  for (HttpField& field : fields) {
    if (field.value.find(kOpening) != std::string::npos) {
      absl::StatusOr<std::string> value = WithValues(field.value, host);
      if (!value.ok()) return value.status();
      field.value = *std::move(value);
    }
    bytes += field.name.size() + field.value.size();
    if (bytes > kMaxHeadBytes) {
      return absl::PermissionDeniedError(
          absl::StrCat("with its secrets the head for ", AbslView(host),
                       " is longer than ", kMaxHeadBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RuleSecrets::WithValues(
    std::string_view text, std::string_view host) const {
  std::string out;
  // More is refused by the caller; what is behind it doesn't matter then.
  while (out.size() <= kMaxHeadBytes) {
    const size_t at = text.find(kOpening);
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + kOpening.size());
    const std::string name(text.substr(0, text.find('}')));
    if (name.size() == text.size() || !IsName(name)) {
      return absl::PermissionDeniedError(absl::StrCat(
          "a header for ", AbslView(host), " has ", Quoted(kOpening),
          " and no name of a secret with \"}\" behind it"));
    }
    const absl::StatusOr<const std::string*> value = ValueOf(name, host);
    if (!value.ok()) return value.status();
    out += **value;
    text.remove_prefix(name.size() + 1);
  }
  return out;
}

absl::StatusOr<const std::string*> RuleSecrets::ValueOf(
    const std::string& name, std::string_view host) const {
  const std::vector<std::string>& listed = rule_.secrets;
  if (std::find(listed.begin(), listed.end(), name) == listed.end()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "secret ", name, " isn't for ", AbslView(host), ": the rule for ",
        rule_.host.ToString(),
        listed.empty() ? " lists none"
                       : absl::StrCat(" lists ", absl::StrJoin(listed, ", "))));
  }
  if (rule_.inspect && !inside_tls_) {
    return absl::PermissionDeniedError(
        absl::StrCat("secret ", name, " for ", AbslView(host),
                     " goes inside TLS alone; ask for https://"));
  }
  const std::string* value = secrets_.Find(name);
  if (value == nullptr) {
    return absl::PermissionDeniedError(
        absl::StrCat("secret ", name, " for ", AbslView(host),
                     " has no value; the daemon was given none"));
  }
  return value;
}

void RuleSecrets::RemoveFrom(ResponseHead& head) const {
  if (rule_.secrets.empty()) return;
  head.reason = WithoutValues(std::move(head.reason));
  std::erase_if(head.fields, [this](const HttpField& field) {
    return WithoutValues(field.name) != field.name;
  });
  for (HttpField& field : head.fields) {
    field.value = WithoutValues(std::move(field.value));
  }
}

std::string RuleSecrets::WithoutValues(std::string text) const {
  // All values are replaced in one pass: an inserted placeholder isn't searched
  // for other values. Where values overlap, the longer one is replaced.
  std::vector<std::pair<absl::string_view, std::string>> pairs;
  for (const std::string& name : rule_.secrets) {
    if (const std::string* value = secrets_.Find(name)) {
      pairs.emplace_back(*value, Placeholder(name));
    }
  }
  absl::StrReplaceAll(pairs, &text);
  return text;
}

}  // namespace sandglass::egress
