#include "policy/text/docs_page.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "policy/text/views.h"

namespace sandglass::policy {

std::string DocsPage(std::string_view page, const std::string& program) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path itself = fs::canonical(program, error);
  const std::string_view file = page.substr(0, page.find('#'));
  // As deploy/cmake/install.cmake puts them: bin/ or sbin/ beside share/.
  const fs::path installed = itself.parent_path().parent_path() /
                             "share/doc/sandglass/docs" / std::string(file);
  if (!error && fs::is_regular_file(installed, error)) {
    return absl::StrCat(installed.string(), AbslView(page.substr(file.size())));
  }
  return absl::StrCat("docs/", AbslView(page));
}

}  // namespace sandglass::policy
