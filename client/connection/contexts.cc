#include "client/connection/contexts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/local_files.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"
#include "client/connection/address.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::client {
namespace {

// The names in the file and their places.
constexpr std::pair<const char*, std::string Endpoint::*> kFields[] = {
    {"address", &Endpoint::address},
    {"ca", &Endpoint::ca},
    {"cert", &Endpoint::cert},
    {"key", &Endpoint::key},
    {"token_file", &Endpoint::token_file}};

Endpoint ReadContext(policy::JsonObject object) {
  Endpoint endpoint;
  endpoint.address = object.String("address");
  for (const auto& [name, member] : kFields) {
    if (member == &Endpoint::address) continue;
    endpoint.*member = object.String(name, "");
  }
  if (endpoint.address.empty()) return endpoint;
  const absl::StatusOr<Address> address = ParseAddress(endpoint.address);
  if (!address.ok())
    object.AddError("address", std::string(address.status().message()));
  if (endpoint.cert.empty() != endpoint.key.empty()) {
    object.AddError("", "cert and key are only good together");
  }
  return endpoint;
}

absl::Status Advise(const absl::Status& status, const std::string& path) {
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "\ncorrect the file, or move it away: mv ",
                   VisibleText(path), " ", VisibleText(path), ".old"));
}

}  // namespace

std::string ContextsPath(const Variables& variables) {
  const std::string base = variables("XDG_CONFIG_HOME").value_or("");
  // The specification has relative ones ignored.
  if (!base.empty() && base.front() == '/') {
    return absl::StrCat(base, "/sandglass/config");
  }
  const std::string home = variables("HOME").value_or("");
  return home.empty() ? "" : absl::StrCat(home, "/.config/sandglass/config");
}

absl::Status CheckContextName(const std::string& name) {
  const auto good = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
           c == '_' || c == '.';
  };
  if (!name.empty() && name.size() <= 63 && std::ranges::all_of(name, good) &&
      absl::ascii_isalnum(static_cast<unsigned char>(name.front()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", VisibleText(name),
      "' is no name of a context: write at most 63 letters, digits, '-', '_' "
      "and '.', of which the first is a letter or a digit"));
}

absl::StatusOr<Contexts> ReadContexts(const std::string& path) {
  Contexts contexts;
  if (path.empty()) return contexts;
  absl::StatusOr<policy::JsonDocument> document =
      policy::JsonDocument::ReadFile(path);
  if (absl::IsNotFound(document.status())) return contexts;
  if (!document.ok()) return Advise(document.status(), path);
  policy::JsonObject root = document->root();
  contexts.current = root.String("current", "");
  if (std::optional<policy::JsonObject> all = root.OptionalObject("contexts")) {
    for (const std::string& name : all->Keys()) {
      if (const absl::Status named = CheckContextName(name); !named.ok()) {
        all->AddError(name, std::string(named.message()));
      }
      contexts.by_name[name] = ReadContext(all->Object(name));
    }
  }
  if (!contexts.current.empty() &&
      contexts.by_name.count(contexts.current) == 0) {
    root.AddError("current", "there is no context of this name");
  }
  if (const absl::Status read = document->Finish(); !read.ok()) {
    return Advise(read, path);
  }
  return contexts;
}

absl::Status WriteContexts(const std::string& path, const Contexts& contexts) {
  if (path.empty()) {
    return absl::FailedPreconditionError(
        "there is no place for the contexts: set HOME or XDG_CONFIG_HOME");
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const auto& [name, endpoint] : contexts.by_name) {
    nlohmann::ordered_json& context = all[name];
    for (const auto& [field, member] : kFields) {
      if (!(endpoint.*member).empty()) context[field] = endpoint.*member;
    }
  }
  nlohmann::ordered_json root;
  if (!contexts.current.empty()) root["current"] = contexts.current;
  root["contexts"] = std::move(all);
  const std::filesystem::path file(path);
  const std::filesystem::path directory = file.parent_path();
  std::error_code error;
  std::filesystem::create_directories(directory.parent_path(), error);
  // If it fails, the next step says so.
  mkdir(directory.c_str(), 0700);
  const UniqueFd opened(
      open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot write into ", directory.string()));
  }
  absl::StatusOr<NewFile> out = NewFile::Create(
      opened.get(), file.filename().string(), ExistingFile::kReplace);
  if (!out.ok()) return out.status();
  absl::Status written = out->Write(absl::StrCat(
      root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace),
      "\n"));
  if (written.ok()) written = out->Sync();
  return written.ok() ? out->Place(0600) : written;
}

}  // namespace sandglass::client
