#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARIES_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARIES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandglass::policy {

// The ecosystems of libraries, each with the tool or the form that it uses.
enum class Ecosystem {
  kPython,  // pip
  kNode,    // npm
  kGo,      // modules
  kRuby,    // gems
  kJava,    // Maven coordinates
};

inline constexpr Ecosystem kEcosystems[] = {Ecosystem::kPython,
                                            Ecosystem::kNode, Ecosystem::kGo,
                                            Ecosystem::kRuby, Ecosystem::kJava};

// The id of the language: "python", "javascript", "go", "ruby" or "java".
std::string_view EcosystemName(Ecosystem ecosystem);
// The ecosystem of the language with this id; nullopt: no libraries can be
// requested for it.
std::optional<Ecosystem> EcosystemOfLanguage(std::string_view language);

inline constexpr size_t kMaxLibraryText = 512;  // bytes that name one library
inline constexpr size_t kMaxLibraryName = 214;  // bytes; npm's own bound
inline constexpr size_t kMaxLibraries = 64;     // of a set
inline constexpr size_t kMaxExtras = 16;        // of a Python library

// A library, by its name in the public registry, and the versions that are
// acceptable. All members are printable ASCII, and none can be misread as an
// option, a file or an address by the tool that installs it.
struct Library {
  Ecosystem ecosystem = Ecosystem::kPython;
  // In normal form: as defined by PEP 503 ("typing-extensions"), "name" or
  // "@scope/name", a module's path, a gem's name, "group:artifact".
  std::string name;
  std::vector<std::string> extras;  // Python's, normalised and sorted
  // In normal form; empty: any version, and the tool chooses the newest that
  // fits.
  //   python  "<3,>=2", "==1.16.0": clauses of PEP 440, sorted
  //   npm     "^1.2.0", ">=1 <3 || 4.x", "next"
  //   go      "v1.2.3", a pseudo-version; without one "latest", never empty
  //   ruby    "2.2.3", "~> 2.2"
  //   java    "1.10.0"
  std::string version;

  // The argument for the tool's installer: a single one that never begins with
  // "-". Parsing it gives the same library again.
  std::string ToArgument() const;

  friend bool operator==(const Library&, const Library&) = default;
};

// Parses a library in the form that users of its tool write:
//   python  name[extra,…]specifiers, as in "six==1.16.0", "requests>=2,<3"
//   npm     name@range, as in "lodash@^4", "@types/node", "chalk@>=4 <6"
//   go      module@version, as in "golang.org/x/text@v0.3.7"; without a
//           version: latest
//   ruby    name:requirement as for `gem install`, or with a space as in a
//           Gemfile: "rack:2.2.3", "rack:~> 2.2", "rack ~> 2.2". Only one
//           requirement, since `gem install` accepts only one.
//   java    group:artifact:version, as in "com.google.code.gson:gson:2.8.9"
// INVALID_ARGUMENT for everything else, with what to write instead: addresses,
// repositories, paths, options, markers, text for a shell.
absl::StatusOr<Library> ParseLibrary(Ecosystem ecosystem,
                                     std::string_view text);

// Parses only a library's name, and returns it in normal form. Errors as above.
absl::StatusOr<std::string> ParseLibraryName(Ecosystem ecosystem,
                                             std::string_view text);

struct LibraryLock;  // library_lock.h

// Libraries of one ecosystem that are installed together: sorted, each once;
// with a lock, only libraries that are in it.
class LibrarySet {
 public:
  // INVALID_ARGUMENT, with the place in the list ("libraries[3]"): a text that
  // ParseLibrary refuses, more than kMaxLibraries, or the same library twice
  // with different versions or extras.
  static absl::StatusOr<LibrarySet> Parse(
      Ecosystem ecosystem, const std::vector<std::string>& texts);
  // The same for parsed libraries, which all belong to the ecosystem. With a
  // lock, there may be as many as a lock can have.
  static absl::StatusOr<LibrarySet> Make(
      Ecosystem ecosystem, std::vector<Library> libraries,
      std::shared_ptr<const LibraryLock> lock = nullptr);

  Ecosystem ecosystem() const { return ecosystem_; }
  const std::vector<Library>& libraries() const { return libraries_; }
  bool empty() const { return libraries_.empty(); }
  // Null: the tool chooses the versions.
  const std::shared_ptr<const LibraryLock>& lock() const { return lock_; }

  // One library per line, sorted by name, without a line end after the last:
  // the same text for the same set, whatever the order of the request. The lock
  // isn't part of it.
  std::string Canonical() const;
  // The arguments for the installer, in the same order.
  std::vector<std::string> ToArguments() const;

  friend bool operator==(const LibrarySet& a, const LibrarySet& b);

 private:
  LibrarySet(Ecosystem ecosystem, std::vector<Library> libraries,
             std::shared_ptr<const LibraryLock> lock)
      : ecosystem_(ecosystem),
        libraries_(std::move(libraries)),
        lock_(std::move(lock)) {}

  Ecosystem ecosystem_;
  std::vector<Library> libraries_;
  std::shared_ptr<const LibraryLock> lock_;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARIES_H_
