#ifndef SANDGLASS_CLIENT_DOCTOR_REPORT_H_
#define SANDGLASS_CLIENT_DOCTOR_REPORT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/doctor/judge.h"
#include "sandglass/v1/server_info.pb.h"

// The results of an examination and their presentation. Pure functions.
namespace sandglass::client {

// A way of starting a program that the daemon offers.
struct Way {
  std::string name;      // the language, or the kind of the waiting jail
  std::string language;  // id
  std::string kind;      // as in replies: "exec", "python-lean"...
  // It represents all ways with jails of its sort: limits, and what two runs
  // can see of each other, are tried with it too.
  bool whole = false;
};

// The answer to one attempt.
struct Logged {
  std::string protection;
  std::string attempt;
  std::string answer;
  std::string way;
};

struct Examination {
  std::string address;
  std::string profile;
  bool quick = false;  // only what one run can check from inside
  v1::GetServerInfoResponse info;
  std::vector<Way> ways;
  // Languages that were not examined, and why.
  std::vector<std::pair<std::string, std::string>> skipped;
  // By protection: each way with its result.
  std::map<std::string, std::vector<std::pair<std::string, Judgement>>> found;
  std::vector<Logged> log;
  absl::Duration took;
  int runs = 0;  // number of answered runs

  void Add(const Way& way, const Judgement& judgement) {
    found[judgement.protection].emplace_back(way.name, judgement);
  }
  void Add(const Way& way, const std::vector<Judgement>& judgements) {
    for (const Judgement& each : judgements) Add(way, each);
  }
};

// Says that the daemon does without the layer that this protection, or attempt,
// rests on, and why; empty: it doesn't. Such a thing needn't be tried, and what
// is to be done about it is what is to be done about the layer.
std::string WhyLacking(const v1::GetServerInfoResponse& info,
                       absl::string_view protection_or_attempt);

struct Totals {
  int in_force = 0;
  int missing = 0;
  int not_checked = 0;
};

// Counts the layers that the daemon reports and the protections that were
// checked.
Totals Count(const Examination& examination);

// kExitOk, kExitProtectionMissing or kExitNotChecked.
int DoctorExitCode(const Examination& examination);

enum class Detail { kShort, kAttempts };
std::string DoctorText(const Examination& examination, Detail detail);

// A JSON object; docs/doctor.md describes it.
std::string DoctorJson(const Examination& examination);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_REPORT_H_
