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

// Where libraries come from and who installs them.
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

// The id of its language: "python", "javascript", "go", "ruby" or "java".
std::string_view EcosystemName(Ecosystem ecosystem);
// Of the language with this id; absent: it has no libraries to ask for.
std::optional<Ecosystem> EcosystemOfLanguage(std::string_view language);

inline constexpr size_t kMostLibraryText = 512;  // bytes that name one library
inline constexpr size_t kMostLibraryName = 214;  // bytes; npm's own bound
inline constexpr size_t kMostLibraries = 64;     // of a set
inline constexpr size_t kMostExtras = 16;        // of a Python library

// A library by its name in the public registry, and the versions that will do.
// Printable ASCII in all of it; no member can be read as an option, a file or
// an address by the tool that installs it.
struct Library {
  Ecosystem ecosystem = Ecosystem::kPython;
  // In normal form: as PEP 503 has it ("typing-extensions"), "name" or
  // "@scope/name", a module's path, a gem's name, "group:artifact".
  std::string name;
  std::vector<std::string> extras;  // Python's, in normal form, sorted
  // In normal form; empty: any, and the tool takes the newest that fits.
  //   python  "<3,>=2", "==1.16.0": clauses of PEP 440, sorted
  //   npm     "^1.2.0", ">=1 <3 || 4.x", "next"
  //   go      "v1.2.3", a pseudo-version; "latest" is never empty here
  //   ruby    "2.2.3", "~> 2.2"
  //   java    "1.10.0"
  std::string version;

  // What the tool's installer gets for it: one argument, never with "-" at its
  // beginning. It is parsed to the same library again.
  std::string ToArgument() const;

  friend bool operator==(const Library&, const Library&) = default;
};

// A library as its tool's users write it:
//   python  name[extra,…]specifiers, as in "six==1.16.0", "requests>=2,<3"
//   npm     name@range, as in "lodash@^4", "@types/node", "chalk@>=4 <6"
//   go      module@version, as in "golang.org/x/text@v0.3.7"; without a
//           version: latest
//   ruby    name:requirement as `gem install` takes it, or with a blank as in
//           a Gemfile: "rack:2.2.3", "rack:~> 2.2", "rack ~> 2.2". One
//           requirement, since `gem install` takes one.
//   java    group:artifact:version, as in "com.google.code.gson:gson:2.8.9"
// INVALID_ARGUMENT for all else, with words that say what to write instead:
// addresses, repositories, paths, options, markers, text for a shell.
absl::StatusOr<Library> ParseLibrary(Ecosystem ecosystem,
                                     std::string_view text);

// A library's name alone, in normal form. Errors as above.
absl::StatusOr<std::string> ParseLibraryName(Ecosystem ecosystem,
                                             std::string_view text);

struct LibraryLock;  // library_lock.h

// Libraries of one ecosystem that are installed together: sorted, each once;
// with a lock only what that has.
class LibrarySet {
 public:
  // INVALID_ARGUMENT, with the place in the list ("libraries[3]"): a text that
  // ParseLibrary refuses, more than kMostLibraries, or one library twice with
  // different versions or extras.
  static absl::StatusOr<LibrarySet> Parse(
      Ecosystem ecosystem, const std::vector<std::string>& texts);
  // The same of what is parsed already; all of them are of the ecosystem. With
  // a lock there may be as many as one has.
  static absl::StatusOr<LibrarySet> Make(
      Ecosystem ecosystem, std::vector<Library> libraries,
      std::shared_ptr<const LibraryLock> lock = nullptr);

  Ecosystem ecosystem() const { return ecosystem_; }
  const std::vector<Library>& libraries() const { return libraries_; }
  bool empty() const { return libraries_.empty(); }
  // Null: the tool chooses versions.
  const std::shared_ptr<const LibraryLock>& lock() const { return lock_; }

  // One library a line, in the order of their names, without a line's end at
  // the last: the same for the same set, in whatever order it was asked for.
  // It says nothing of the lock.
  std::string Canonical() const;
  // For the installer, in the same order.
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
