#include "bench/overload_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/tables.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

std::string OverloadText(const OverloadReport& overload) {
  if (!overload.problem.empty()) {
    return absl::StrCat("\nno figures of overload: ", overload.problem, "\n");
  }
  std::vector<Cells> lines = {
      {"overload", "n", "p50 ms", "p90 ms", "p99 ms", "max ms"}};
  for (const auto& [name, time] : {std::pair("accepted", &overload.accepted),
                                   std::pair("refused", &overload.refused)}) {
    lines.push_back({name, absl::StrCat(time->n), Ms(time->p50), Ms(time->p90),
                     Ms(time->p99), Ms(time->max)});
  }
  std::string text = absl::StrFormat(
      "\n%s\n%.0f calls a second came for %.0f s, %.1f x the %.0f runs a "
      "second that were measured before; %d ended otherwise\n",
      Table(lines), overload.offered, absl::ToDoubleSeconds(overload.time),
      overload.offered / overload.capacity, overload.capacity, overload.wrong);
  if (!overload.first_wrong.empty()) {
    absl::StrAppend(&text, "the first of these: ", overload.first_wrong, "\n");
  }
  return text;
}

nlohmann::ordered_json OverloadJson(const OverloadReport& overload) {
  nlohmann::ordered_json json = {
      {"capacity_per_second", overload.capacity},
      {"offered_per_second", overload.offered},
      {"seconds", absl::ToDoubleSeconds(overload.time)},
      {"accepted", SummaryJson(overload.accepted)},
      {"refused", SummaryJson(overload.refused)},
      {"wrong", overload.wrong}};
  if (!overload.first_wrong.empty()) {
    json["first_wrong"] = overload.first_wrong;
  }
  if (!overload.problem.empty()) json["problem"] = overload.problem;
  return json;
}

}  // namespace sandglass::bench
