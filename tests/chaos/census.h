#ifndef SANDGLASS_TESTS_CHAOS_CENSUS_H_
#define SANDGLASS_TESTS_CHAOS_CENSUS_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/daemon/daemon.h"

// What a daemon has on the host, counted.
namespace sandglass::testing {

// How many there are by kind: "process python3", "cgroup", "mount",
// "descriptor of sandglassd", "file" and so on.
using Census = std::map<std::string, int>;

// Where to look.
struct CensusPlaces {
  // Whose entries are counted, with all below them.
  std::vector<std::string> directories;
  // Where only temporary files are.
  std::vector<std::string> written;
  // Mounts and sockets whose line has this text are counted.
  std::string named;
};

// The directories of the daemon's own part of each control group hierarchy.
std::vector<std::string> GroupRoots(const Daemon& daemon);

// Of all processes in the daemon's tree or its control groups, whoever their
// parent is.
Census Count(const Daemon& daemon, const CensusPlaces& places);

// A sentence for each kind of which `now` has more than `before`.
std::vector<std::string> More(const Census& now, const Census& before);

// The same of kinds of processes of which it has none. How many of one kind
// wait depends on what was asked for since the start.
std::vector<std::string> MissingProcesses(const Census& now,
                                          const Census& before);

// Calls it with all that is below the directory, whatever comes and goes there.
void ForEachBelow(
    const std::string& directory,
    const std::function<void(const std::filesystem::directory_entry&)>&
        function);

// Bytes of memory that the daemon's processes with this name (/proc/PID/comm)
// have, each for itself.
uint64_t RssOf(const Daemon& daemon, const std::string& name);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_CHAOS_CENSUS_H_
