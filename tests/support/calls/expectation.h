#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_EXPECTATION_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_EXPECTATION_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/posture/posture_facts.h"

namespace sandglass::testing {

// A folder of files that say what processes are to be like, a section each:
//
//   [child : program]       as "program" of this file, or as "exec/program"
//   fd 0 = device /dev/null, r
//   @rootless uid_map = …   only where the daemon was started without root
//   env HOME = absent       not like the one above
//
// A line with a condition stands over one without.
class Expectations {
 public:
  // Conditions that hold here: "rootless", "without-pool".
  Expectations(std::string folder, std::set<std::string> conditions);

  // What differs, a line each: "- " is expected, "+ " is so. Lines that
  // `known` denies are expected only if they are there.
  std::vector<std::string> Compare(
      const std::string& file, const std::string& role, const Facts& facts,
      const std::function<bool(const std::string&)>& known);

  // Makes the section as `facts` say, with `base` if it is new. A difference
  // under a condition becomes a line with that condition.
  void Update(const std::string& file, const std::string& role,
              const std::string& base, const Facts& facts,
              const std::function<bool(const std::string&)>& known);
  // Writes what was updated.
  bool Save() const;

 private:
  struct Section {
    std::string base;
    // By condition ("" is none) and key.
    std::map<std::string, std::map<std::string, std::string>> lines;
  };
  struct File {
    std::string head;  // comment lines
    std::vector<std::string> order;
    std::map<std::string, Section> sections;
    bool changed = false;
  };
  File& Load(const std::string& file);
  // `own_condition`: leave that condition's lines of this section out.
  std::map<std::string, std::string> Resolve(const std::string& file,
                                             const std::string& role,
                                             bool base_only,
                                             const std::string& left_out);

  const std::string folder_;
  const std::set<std::string> conditions_;
  std::map<std::string, File> files_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_EXPECTATION_H_
