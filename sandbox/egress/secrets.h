#ifndef SANDGLASS_SANDBOX_EGRESS_SECRETS_H_
#define SANDGLASS_SANDBOX_EGRESS_SECRETS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/network/network.h"
#include "sandbox/egress/parse/http_fields.h"
#include "sandbox/egress/parse/response_head.h"

namespace sandglass::egress {

// The most bytes of a secret's value.
inline constexpr size_t kMaxSecretBytes = size_t{8} << 10;

// Values that programs can have sent for them without ever knowing them. No
// message contains them, and their memory is wiped at the end.
class Secrets {
 public:
  Secrets() = default;  // none
  ~Secrets();
  Secrets(Secrets&& other) noexcept { values_.swap(other.values_); }
  Secrets& operator=(Secrets&& other) noexcept {
    values_.swap(other.values_);
    return *this;
  }

  // `values` are keyed by names: a capital letter, then up to 63 capital
  // letters, digits and "_". INVALID_ARGUMENT: a name isn't of this form; a
  // value is empty, longer than kMaxSecretBytes, or can't be in a header (line
  // ends and other control characters, white space around it).
  static absl::StatusOr<Secrets> Create(
      std::map<std::string, std::string> values);

  // Null when there is none of that name.
  const std::string* Find(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

// The secrets that one rule lists, for the requests that it allows.
class RuleSecrets {
 public:
  // `inside_tls`, whether the request came inside TLS, matters where the rule
  // inspects: what the network mustn't see isn't put into plain HTTP just
  // because a program asks in that way. All arguments have to outlive this
  // object.
  RuleSecrets(const Secrets& secrets, const policy::AllowedHost& rule,
              bool inside_tls)
      : secrets_(secrets), rule_(rule), inside_tls_(inside_tls) {}

  // Puts the values in place of each "${secret:NAME}" in the fields' values;
  // the inserted text isn't searched again. PERMISSION_DENIED, naming the
  // secret and `host` but no value: the rule doesn't list the secret, it has no
  // value, TLS is missing, or something that begins like a placeholder isn't
  // one. The fields may then have been changed in part, and must not be passed
  // on.
  absl::Status PutInto(std::vector<HttpField>& fields,
                       std::string_view host) const;

  // The reverse: values of the rule's secrets become placeholders again, and
  // fields that have one in their name are removed. That hides what servers
  // echo by mistake in a head in the form in which it was sent. A server that
  // means to can send it in any other form, and bodies aren't changed.
  void RemoveFrom(ResponseHead& head) const;

 private:
  absl::StatusOr<std::string> WithValues(std::string_view text,
                                         std::string_view host) const;
  absl::StatusOr<const std::string*> ValueOf(const std::string& name,
                                             std::string_view host) const;
  std::string WithoutValues(std::string text) const;

  const Secrets& secrets_;
  const policy::AllowedHost& rule_;
  const bool inside_tls_;
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_SECRETS_H_
