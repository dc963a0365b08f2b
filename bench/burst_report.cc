#include "bench/burst_report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/tables.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

std::string BurstText(const BurstReport& burst) {
  if (!burst.problem.empty()) {
    return absl::StrCat("\nno figures of a burst of sessions: ", burst.problem,
                        "\n");
  }
  std::vector<Cells> lines = {
      {"sessions at once", "n", "p50 ms", "p99 ms", "max ms"}};
  for (const auto& [name, time] : {std::pair("created", &burst.created),
                                   std::pair("first result", &burst.first)}) {
    lines.push_back({name, absl::StrCat(time->n), Ms(time->p50), Ms(time->p99),
                     Ms(time->max)});
  }
  std::string text = absl::StrFormat("\n%s\nall %d of %d in %.2f s\n",
                                     Table(lines), burst.first.n, burst.wanted,
                                     absl::ToDoubleSeconds(burst.time));
  if (!burst.first_wrong.empty()) {
    absl::StrAppend(&text, burst.wrong,
                    " had no result; the first of these: ", burst.first_wrong,
                    "\n");
  }
  return text;
}

nlohmann::ordered_json BurstJson(const BurstReport& burst) {
  nlohmann::ordered_json json = {{"wanted", burst.wanted},
                                 {"seconds", absl::ToDoubleSeconds(burst.time)},
                                 {"created", SummaryJson(burst.created)},
                                 {"first_result", SummaryJson(burst.first)},
                                 {"wrong", burst.wrong}};
  if (!burst.first_wrong.empty()) json["first_wrong"] = burst.first_wrong;
  if (!burst.problem.empty()) json["problem"] = burst.problem;
  return json;
}

}  // namespace sandglass::bench
