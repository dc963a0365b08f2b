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

// Libraries that an entry of a profile's list is for: one ("numpy"), or all
// whose names begin alike ("@types/*", "org.apache.*", "github.com/acme/*").
class LibraryPattern {
 public:
  // INVALID_ARGUMENT for what is no library, as ParseLibrary has it (of Java
  // the version may be absent), and for a "*" that isn't last or doesn't come
  // after "/", ".", ":" or "-": "num*" would be for names that somebody else
  // thinks up.
  static absl::StatusOr<LibraryPattern> Parse(Ecosystem ecosystem,
                                              std::string_view text);

  bool Matches(const Library& library) const;
  bool is_prefix() const { return prefix_; }
  // In normal form; of a prefix without "*".
  const Library& library() const { return library_; }
  std::string ToString() const;

 private:
  Library library_;
  bool prefix_ = false;
};

// What of one ecosystem a profile's requests may name.
struct LibraryRules {
  // Whether `allow` isn't a list of the file's, so that all will do.
  bool any = true;
  // One with a version also says which: Python's specifiers are added to those
  // of the request; of the others' a request names the same version or none,
  // and gets that.
  std::vector<LibraryPattern> allow;
  std::vector<LibraryPattern> deny;  // without versions; comes before `allow`
  // Only sets that are installed already.
  bool offline = false;
};

// The libraries that a profile's requests may name. It speaks of what they
// name, not of what these libraries need in turn; but "deny" holds for all that
// a lock has.
struct LibraryPolicy {
  std::string profile;                      // its name; for messages
  std::map<Ecosystem, LibraryRules> rules;  // of those not in it, none
};

inline constexpr size_t kMostLibraryPatterns = 1000;  // of a list

struct LibraryDecision {
  bool allowed = false;
  // When it is refused: for people, one line without a full stop.
  std::string reason;
  // When it is allowed: what to install, with the profile's versions. Absent
  // otherwise.
  std::optional<LibrarySet> libraries;
  // When it is allowed: such a set isn't installed now (see OfflineWords).
  bool offline = false;
};

// Whether a profile's request may have the libraries. An empty set always.
LibraryDecision Decide(const LibraryPolicy& policy, const LibrarySet& set);

// Why a set that isn't there yet isn't installed, for profiles that say
// "offline".
std::string OfflineWords(const LibraryPolicy& policy, const LibrarySet& set);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_POLICY_H_
