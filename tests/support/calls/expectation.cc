#include "tests/support/calls/expectation.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sandglass::testing {
namespace {

constexpr char kAbsent[] = "absent";

bool Means(const std::string& expected, const Fact& fact) {
  return std::find(fact.begin(), fact.end(), expected) != fact.end();
}

}  // namespace

Expectations::Expectations(std::string folder, std::set<std::string> conditions)
    : folder_(std::move(folder)), conditions_(std::move(conditions)) {}

Expectations::File& Expectations::Load(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second;
  File& file = files_[name];
  std::ifstream stream(absl::StrCat(folder_, "/", name, ".txt"));
  Section* section = nullptr;
  for (std::string line; std::getline(stream, line);) {
    if (absl::StartsWith(line, "#")) {
      absl::StrAppend(&file.head, line, "\n");
    } else if (absl::StartsWith(line, "[")) {
      const std::pair<std::string, std::string> names = absl::StrSplit(
          line.substr(1, line.find(']') - 1), absl::MaxSplits(" : ", 1));
      file.order.push_back(names.first);
      section = &file.sections[names.first];
      section->base = names.second;
    } else if (section != nullptr && !line.empty()) {
      std::pair<std::string, std::string> parts =
          absl::StrSplit(line, absl::MaxSplits(" =", 1));
      absl::StripAsciiWhitespace(&parts.second);
      std::string condition;
      if (absl::StartsWith(parts.first, "@")) {
        const size_t blank = parts.first.find(' ');
        condition = parts.first.substr(1, blank - 1);
        parts.first.erase(0, blank + 1);
      }
      section->lines[condition][parts.first] = parts.second;
    }
  }
  return file;
}

std::map<std::string, std::string> Expectations::Resolve(
    const std::string& name, const std::string& role, bool base_only,
    const std::string& left_out) {
  std::map<std::string, std::string> lines;
  const File& file = Load(name);
  const auto found = file.sections.find(role);
  if (found == file.sections.end()) return lines;
  const Section& section = found->second;
  if (!section.base.empty()) {
    const size_t slash = section.base.find('/');
    lines = slash == std::string::npos
                ? Resolve(name, section.base, false, "")
                : Resolve(section.base.substr(0, slash),
                          section.base.substr(slash + 1), false, "");
  }
  if (base_only) return lines;
  for (const auto& [condition, values] : section.lines) {
    if (!condition.empty() &&
        (condition == left_out || !conditions_.contains(condition))) {
      continue;
    }
    for (const auto& [key, value] : values) lines[key] = value;
  }
  return lines;
}

std::vector<std::string> Expectations::Compare(
    const std::string& file, const std::string& role, const Facts& facts,
    const std::function<bool(const std::string&)>& known) {
  if (!Load(file).sections.contains(role)) {
    return {absl::StrCat("- no section [", role, "] in ", file, ".txt")};
  }
  std::vector<std::string> different;
  const std::map<std::string, std::string> expected =
      Resolve(file, role, false, "");
  for (const auto& [key, value] : expected) {
    const auto found = facts.find(key);
    if (found == facts.end()) {
      if (value == kAbsent || !known(key)) continue;
      different.push_back(absl::StrCat("- ", key, " = ", value));
    } else if (!Means(value, found->second)) {
      different.push_back(absl::StrCat("- ", key, " = ", value));
      different.push_back(
          absl::StrCat("+ ", key, " = ", found->second.front()));
    }
  }
  for (const auto& [key, fact] : facts) {
    if (expected.contains(key)) continue;
    different.push_back(absl::StrCat("+ ", key, " = ", fact.front()));
  }
  return different;
}

void Expectations::Update(
    const std::string& name, const std::string& role, const std::string& base,
    const Facts& facts, const std::function<bool(const std::string&)>& known) {
  File& file = Load(name);
  if (!file.sections.contains(role)) {
    file.order.push_back(role);
    file.sections[role].base = base;
  }
  file.changed = true;
  const std::string condition =
      conditions_.empty() ? std::string() : *conditions_.begin();
  const std::map<std::string, std::string> now = Resolve(name, role, false, "");
  // What holds without the lines that are to be made.
  const std::map<std::string, std::string> below =
      Resolve(name, role, condition.empty(), condition);
  std::map<std::string, std::string>& lines =
      file.sections[role].lines[condition];
  std::map<std::string, std::string> made;
  for (const auto& [key, fact] : facts) {
    const auto inherited = below.find(key);
    if (inherited != below.end() && Means(inherited->second, fact)) continue;
    // A spelling that was chosen stays.
    const auto old = now.find(key);
    made[key] = old != now.end() && Means(old->second, fact) ? old->second
                                                             : fact.front();
  }
  for (const auto& [key, value] : below) {
    if (!facts.contains(key) && value != kAbsent && known(key)) {
      made[key] = kAbsent;
    }
  }
  for (const auto& [key, value] : lines) {
    if (!facts.contains(key) && value != kAbsent && !known(key)) {
      made[key] = value;
    }
  }
  lines = std::move(made);
}

bool Expectations::Save() const {
  for (const auto& [name, file] : files_) {
    if (!file.changed) continue;
    std::ofstream stream(absl::StrCat(folder_, "/", name, ".txt"));
    stream << file.head;
    for (const std::string& role : file.order) {
      const Section& section = file.sections.at(role);
      stream << "\n[" << role;
      if (!section.base.empty()) stream << " : " << section.base;
      stream << "]\n";
      for (const auto& [condition, lines] : section.lines) {
        for (const auto& [key, value] : lines) {
          if (!condition.empty()) stream << "@" << condition << " ";
          stream << key << " =";
          if (!value.empty()) stream << " " << value;
          stream << "\n";
        }
      }
    }
    if (!stream.flush()) return false;
  }
  return true;
}

}  // namespace sandglass::testing
