// A language's file. What is accepted can be worked with: its commands expand,
// its paths stay below /workspace.
#include <filesystem>
#include <string>

#include "policy/language/language.h"
#include "policy/language/language_check.h"
#include "policy/language/placeholders.h"
#include "policy/language/zygote_kind.h"
#include "policy/text/paths.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

// The shipped files that a language's file may name, and one more.
const fuzz::Directory& Languages() {
  static const fuzz::Directory* const directory = [] {
    auto* made = new fuzz::Directory();
    for (const auto& entry : std::filesystem::directory_iterator(
             SANDGLASS_SOURCE_DIR "/policy/data/languages")) {
      if (!entry.is_directory()) continue;
      std::filesystem::create_directory_symlink(
          entry.path(), made->Path(entry.path().filename().string()));
    }
    std::atexit([] { std::filesystem::remove_all(Languages().path()); });
    return made;
  }();
  return *directory;
}

void CheckCommand(const Command& command) {
  FUZZ_CHECK(!command.empty() && !command[0].empty() && command[0][0] == '/');
  PlaceholderValues values;
  values.source = "main";
  values.sources = {"main", "other"};
  values.prepared = "/prepared";
  values.heap_percent = 60;
  for (const std::string& word : ExpandCommand(command, values)) {
    // None is left, since all that are known were replaced.
    FUZZ_CHECK(word.find("${source}") == std::string::npos);
    FUZZ_CHECK(word.find("${sources}") == std::string::npos);
  }
}

void Run(std::string_view text) {
  Languages().Write("fuzz.json", text);
  const absl::StatusOr<LanguageTable> table =
      LanguageTable::Load(Languages().path());
  if (!table.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(table.status()));
    return;
  }
  FUZZ_CHECK(table->languages().size() == 1);
  const Language& language = table->languages()[0];
  FUZZ_CHECK(language.id == "fuzz" && table->Find("FUZZ") == &language);
  FUZZ_CHECK(CheckLanguage(language).empty());
  FUZZ_CHECK(ValidateRelativePath(language.source_file).ok());
  CheckCommand(language.run);
  CheckCommand(language.version);
  if (language.compile) {
    CheckCommand(language.compile->command);
    CheckCommand(language.compile->starter);
    for (const std::string& artifact : language.compile->artifacts) {
      FUZZ_CHECK(ValidateGlob(artifact).ok());
    }
  }
  (void)ChooseZygoteKind(language, "import os\nfrom numpy import x\n");
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
