#ifndef SANDGLASS_POLICY_REDACTION_REDACTION_PROFILE_H_
#define SANDGLASS_POLICY_REDACTION_REDACTION_PROFILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/redaction/redaction.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// The patterns that profiles can name, from policy/data/redaction.json.
class RedactionList {
 public:
  struct Entry {
    std::string name;
    std::string description;
    RedactionPattern pattern;
    std::string example;  // a text that the pattern matches
  };

  // Makes a list without patterns.
  RedactionList() = default;
  // INVALID_ARGUMENT, with file and JSON pointer of each problem, also for an
  // example that its pattern doesn't match. NOT_FOUND: there is no such file.
  static absl::StatusOr<RedactionList> Load(const std::string& path);

  const std::vector<Entry>& entries() const { return entries_; }
  // nullptr when there is no pattern of that name.
  const Entry* Find(std::string_view name) const;
  std::vector<std::string> Names() const;

 private:
  std::vector<Entry> entries_;
};

// Reads a profile's key "redaction": names of `known` patterns, and patterns of
// the profile's own. Null when there is none, and after an error, which is
// recorded in `profile`.
std::shared_ptr<const Redactor> ReadRedaction(JsonObject& profile,
                                              const RedactionList& known);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_REDACTION_REDACTION_PROFILE_H_
