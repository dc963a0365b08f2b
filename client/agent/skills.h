#ifndef SANDGLASS_CLIENT_AGENT_SKILLS_H_
#define SANDGLASS_CLIENT_AGENT_SKILLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/agent/local_tree.h"

namespace sandglass::client {

// Where a skill's folder is in the sandbox, below which it has its own name.
inline constexpr char kSkillsInSandbox[] = "/workspace/skills";

// A folder with a SKILL.md, whose head says in YAML what it is called and for
// what it is.
struct Skill {
  std::string name;         // [a-z0-9-]{1,64}
  std::string description;  // one line, at most 1024 bytes
  std::string folder;       // here
  std::string text;         // the SKILL.md without its head
};

// Skills that are loaded one by one: a model knows names and descriptions, and
// asks for the rest.
class Skills {
 public:
  // Every folder in `directory` that has a SKILL.md. INVALID_ARGUMENT names
  // the file that has no head, no name or no description, or a name twice.
  static absl::StatusOr<Skills> Load(const std::string& directory);

  const std::vector<Skill>& all() const { return skills_; }
  // nullptr: there is none of that name.
  const Skill* Find(const std::string& name) const;
  // For the system prompt: each with its description.
  std::string Listing() const;
  // Its folder's files, as they are to be in the sandbox.
  static absl::StatusOr<std::vector<LocalFile>> FilesOf(const Skill& skill);

 private:
  std::vector<Skill> skills_;
};

// SKILL.md's text as a skill without its folder.
absl::StatusOr<Skill> ParseSkill(const std::string& text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_SKILLS_H_
