#ifndef SANDGLASS_SANDBOX_YARD_SANDBOX_H_
#define SANDGLASS_SANDBOX_YARD_SANDBOX_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
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
class YardPort;
struct Yard;

// What a jail with a runner is made for: to wait for a run; or for one that is
// there or about to come and would only be delayed by a rehearsal.
enum class FillFor { kStock, kRun };

// The yard in which programs are started by execve(2).
inline constexpr char kExecKind[] = "exec";

// A kind of jail in which an interpreter waits with its imports done: a zygote
// that forks runners, in a yard of its own.
struct ZygoteOptions {
  std::string kind;  // [a-z0-9-]{1,32}, for example "python-lean"
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string script;  // its content; see kZygoteScript in wire/jail_layout.h
  std::string library_path;  // its native half, a shared object
  uint32_t spare_jails = 0;  // without runners, kept ready for them
  uint32_t renew_after = 0;  // runners, then another zygote takes over
  // Its first start comes so long after the yard's, or with the first wish for
  // one of its jails.
  absl::Duration start_delay;
  std::string image = std::string(policy::kHostImage);  // and of its jails
  // The id of one in layers_dir that it has as kLibrariesInJail, read-only; its
  // jails are to have the same. Empty: none.
  std::string layer;
};

struct SandboxOptions {
  std::string spawner_path;   // the sandglass-spawner executable
  std::string state_dir;      // of this daemon alone; root's, mode 0755
  std::string instance;       // names the cgroup subtree; [a-z0-9-]{1,32}
  std::string cgroup_parent;  // empty: chosen by the host's layout
  UidSlice uids;
  uid_t server_uid = 0;
  gid_t server_gid = 0;
  uint32_t max_jails = 256;  // live at once, spares included, 1–4096
  uint32_t spare_jails = 0;  // kept ready for runs to come, 0–max_jails
  // What was prepared for languages; readable in jails as kPreparedInJail.
  // Empty: nothing.
  std::string prepared_dir;
  // Of the host, with a directory `ID/tree` for each layer; see CreateJail.
  // Empty: there are none.
  std::string layers_dir;
  // That templates name, beside the host's.
  std::vector<policy::Image> images;
  // In PEM: an authority that programs which are told so trust beside those of
  // their image; see kTrustedInJail. Empty: there is none.
  std::string authority_certificate;
  std::vector<JailTemplate> templates;
  // Where templates that come later are found (TemplateLedger::ReadingEnd);
  // borrowed, -1: none come.
  int template_ledger = -1;
  std::vector<ZygoteOptions> zygotes;
  // Calls that filters refuse are told with a program's end, and take longer.
  // Not those of runners: no zygotes then. See CheckCallTracing.
  bool trace_calls = false;
};

// How many yards, and so how many times UidsFor(max_jails) ids, these options
// take.
size_t YardCount(const SandboxOptions& options);

inline constexpr char kPreparedInJail[] = "/var/cache/sandglass";
inline constexpr char kLibrariesInJail[] = "/opt/libraries";
// In PEM: the authority alone, and with it all that the image trusts.
inline constexpr char kAuthorityInJail[] = "/etc/sandglass/authority.pem";
inline constexpr char kTrustedInJail[] = "/etc/sandglass/trusted.pem";

// The yards and their spawners. Started by root before any thread exists; used
// afterwards by an unprivileged, threaded server. Thread-safe after Start.
class Sandbox {
 public:
  // Without yards: makes no jails.
  Sandbox();

  // Preconditions: effective uid 0, single-threaded, no gRPC object exists.
  // Sweeps what an earlier daemon with this state directory left, makes the
  // cgroup subtree, starts the yards and waits until their spawners are ready.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Start(
      const SandboxOptions& options, const HostReport& host);

  // Kills and removes what a daemon that is gone left of its control groups.
  // Needs root. Start does it too; this is for after the end, and for who wants
  // to tell of other daemons that the list names and that live
  // (FAILED_PRECONDITION, see SweepCgroups): Start passes over them.
  // `instance` is SandboxOptions'; "": whoever lives is another.
  static absl::Status Sweep(const std::string& state_dir,
                            const std::string& instance = "");

  // Takes a yard that was started; before StartReader. Start does so with each
  // of its own.
  void Adopt(const std::string& kind, Yard yard, bool has_zygote,
             uint32_t max_jails, bool traces_calls = false);

  // The proxy for jails whose templates have a network; without one they can't
  // be made. Before StartReader.
  void SetEgress(std::unique_ptr<EgressPort> egress);

  // The kinds of the yards whose spawners give no sign of life; one that goes
  // on so counts as gone.
  std::vector<std::string> SilentYards() const;

  // Starts the threads that read the spawners' events. Call once, after
  // DropPrivileges. `on_death` is called on such a thread when its spawner,
  // or the egress proxy, is gone, hangs or broke the protocol; not on orderly
  // destruction.
  absl::Status StartReader(const std::function<void(absl::Status)>& on_death);

  // Whether there is a yard that makes jails of this kind.
  bool Makes(const std::string& kind) const;

  // Of kExecKind: a jail that was made ahead, else one with init on its way up.
  // Of a zygote's kind: one with a runner on its way up. Set-up errors arrive
  // as a jail event.
  // RESOURCE_EXHAUSTED: no slot free; for a run one is waited for, up to the
  // timeout. UNAVAILABLE: the spawner is gone.
  // Also UNAVAILABLE: the egress proxy that it needs is gone; no zygote can
  // serve yet; a jail for stock waits for one that is on its way up, a moment.
  // INTERNAL: a step failed. NOT_FOUND: there is no such kind.
  // `layer` is the id of one in layers_dir, 64 hexadecimal digits: the jail has
  // its tree as kLibrariesInJail, read-only, until its end. Empty: it has none.
  absl::StatusOr<std::unique_ptr<Jail>> CreateJail(
      const std::string& kind, const std::string& template_name,
      const policy::Limits& limits, absl::Duration timeout,
      FillFor fill_for = FillFor::kStock, const std::string& layer = "");

  // Jails that the spawner has not yet reported gone.
  uint32_t live_jails() const;
  // What each yard has, by kind. All are asked at once; of one that doesn't
  // answer in time what it said last, and nothing when that was more than
  // YardPort::kStockHolds ago. Calls
  // that come while a yard is asked share its answer.
  std::vector<YardStock> TakeStock(absl::Duration timeout);
  // Waits until all jails are gone.
  bool WaitUntilEmpty(absl::Duration timeout) const;

  // Closes the channel: the yard ends with everything in it.
  ~Sandbox();

 private:
  // Outlives the ports, as it does all jails.
  std::unique_ptr<EgressPort> egress_;
  std::map<std::string, std::unique_ptr<YardPort>> ports_;  // by kind
};

// Gives up every right for good: no groups, uid and gid, no capability,
// bounding set empty, no_new_privs, non-dumpable. Verifies it afterwards.
absl::Status DropPrivileges(uid_t uid, gid_t gid);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_SANDBOX_H_
