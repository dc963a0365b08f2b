#include "server/images/package_list.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sandglass::server {
namespace {

// Our own package; nothing that is prepared depends on it.
constexpr absl::string_view kOwnPackage = "sandglass";

struct Package {
  absl::string_view name, version, architecture, status;
};

// "install ok unpacked": the last word is the state.
bool HasFiles(absl::string_view status) {
  return !absl::EndsWith(status, " not-installed") &&
         !absl::EndsWith(status, " config-files");
}

}  // namespace

std::string PackageList(absl::string_view database) {
  std::string list;
  Package package;
  const auto finish = [&] {
    if (!package.name.empty() && package.name != kOwnPackage &&
        HasFiles(package.status)) {
      absl::StrAppend(&list, package.name, " ", package.version, " ",
                      package.architecture, "\n");
    }
    package = {};
  };
  for (absl::string_view line : absl::StrSplit(database, '\n')) {
    if (line.empty()) {
      finish();
    } else if (absl::ConsumePrefix(&line, "Package: ")) {
      package.name = line;
    } else if (absl::ConsumePrefix(&line, "Version: ")) {
      package.version = line;
    } else if (absl::ConsumePrefix(&line, "Architecture: ")) {
      package.architecture = line;
    } else if (absl::ConsumePrefix(&line, "Status: ")) {
      package.status = line;
    }
  }
  finish();
  return list;
}

}  // namespace sandglass::server
