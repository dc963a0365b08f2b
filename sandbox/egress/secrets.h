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

// Of one secret's value, in bytes.
inline constexpr size_t kMaxSecretBytes = size_t{8} << 10;

// Values that programs may have sent without ever knowing them. They are in no
// message; their memory is wiped at the end.
class Secrets {
 public:
  Secrets() = default;  // none
  ~Secrets();
  Secrets(Secrets&& other) noexcept { values_.swap(other.values_); }
  Secrets& operator=(Secrets&& other) noexcept {
    values_.swap(other.values_);
    return *this;
  }

  // By their names: a capital letter, then up to 63 of capital letters, digits
  // and "_". INVALID_ARGUMENT: a name isn't that; a value is empty, above
  // kMaxSecretBytes, or can't stand in a header (line ends and other control
  // characters, white space around it).
  static absl::StatusOr<Secrets> Create(
      std::map<std::string, std::string> values);

  // Null: there is none of that name.
  const std::string* Find(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

// Those that one rule lists, for requests that it allows.
class RuleSecrets {
 public:
  // Whether the request is one inside TLS counts where the rule inspects: what
  // is to be kept from the network's eyes isn't put into plain HTTP because a
  // program asks that way. All of them have to outlive it.
  RuleSecrets(const Secrets& secrets, const policy::AllowedHost& rule,
              bool inside_tls)
      : secrets_(secrets), rule_(rule), inside_tls_(inside_tls) {}

  // Puts the values in the place of each "${secret:NAME}" of the fields'
  // values; a value's own text is not looked at again. PERMISSION_DENIED, with
  // the secret and `host` and without any value: the rule doesn't list it, it
  // has no value, TLS is missing, or what begins as a placeholder is none; the
  // fields may have changed in part, and must not go on.
  absl::Status PutInto(std::vector<HttpField>& fields,
                       std::string_view host) const;

  // The other way round: values of the rule's secrets become their
  // placeholders, and fields with one in their name go. That hides what servers
  // echo by mistake in a head, as it was sent. A server that means to can send
  // it in any form, and bodies pass as they are.
  void TakeOutOf(ResponseHead& head) const;

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
