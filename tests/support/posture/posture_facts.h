#ifndef SANDGLASS_TESTS_SUPPORT_POSTURE_POSTURE_FACTS_H_
#define SANDGLASS_TESTS_SUPPORT_POSTURE_POSTURE_FACTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/posture/posture_scene.h"

// What a process may do, as lines of text that are the same in every run.
namespace sandglass::testing {

// A value, in the ways it may be spelled: as it is, and by what it is equal to
// ("host": that of this test). The first is how a new expectation gets it.
using Fact = std::vector<std::string>;
using Facts = std::map<std::string, Fact>;

// Texts that differ from run to run, and what stands for them.
using Placeholders = std::vector<std::pair<std::string, std::string>>;

// All of a process. Its mounts, id maps and network are told of whom they are
// named after: the daemon, a spawner, a zygote, an init.
Facts FactsOf(const Scene& scene, const Member& member,
              const Placeholders& placeholders);

// What any thread of it but the first has otherwise than that.
Facts ThreadFactsOf(const Scene& scene, const Member& member);

// Whether this kernel, or this host, can have a fact at all.
bool HostKnows(const Scene& scene, const std::string& key);

// Parts of FactsOf.
void AddStatus(const Scene& scene, const Member& member,
               const std::map<std::string, std::string>& status, Facts& facts);
void AddFiles(const Scene& scene, const Member& member, Facts& facts);
void AddMounts(const Scene& scene, const Member& member, Facts& facts);
void AddUserNamespace(const Scene& scene, const Member& member, Facts& facts);
void AddGroups(const Scene& scene, const Member& member, Facts& facts);

// Of a device that the host has mounted as `file system`; "" when none is. For
// control groups that is their controllers, or "v2".
struct HostMount {
  std::string root;
  std::string point;
  std::string type;
  std::string controllers;
};
const HostMount* HostMountOf(const std::string& device,
                             const std::string& path);
// "8:1" of st_dev.
std::string DeviceName(uint64_t device);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_POSTURE_POSTURE_FACTS_H_
