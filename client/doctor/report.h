#ifndef SANDGLASS_CLIENT_DOCTOR_REPORT_H_
#define SANDGLASS_CLIENT_DOCTOR_REPORT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/doctor/judge.h"
#include "sandglass/v1/server_info.pb.h"

// What an examination found, and how it is told. Pure.
namespace sandglass::client {

// A way of starting a program that the daemon offers.
struct Way {
  std::string name;      // the language, or the kind of jail where one waits
  std::string language;  // id
  std::string kind;      // as replies tell it: "exec", "python-lean"...
  // Stands for all ways of its sort of jail: limits, and what two runs see of
  // each other, are tried here too.
  bool whole = false;
};

// What came back for one attempt.
struct Logged {
  std::string protection;
  std::string attempt;
  std::string answer;
  std::string way;
};

struct Examination {
  std::string address;
  std::string profile;
  bool quick = false;  // only what one run sees from inside was asked for
  v1::GetServerInfoResponse info;
  std::vector<Way> ways;
  // Languages that were not asked, and why.
  std::vector<std::pair<std::string, std::string>> skipped;
  // By protection: each way with what came of it there.
  std::map<std::string, std::vector<std::pair<std::string, Judgement>>> found;
  std::vector<Logged> log;
  absl::Duration took;
  int runs = 0;  // that were answered

  void Add(const Way& way, const Judgement& judgement) {
    found[judgement.protection].emplace_back(way.name, judgement);
  }
  void Add(const Way& way, const std::vector<Judgement>& judgements) {
    for (const Judgement& each : judgements) Add(way, each);
  }
};

struct Totals {
  int in_force = 0;
  int missing = 0;
  int not_checked = 0;
};

// Of the layers that the daemon reports and of the protections looked for.
Totals Count(const Examination& examination);

// kExitOk, kExitProtectionMissing or kExitNotChecked.
int DoctorExitCode(const Examination& examination);

enum class Detail { kShort, kAttempts };
std::string DoctorText(const Examination& examination, Detail detail);

// One object; docs/doctor.md has its form.
std::string DoctorJson(const Examination& examination);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_REPORT_H_
