#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_POLICY_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_POLICY_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/libraries/libraries.h"

namespace sandglass::policy {

// The libraries that an entry of a profile's list stands for: one ("numpy"), or
// all whose names begin in the same way ("@types/*", "org.apache.*",
// "github.com/acme/*").
class LibraryPattern {
 public:
  // INVALID_ARGUMENT for a text that isn't a library according to ParseLibrary
  // (for Java the version may be missing), and for a "*" that isn't last or
  // doesn't come after "/", ".", ":" or "-": "num*" would also allow names that
  // strangers invent.
  static absl::StatusOr<LibraryPattern> Parse(Ecosystem ecosystem,
                                              std::string_view text);

  bool Matches(const Library& library) const;
  bool is_prefix() const { return prefix_; }
  // In normal form; for a prefix without the "*".
  const Library& library() const { return library_; }
  std::string ToString() const;

 private:
  Library library_;
  bool prefix_ = false;
};

// The libraries of one ecosystem that a profile's requests may name.
struct LibraryRules {
  // True if the file has no list `allow`, so that every library is allowed.
  bool any = true;
  // An entry may have a version. Python's specifiers are then added to those of
  // the request; in the other ecosystems a request has to name the same version
  // or none, and gets that version.
  std::vector<LibraryPattern> allow;
  std::vector<LibraryPattern> deny;  // without versions; overrides `allow`
  // Whether only sets that are already installed may be used.
  bool offline = false;
};

// The libraries that a profile's requests may name. It applies to what they
// name, not to what those libraries depend on; but "deny" applies to everything
// in a lock.
struct LibraryPolicy {
  std::string profile;                      // its name, for messages
  std::map<Ecosystem, LibraryRules> rules;  // of those not in it, none
};

inline constexpr size_t kMaxLibraryPatterns = 1000;  // per list

struct LibraryDecision {
  bool allowed = false;
  // When it is refused: one line for people, without a full stop.
  std::string reason;
  // When it is allowed: what to install, with the profile's versions. Absent
  // otherwise.
  std::optional<LibrarySet> libraries;
  // When it is allowed: a set that isn't installed yet must not be installed
  // now.
  bool offline = false;
};

// Whether a profile's request may use the libraries. An empty set is always
// allowed.
LibraryDecision Decide(const LibraryPolicy& policy, const LibrarySet& set);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_POLICY_H_
