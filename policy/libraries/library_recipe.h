#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_RECIPE_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_RECIPE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// A place where a tool's own configuration may say where libraries come from.
struct RegistryPlace {
  std::string variable;  // of the daemon's environment; or
  // An absolute path, or one that begins with "~/", of root's home.
  std::string file;
  std::string entry;  // of the file, a zip archive such as a jar; may be empty
  // Of a file that is XML: each such element stands for a line, with what is
  // in it and without comments. May be empty.
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
// its programs need to find them.
struct LibraryRecipe {
  // A shell's program, run in a jail with the set's arguments ("$@") and
  // REGISTRY in its environment; it leaves what it installs in
  // /workspace/layer. Its standard output is progress, a line each.
  std::string script;
  // Executables that it needs; where the image lacks one there are no libraries
  // for the language.
  std::vector<std::string> needs;
  std::string package;  // Debian package of these
  std::vector<std::pair<std::string, std::string>> env;  // of the install
  // Of programs and of their compilers, with the layer in place.
  std::vector<std::pair<std::string, std::string>> run_env;
  std::vector<std::pair<std::string, std::string>> compile_env;
  // Programs with libraries take none of the interpreters that were started
  // before them, or only the zygote's first kind.
  bool fresh = false;
  // Where the registry's address is found unless the daemon's configuration
  // has it: the first place that says one wins. What the tool says of itself
  // comes last.
  std::vector<RegistryPlace> registry;
  // Hosts beside the registry's own, all places count.
  std::vector<RegistryPlace> hosts;
};

// The key "libraries" of a language's file, without the script, whose path is
// `script`. What is wrong becomes an error of `root`.
std::optional<LibraryRecipe> ReadLibraryRecipe(JsonObject& root,
                                               std::string& script);

// What the first line of a place's text that has it says, by the place's
// expressions: never empty, and without what the place appends. Lines of more
// than 4096 bytes don't count. Of a place that ReadLibraryRecipe passed.
std::optional<std::string> FindInPlace(const RegistryPlace& place,
                                       absl::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_RECIPE_H_
