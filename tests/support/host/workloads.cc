#include "tests/support/host/workloads.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sandglass::testing {
namespace {

using Json = nlohmann::json;

// Packages outside the standard library that programs of the set import.
constexpr const char* kKnownModules[] = {"numpy", "pandas",  "matplotlib",
                                         "sympy", "lxml",    "scipy",
                                         "bs4",   "requests"};

// The set names what a program needs only in places, so its imports decide.
std::vector<std::string> ImportedModules(const Json& entry,
                                         const std::string& code) {
  std::set<std::string> modules;
  if (entry.contains("needs") && entry["needs"].is_array()) {
    for (const Json& need : entry["needs"]) {
      if (need.is_string()) modules.insert(need.get<std::string>());
    }
  }
  for (const char* module : kKnownModules) {
    const std::regex import(
        absl::StrCat("(^|\\n)\\s*(import|from)\\s+", module, "\\b"));
    if (std::regex_search(code, import)) modules.insert(module);
  }
  // pandas takes lxml for read_xml by name only.
  if (code.find("read_xml") != std::string::npos) modules.insert("lxml");
  return {modules.begin(), modules.end()};
}

std::optional<std::string> OptionalText(const Json& entry, const char* key) {
  if (!entry.contains(key) || !entry[key].is_string()) return std::nullopt;
  return entry[key].get<std::string>();
}

std::optional<Workload> Parse(const Json& entry) {
  if (!entry.is_object() || !OptionalText(entry, "id") ||
      !OptionalText(entry, "lang") || !OptionalText(entry, "code")) {
    return std::nullopt;
  }
  Workload workload;
  workload.id = *OptionalText(entry, "id");
  workload.request.set_language(*OptionalText(entry, "lang"));
  workload.request.set_code(*OptionalText(entry, "code"));
  if (entry.contains("args")) {
    for (const Json& argument : entry["args"]) {
      if (!argument.is_string()) return std::nullopt;
      workload.request.add_args(argument.get<std::string>());
    }
  }
  if (entry.contains("files")) {
    for (const Json& file : entry["files"]) {
      const auto path = OptionalText(file, "path");
      const auto content = OptionalText(file, "content_b64");
      std::string bytes;
      if (!path || !content || !absl::Base64Unescape(*content, &bytes)) {
        return std::nullopt;
      }
      auto* input = workload.request.add_files();
      input->set_path(*path);
      input->set_content(bytes);
    }
  }
  if (workload.request.language() == "python") {
    workload.modules = ImportedModules(entry, workload.request.code());
  }
  if (entry.contains("expected_exit") &&
      entry["expected_exit"].is_number_integer()) {
    workload.expected_exit = entry["expected_exit"].get<int>();
  }
  workload.expected_stdout = OptionalText(entry, "expected_stdout");
  workload.expected_stdout_tail = OptionalText(entry, "expected_stdout_tail");
  return workload;
}

}  // namespace

std::string WorkloadFolder() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* named = std::getenv("SANDGLASS_WORKLOADS");
  const std::string folder =
      named != nullptr && *named != '\0'
          ? std::string(named)
          : absl::StrCat(SANDGLASS_SOURCE_DIR, "/../shared/workloads");
  std::error_code error;
  return std::filesystem::is_directory(folder, error) ? folder : "";
}

bool MustRun() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* value = std::getenv("SANDGLASS_MUST_RUN");
  return value != nullptr && std::string(value) == "1";
}

absl::StatusOr<std::vector<Workload>> ReadWorkloads(const std::string& folder,
                                                    const std::string& name) {
  const std::string path = absl::StrCat(folder, "/", name, ".jsonl");
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("can't open ", path));
  std::vector<Workload> workloads;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const Json entry = Json::parse(line, nullptr, false);
    std::optional<Workload> workload = Parse(entry);
    if (!workload) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": not a program of the set"));
    }
    workloads.push_back(*std::move(workload));
  }
  return workloads;
}

std::vector<std::string> MissingModules(
    const std::vector<std::string>& modules) {
  static std::map<std::string, bool> found;
  std::vector<std::string> missing;
  for (const std::string& module : modules) {
    if (!found.contains(module)) {
      const std::string command = absl::StrCat(
          "/usr/bin/python3 -I -c 'import ", module, "' >/dev/null 2>&1");
      // NOLINTNEXTLINE(concurrency-mt-unsafe)
      found[module] = std::system(command.c_str()) == 0;
    }
    if (!found[module]) missing.push_back(module);
  }
  return missing;
}

}  // namespace sandglass::testing
