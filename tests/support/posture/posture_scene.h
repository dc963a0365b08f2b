#ifndef SANDGLASS_TESTS_SUPPORT_POSTURE_POSTURE_SCENE_H_
#define SANDGLASS_TESTS_SUPPORT_POSTURE_POSTURE_SCENE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Every process of a daemon at one moment, as the host's /proc shows it, and
// who each of them is. Values are named by what they mean to the process that
// has them: an id is "init", a namespace "jail", another process "daemon".
namespace sandglass::testing {

struct OpenFile {
  int number = -1;
  std::string target;  // what the link says
  std::map<std::string, std::string> info;
  int flags = 0;  // of open(2)
  uint64_t device = 0;
  uint64_t inode = 0;
  mode_t mode = 0;
};

// A process of the daemon's.
struct Member {
  pid_t pid = 0;
  pid_t parent = 0;
  std::map<std::string, std::string> status;
  std::map<std::string, std::string> namespaces;  // "user": "user:[12]"
  std::vector<OpenFile> files;
  std::string command;
  std::string role;  // "init", "program", …; "" where it can't be told yet
  std::string yard;  // its directory of control groups; "" in none
  std::string jail;  // its pid namespace; "" in none
};

// One end of a unix socket.
struct UnixSocket {
  uint64_t peer = 0;
  std::string type;  // "stream", "stream listening", "seqpacket"…
};

class Scene {
 public:
  // The tree below `top`. The jail of the run in question is the one whose
  // command lines have `marker`, or that of process `inside`.
  Scene(pid_t top, const std::string& marker, pid_t inside);

  const std::vector<Member>& members() const { return members_; }
  const Member* Find(pid_t pid) const;
  // Those of a role in a yard ("" is all), of the jail in question where the
  // role is one of that.
  std::vector<const Member*> WithRole(const std::string& role,
                                      const std::string& yard) const;

  // What `viewer` calls another, a host's uid or gid, a namespace.
  std::string Relation(const Member& viewer, pid_t other) const;
  std::string IdName(const Member& viewer, uint64_t id) const;
  std::string NamespaceName(const Member& viewer, const std::string& type,
                            const std::string& link) const;
  // Who else has the other end of a pipe, or the peer of a socket; "nobody".
  std::string OtherEnd(const Member& viewer, const OpenFile& file) const;
  // Handed down by this test, which got it from whoever started it.
  bool IsOfTest(const OpenFile& file) const;
  // "" or whom it is shared with, for what has an identity of its own.
  std::string SharedWith(const Member& viewer, const OpenFile& file) const;
  const std::map<uint64_t, UnixSocket>& sockets() const { return sockets_; }

  const Member* Spawner(const Member& viewer) const;
  const Member* Init(const Member& viewer) const;
  const Member& daemon() const { return *daemon_; }
  // A path of a control group, as /proc/<pid>/cgroup or a link has it, below
  // the daemon's own; jails without their numbers.
  std::string GroupName(const Member& viewer, const std::string& path) const;
  // The name that the daemon gave all of its groups.
  const std::string& instance() const { return instance_; }
  // In a user namespace that isn't the host's from the start.
  bool rootless() const;

 private:
  bool IsSpawner(const Member& member) const;
  void NameRoles(const std::string& marker, pid_t inside);
  void NameJail(const std::string& jail, bool in_question);

  std::vector<Member> members_;
  Member host_;  // this test
  const Member* daemon_ = nullptr;
  std::string instance_;
  std::map<uint64_t, UnixSocket> sockets_;
};

// "0 1000 1" as numbers; empty where the line is none.
std::vector<uint64_t> MapNumbers(const std::string& line);

// The sockets of the network namespace that a process is in.
std::map<uint64_t, UnixSocket> UnixSocketsOf(pid_t pid);

// The links of /proc/<pid>/ns.
std::map<std::string, std::string> NamespacesOf(pid_t pid);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_POSTURE_POSTURE_SCENE_H_
