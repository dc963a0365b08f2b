#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_RECIPE_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_RECIPE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// A place where a tool's own configuration may say from where libraries are
// fetched.
struct RegistryPlace {
  std::string variable;  // of the daemon's environment, or
  // a file: an absolute path, or one that begins with "~/", for root's home.
  std::string file;
  std::string entry;  // in the file, if it is a zip or jar; may be empty
  // For an XML file: each element of this name is treated as a line, with its
  // content but without comments. May be empty.
  std::string element;
  // A regular expression (RE2's) for a line of the file, whose first group is
  // what is wanted. May be empty for a variable: then it is all of it.
  std::string pattern;
  // Only lines count in which the first of these expressions is found and the
  // second is not; empty ones are none.
  std::string with;
  std::string without;
  std::string append;  // to what was found
};

// How the libraries that requests name are installed for a language, and what
// its programs need in order to find them.
struct LibraryRecipe {
  // A shell script that is run in a jail with the set's arguments ("$@") and
  // with REGISTRY in its environment. It leaves what it installs in
  // /workspace/layer. Each line of its standard output reports progress.
  std::string script;
  // The executables that it needs; in an image that lacks one, libraries can't
  // be used with the language.
  std::vector<std::string> needs;
  std::string package;  // the Debian package with these
  std::vector<std::pair<std::string, std::string>> env;  // for the installation
  // For programs and for their compilers, when the layer is in place.
  std::vector<std::pair<std::string, std::string>> run_env;
  std::vector<std::pair<std::string, std::string>> compile_env;
  // Programs with libraries don't use interpreters that were started before
  // them, or only those of the zygote's first kind.
  bool fresh = false;
  // Where to find the registry's address unless the daemon's configuration has
  // it: the first place that has one is used. The last place is the tool's own
  // default.
  std::vector<RegistryPlace> registry;
  // Hosts besides the registry's own, from all of these places.
  std::vector<RegistryPlace> hosts;
};

// Reads the key "libraries" of a language's file, without the script, whose
// path is put into `script`. Errors are added to `root`.
std::optional<LibraryRecipe> ReadLibraryRecipe(JsonObject& root,
                                               std::string& script);

// What the first line of a place's text that has it says, by the place's
// expressions: never empty, and without what the place appends. Lines of more
// than 4096 bytes don't count. Of a place that ReadLibraryRecipe passed.
std::optional<std::string> FindInPlace(const RegistryPlace& place,
                                       absl::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_RECIPE_H_
