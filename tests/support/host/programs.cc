#include "tests/support/host/programs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kPrograms[] = SANDGLASS_SOURCE_DIR "/tests/conformance";
constexpr char kLanguages[] = SANDGLASS_SOURCE_DIR "/policy/data/languages";

std::string ReadWhole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

bool IsMainFile(const fs::path& path) {
  const std::string stem = path.stem().string();
  return stem == "main" || stem == "Main";
}

}  // namespace

ProgramFolder::ProgramFolder(const std::string& name, std::string language)
    : path_(absl::StrCat(kPrograms, "/", name)),
      language_(std::move(language)) {
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(path_, error)) {
    const fs::path& file = entry.path();
    if (file.extension() == ".expected" || file.extension() == ".txt" ||
        file.extension() == ".md") {
      continue;
    }
    cases_.push_back(file.stem().string());
  }
  std::sort(cases_.begin(), cases_.end());
}

bool ProgramFolder::Has(const std::string& name) const {
  return std::find(cases_.begin(), cases_.end(), name) != cases_.end();
}

v1::RunCodeRequest ProgramFolder::Request(const std::string& name) const {
  v1::RunCodeRequest request;
  request.set_language(language_);
  const fs::path folder = fs::path(path_) / name;
  if (!fs::is_directory(folder)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      const fs::path& file = entry.path();
      if (file.stem() != name || file.extension() == ".expected") continue;
      request.set_code(ReadWhole(file));
    }
    return request;
  }
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const fs::path relative = fs::relative(entry.path(), folder);
    if (relative == relative.filename() && IsMainFile(relative)) {
      request.set_code(ReadWhole(entry.path()));
      continue;
    }
    v1::InputFile& file = *request.add_files();
    file.set_path(relative.string());
    file.set_content(ReadWhole(entry.path()));
  }
  return request;
}

std::optional<std::string> ProgramFolder::Expected(
    const std::string& name) const {
  const fs::path path = absl::StrCat(path_, "/", name, ".expected");
  if (!fs::exists(path)) return std::nullopt;
  return ReadWhole(path);
}

std::optional<std::string> ProgramFolder::NotApplicable(
    const std::string& name) const {
  std::ifstream file(path_ + "/not_applicable.txt");
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, name + ": ")) {
      return line.substr(name.size() + 2);
    }
  }
  return std::nullopt;
}

std::string ConformanceData(const std::string& name) {
  return ReadWhole(fs::path(kPrograms) / "data" / name);
}

std::vector<std::string> ShippedLanguages() {
  std::vector<std::string> ids;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(kLanguages, error)) {
    if (entry.path().extension() == ".json") {
      ids.push_back(entry.path().stem().string());
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace sandglass::testing
