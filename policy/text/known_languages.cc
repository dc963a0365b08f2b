#include "policy/text/known_languages.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

// The packages are those of Debian 12.
constexpr std::array<KnownLanguage, 39> kLanguages = {{
    {"ada", "Ada", "adb ads gnat", "gnat"},
    {"awk", "AWK", "gawk", "gawk"},
    {"c", "C", "gcc", "gcc"},
    {"clojure", "Clojure", "clj", "clojure"},
    {"cobol", "COBOL", "cob cbl", "gnucobol"},
    {"coffeescript", "CoffeeScript", "coffee", "coffeescript"},
    {"crystal", "Crystal", "cr", "crystal"},
    {"csharp", "C#", "cs c# dotnet", "mono-mcs"},
    {"d", "D", "dlang", "ldc"},
    {"dart", "Dart", "", ""},
    {"elixir", "Elixir", "ex exs", "elixir"},
    {"erlang", "Erlang", "erl escript", "erlang-base"},
    {"fish", "fish", "", "fish"},
    {"fortran", "Fortran", "f90 f95 gfortran", "gfortran"},
    {"fsharp", "F#", "fs fsx f#", ""},
    {"groovy", "Groovy", "", "groovy"},
    {"haskell", "Haskell", "hs ghc runghc", "ghc"},
    {"julia", "Julia", "jl", ""},
    {"kotlin", "Kotlin", "kt kts", "kotlin"},
    {"lisp", "Common Lisp", "lsp cl sbcl", "sbcl"},
    {"lua", "Lua", "", "lua5.4"},
    {"nim", "Nim", "", "nim"},
    {"ocaml", "OCaml", "ml", "ocaml"},
    {"octave", "Octave", "matlab", "octave"},
    {"pascal", "Pascal", "pas fpc", "fp-compiler"},
    {"php", "PHP", "php8", "php-cli"},
    {"powershell", "PowerShell", "ps1 pwsh", ""},
    {"prolog", "Prolog", "swipl", "swi-prolog-nox"},
    {"r", "R", "rscript", "r-base-core"},
    {"racket", "Racket", "rkt", "racket"},
    {"rust", "Rust", "rs rustc", "rustc"},
    {"scala", "Scala", "sc", "scala"},
    {"scheme", "Scheme", "scm guile", "guile-3.0"},
    {"sql", "SQL", "sqlite sqlite3", "sqlite3"},
    {"swift", "Swift", "", ""},
    {"tcl", "Tcl", "tclsh", "tcl"},
    {"typescript", "TypeScript", "ts tsx mts cts tsc deno", "node-typescript"},
    {"zig", "Zig", "", ""},
    {"zsh", "zsh", "", "zsh"},
}};

}  // namespace

const KnownLanguage* FindKnownLanguage(std::string_view word) {
  const std::string wanted = absl::AsciiStrToLower(AbslView(word));
  if (wanted.empty()) return nullptr;
  const auto* found =
      std::ranges::find_if(kLanguages, [&](const KnownLanguage& each) {
        const std::vector<std::string> words =
            absl::StrSplit(AbslView(each.words), ' ');
        return each.id == wanted ||
               std::ranges::find(words, wanted) != words.end();
      });
  return found == kLanguages.end() ? nullptr : found;
}

std::string HowToAdd(const KnownLanguage& language) {
  return absl::StrCat(
      "a file languages/", AbslView(language.id),
      ".json in the daemon's policy_dir adds it",
      language.package.empty()
          ? " (Debian 12 has no package of it)"
          : absl::StrCat(" (Debian package ", AbslView(language.package), ")"));
}

}  // namespace sandglass::policy
