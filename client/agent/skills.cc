#include "client/agent/skills.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/file_io.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxText = 1 << 20;
constexpr size_t kMaxName = 64;
constexpr size_t kMaxDescription = 1024;
constexpr char kFile[] = "SKILL.md";

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
         });
}

std::string Unquoted(absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  if (value.size() >= 2 && value.front() == value.back() &&
      (value.front() == '"' || value.front() == '\'')) {
    value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

// Reads the header's keys, which are at the left margin. A value may continue
// in indented lines, also after ">" or "|". Skills don't use more of YAML.
std::map<std::string, std::string> ReadHead(absl::string_view head) {
  std::map<std::string, std::string> values;
  std::string* last = nullptr;
  for (const absl::string_view line : absl::StrSplit(head, '\n')) {
    const bool indented = absl::StartsWith(line, " ");
    const size_t colon = line.find(':');
    if (indented && last != nullptr) {
      const absl::string_view more = absl::StripAsciiWhitespace(line);
      if (*last == ">" || *last == "|" || *last == ">-" || *last == "|-") {
        *last = "";
      }
      absl::StrAppend(last, last->empty() ? "" : " ", more);
    } else if (!indented && colon != absl::string_view::npos) {
      last = &values[std::string(line.substr(0, colon))];
      *last = Unquoted(line.substr(colon + 1));
    }
  }
  return values;
}

}  // namespace

absl::StatusOr<Skill> ParseSkill(const std::string& text) {
  std::string plain = text;
  plain.erase(std::remove(plain.begin(), plain.end(), '\r'), plain.end());
  const absl::string_view whole = plain;
  const size_t end = whole.find("\n---\n", 3);
  if (!absl::StartsWith(whole, "---\n") || end == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        "has no head: it is to begin with a line ---, then name: and "
        "description:, then a line ---");
  }
  std::map<std::string, std::string> head =
      ReadHead(whole.substr(4, end + 1 - 4));
  Skill skill;
  skill.name = head["name"];
  skill.description = head["description"];
  skill.text = std::string(whole.substr(end + 5));
  if (!IsName(skill.name)) {
    return absl::InvalidArgumentError(
        "has no name of lower case letters, digits and hyphens, at most 64");
  }
  if (skill.description.empty() || skill.description.size() > kMaxDescription) {
    return absl::InvalidArgumentError("has no description of 1 to 1024 bytes");
  }
  return skill;
}

absl::StatusOr<Skills> Skills::Load(const std::string& directory) {
  Skills skills;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory, error)) {
    const std::string path = (entry.path() / kFile).string();
    std::error_code missing;
    if (!fs::exists(path, missing)) continue;
    const absl::StatusOr<FileContent> file = ReadInput(path, kMaxText);
    if (!file.ok()) return file.status();
    absl::StatusOr<Skill> skill = ParseSkill(file->bytes);
    if (!skill.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " ", skill.status().message()));
    }
    if (skills.Find(skill->name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": there is another skill ", skill->name));
    }
    skill->folder = entry.path().string();
    skills.skills_.push_back(*std::move(skill));
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("can't read ", directory, ": ", error.message()));
  }
  if (skills.skills_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " has no folder with a ", kFile));
  }
  std::sort(skills.skills_.begin(), skills.skills_.end(),
            [](const Skill& a, const Skill& b) { return a.name < b.name; });
  return skills;
}

const Skill* Skills::Find(const std::string& name) const {
  const auto found =
      std::find_if(skills_.begin(), skills_.end(),
                   [&](const Skill& skill) { return skill.name == name; });
  return found == skills_.end() ? nullptr : &*found;
}

std::string Skills::Listing() const {
  std::string text;
  for (const Skill& skill : skills_) {
    absl::StrAppend(&text, "- ", skill.name, ": ", skill.description, "\n");
  }
  return text;
}

absl::StatusOr<std::vector<LocalFile>> Skills::FilesOf(const Skill& skill) {
  absl::StatusOr<std::vector<LocalFile>> files =
      ReadLocalTree(skill.folder, kSkillsInSandbox);
  if (!files.ok()) return files;
  // The folder may have another name.
  for (LocalFile& file : *files) {
    const size_t below = sizeof(kSkillsInSandbox);
    const size_t slash = file.path.find('/', below);
    file.path = absl::StrCat(kSkillsInSandbox, "/", skill.name,
                             file.path.substr(slash));
  }
  return files;
}

}  // namespace sandglass::client
