#ifndef SANDGLASS_SANDBOX_YARD_SANDBOX_H_
#define SANDGLASS_SANDBOX_YARD_SANDBOX_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "policy/language/image.h"
#include "policy/limits/limits.h"
#include "sandbox/host/host_probe.h"
#include "sandbox/jail/jail.h"
#include "sandbox/wire/jail_template.h"
#include "sandbox/wire/uid_slice.h"
#include "sandbox/wire/yard_stock.h"

namespace sandglass::sandbox {

class EgressPort;
class YardGroup;
class YardPort;
struct Yard;

// What a jail with a runner is made for: for stock, to wait for a later run; or
// for a run that has arrived or is about to, which a rehearsal of the runner
// would only delay.
enum class FillFor { kStock, kRun };

// The yard in which programs are started by execve(2).
inline constexpr char kExecKind[] = "exec";

// A kind of jail in which an interpreter waits with its imports done. A zygote,
// in a yard of its own, forks the runners for it.
struct ZygoteOptions {
  std::string kind;  // [a-z0-9-]{1,32}, for example "python-lean"
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string script;  // its content; see kZygoteScript in wire/jail_layout.h
  std::string library_path;  // its native half, a shared object
  uint32_t spare_jails = 0;  // kept ready, still without runners
  uint32_t renew_after = 0;  // runners, after which a new zygote replaces it
  // The zygote is first started this long after the yard, or earlier when one
  // of its jails is first asked for.
  absl::Duration start_delay;
  // Yards of this kind, each with a zygote, 1 or more. Those after the first
  // start theirs one after another, and make jails once they serve.
  uint32_t yards = 1;
  std::string image = std::string(policy::kHostImage);  // and of its jails
  // The id of a layer in layers_dir that the zygote sees as kLibraries,
  // read-only; its jails are to have the same layer. Empty: none.
  std::string layer;
};

struct SandboxOptions {
  std::string spawner_path;   // the sandglass-spawner executable
  std::string state_dir;      // used by this daemon only; root's, mode 0755
  std::string instance;       // names the cgroup subtree; [a-z0-9-]{1,32}
  std::string cgroup_parent;  // empty: chosen by the host's layout
  UidSlice uids;
  uint32_t max_jails = 256;  // live at once, spares included, 1–4096
  uint32_t spare_jails = 0;  // kept ready for runs to come, 0–max_jails
  // Jails of one yard that are raised at the same time, 1 or more.
  uint32_t parallel_raises = 2;
  uint32_t exec_yards = 1;  // yards of kExecKind, 1 or more
  // What was prepared for languages; jails can read it as kPreparedInJail.
  // Empty: nothing was.
  std::string prepared_dir;
  // A directory of the host with a directory `ID/tree` for each layer; see
  // CreateJail. Empty: there are no layers.
  std::string layers_dir;
  // Images that templates name, besides the host's.
  std::vector<policy::Image> images;
  std::vector<std::string> host_etc;  // see ImageSources
  // In PEM: an authority that programs trust in addition to those of their
  // image, if they are told so; see kTrustedInJail. Empty: there is none.
  std::string authority_certificate;
  std::vector<JailTemplate> templates;
  // Where templates that come after the start are found
  // (TemplateLedger::ReadingEnd). Borrowed; -1: none will come.
  int template_ledger = -1;
  std::vector<ZygoteOptions> zygotes;
  // Whether a program's end comes with the system calls that its filter
  // refused; calls then take longer. Runners can't be traced, so there must be
  // no zygotes then. See CheckCallTracing.
  bool trace_calls = false;
};

// How many yards these options make. Each needs UidsFor(max_jails) ids.
size_t YardCount(const SandboxOptions& options);

inline constexpr char kPreparedInJail[] = "/var/cache/sandglass";
// In PEM: the authority alone; and the authority together with everything that
// the image trusts.
inline constexpr char kAuthorityInJail[] = "/etc/sandglass/authority.pem";
inline constexpr char kTrustedInJail[] = "/etc/sandglass/trusted.pem";

// The yards and their spawners. Started by root before any thread exists; used
// afterwards by an unprivileged, threaded server. Thread-safe after Start.
class Sandbox {
 public:
  // A sandbox without yards, which makes no jails.
  Sandbox();

