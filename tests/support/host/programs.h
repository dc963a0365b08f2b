#ifndef SANDGLASS_TESTS_SUPPORT_HOST_PROGRAMS_H_
#define SANDGLASS_TESTS_SUPPORT_HOST_PROGRAMS_H_

#include <optional>
#include <string>
#include <vector>

#include "sandglass/v1/run.pb.h"

namespace sandglass::testing {

// A directory of tests/conformance: the programs of one language. README.md
// there describes them.
class ProgramFolder {
 public:
  // `name` is the directory below tests/conformance; `language` an id.
  ProgramFolder(const std::string& name, std::string language);

  bool exists() const { return !cases_.empty(); }
  // Names of all programs, without extensions.
  const std::vector<std::string>& cases() const { return cases_; }
  bool Has(const std::string& name) const;

  // A program as a request. One that is a directory brings its other files.
  v1::RunCodeRequest Request(const std::string& name) const;
  // What it is to print, where a file says so.
  std::optional<std::string> Expected(const std::string& name) const;
  // Why the language can't have a case; nothing when it is not listed.
  std::optional<std::string> NotApplicable(const std::string& name) const;

 private:
  std::string path_;
  std::string language_;
  std::vector<std::string> cases_;
};

// A file of tests/conformance/data.
std::string ConformanceData(const std::string& name);

// Ids of the shipped languages.
std::vector<std::string> ShippedLanguages();

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_HOST_PROGRAMS_H_
