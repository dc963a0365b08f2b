#ifndef SANDGLASS_CLIENT_AGENT_SKILLS_H_
#define SANDGLASS_CLIENT_AGENT_SKILLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/agent/local_tree.h"

namespace sandglass::client {

// The directory for skills in the sandbox; each has a folder with its own name
// there.
inline constexpr char kSkillsInSandbox[] = "/workspace/skills";

// A folder with a SKILL.md, whose header gives in YAML its name and its
// purpose.
struct Skill {
  std::string name;         // [a-z0-9-]{1,64}
  std::string description;  // one line, at most 1024 bytes
  std::string folder;       // the local one
  std::string text;         // the SKILL.md without its header
};

// Skills that are loaded one by one: a model is told names and descriptions,
// and asks for the rest.
class Skills {
 public:
  // Loads every folder in `directory` that has a SKILL.md. INVALID_ARGUMENT
  // names a file without a header, a name or a description, or a name that
  // occurs twice.
  static absl::StatusOr<Skills> Load(const std::string& directory);

  const std::vector<Skill>& all() const { return skills_; }
  // nullptr: there is no skill of that name.
  const Skill* Find(const std::string& name) const;
  // The skills with their descriptions, for the system prompt.
  std::string Listing() const;
  // The files of its folder, with their paths in the sandbox.
  static absl::StatusOr<std::vector<LocalFile>> FilesOf(const Skill& skill);

 private:
  std::vector<Skill> skills_;
};

// Parses a SKILL.md to a skill without its folder.
absl::StatusOr<Skill> ParseSkill(const std::string& text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_SKILLS_H_