  // Preconditions: effective uid 0, single-threaded, no gRPC object exists.
  // Sweeps what an earlier daemon with this state directory left, makes the
  // cgroup subtree, starts the yards and waits until their spawners are ready.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Start(
      const SandboxOptions& options, const HostReport& host);

  // Kills and removes what a dead daemon left in its control groups. Needs
  // root. Start does this too; this function is for after the end, and for
  // callers that want to report other, live daemons that the list names
  // (FAILED_PRECONDITION, see SweepCgroups): Start passes over those.
  // `instance` is that of SandboxOptions; when it is "", every live daemon
  // counts as another.
  static absl::Status Sweep(const std::string& state_dir,
                            const std::string& instance = "");

  // Adds a yard that was started elsewhere, to others of its kind if there are
  // some. Call before StartReader. Start does so with each yard of its own.
  void Adopt(const std::string& kind, Yard yard, bool has_zygote,
             uint32_t max_jails, bool traces_calls = false);

  // Sets the proxy for jails whose templates have a network; without a proxy
  // they can't be made. Call before StartReader.
  void SetEgress(std::unique_ptr<EgressPort> egress);

  // The names of the yards whose spawners give no sign of life at present. One
  // that stays silent counts as gone.
  std::vector<std::string> SilentYards() const;

  // Starts the threads that read the spawners' events. Call once, after
  // DropPrivileges. `on_death` is called on such a thread when its spawner,
  // or the egress proxy, is gone, hangs or broke the protocol; not on orderly
  // destruction. Where a spawner has ended and others of its kind go on,
  // `on_loss` is called instead, with the name of its yard.
  using OnDeath = std::function<void(absl::Status)>;
  using OnLoss = std::function<void(const std::string&, absl::Status)>;
  absl::Status StartReader(const OnDeath& on_death,
                           const OnLoss& on_loss = nullptr);

  // Whether there is a yard that makes jails of this kind.
  bool Makes(const std::string& kind) const;

  // Makes a jail of this kind. kExecKind: a jail that was made ahead, else one
  // whose init is being started. A zygote's kind: a jail whose runner is being
  // started. Errors of the set-up arrive later as a jail event.
  // RESOURCE_EXHAUSTED: no slot is free; a run waits for one, up to the
  // timeout.
  // UNAVAILABLE: the spawner is gone; the egress proxy that the jail needs is
  // gone; no zygote can serve yet; or, briefly, a jail for stock has to wait
  // for one that is being started.
  // INTERNAL: a step failed. NOT_FOUND: there is no such kind.
  // `layer` is the id of a layer in layers_dir, 64 hexadecimal digits: the jail
  // sees its tree as kLibraries, read-only, until its end. Empty: no
  // layer.
  absl::StatusOr<std::unique_ptr<Jail>> CreateJail(
      const std::string& kind, const std::string& template_name,
      const policy::Limits& limits, absl::Duration timeout,
      FillFor fill_for = FillFor::kStock, const std::string& layer = "");

  // The number of jails that the spawner has not yet reported gone.
  uint32_t live_jails() const;
  // What each yard has, by name. All yards are asked at once. For a yard that
  // doesn't answer in time, its last answer is used, or nothing if that is
  // older than YardPort::kStockHolds. Calls that come while a yard is being
  // asked share its answer.
  std::vector<YardStock> CollectStock(absl::Duration timeout);
  // Waits until all jails are gone.
  bool WaitUntilEmpty(absl::Duration timeout) const;

  // Closes the channels: each yard ends with everything in it.
  ~Sandbox();

 private:
  // All yards with their names; the yards are the sandbox's.
  std::vector<std::pair<std::string, YardPort*>> NamedPorts() const;

  // Outlives the ports and all jails.
  std::unique_ptr<EgressPort> egress_;
  std::map<std::string, std::unique_ptr<YardGroup>> groups_;  // by kind
};

// Gives up every right for good: no supplementary groups, the given uid and
// gid, no capabilities, an empty bounding set, no_new_privs, non-dumpable.
// Verifies the result.
absl::Status DropPrivileges(uid_t uid, gid_t gid);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_SANDBOX_H_
