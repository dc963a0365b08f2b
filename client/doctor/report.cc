#include "client/doctor/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/doctor/gains.h"
#include "nlohmann/json.hpp"
#include "policy/text/docs_page.h"

namespace sandglass::client {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using Json = nlohmann::ordered_json;

absl::string_view StateWord(State state) {
  switch (state) {
    case State::kInForce:
      return "in force";
    case State::kMissing:
      return "MISSING";
    case State::kNotChecked:
      return "not checked";
  }
  return "not checked";
}

absl::string_view StateKey(State state) {
  switch (state) {
    case State::kInForce:
      return "in_force";
    case State::kMissing:
      return "missing";
    case State::kNotChecked:
      return "not_checked";
  }
  return "not_checked";
}

// One row of the report: a protection, over all ways that were examined.
struct Found {
  const Protection* protection = nullptr;
  State state = State::kNotChecked;
  size_t ways = 0;
  // Each detail with the ways that have it, of those that determined the state.
  std::vector<std::pair<std::string, std::vector<std::string>>> details;
};

Found Summarise(const Protection& protection, const Examination& examination) {
  Found found;
  found.protection = &protection;
  const auto place = examination.found.find(protection.id);
  if (place == examination.found.end() || place->second.empty()) {
    found.details = {{"no way of starting a program could be asked", {}}};
    return found;
  }
  found.ways = place->second.size();
  found.state = State::kInForce;
  for (const auto& [way, judgement] : place->second) {
    if (judgement.state == State::kMissing) found.state = State::kMissing;
    if (judgement.state == State::kNotChecked &&
        found.state == State::kInForce) {
      found.state = State::kNotChecked;
    }
  }
  if (found.state == State::kInForce) return found;
  for (const auto& [way, judgement] : place->second) {
    if (judgement.state != found.state) continue;
    const auto same = std::find_if(found.details.begin(), found.details.end(),
                                   [&detail = judgement.detail](const auto& e) {
                                     return e.first == detail;
                                   });
    if (same != found.details.end()) {
      same->second.push_back(way);
    } else {
      found.details.push_back({judgement.detail, {way}});
    }
  }
  return found;
}

std::vector<Found> AllFound(const Examination& examination) {
  std::vector<Found> all;
  for (const Protection& protection : Protections()) {
    if (examination.quick && !IsSeenFromInside(protection)) continue;
    all.push_back(Summarise(protection, examination));
  }
  return all;
}

// A layer that the host lacks and that isn't required doesn't count as a
// missing protection, whether it was excused or not.
bool Counts(const v1::IsolationLayer& layer) {
  return layer.required() || (layer.state() != v1::LAYER_STATE_NOT_AVAILABLE &&
                              layer.state() != v1::LAYER_STATE_EXCUSED);
}

State LayerStateOf(const v1::IsolationLayer& layer) {
  switch (layer.state()) {
    case v1::LAYER_STATE_IN_FORCE:
      return State::kInForce;
    case v1::LAYER_STATE_NOT_AVAILABLE:
    case v1::LAYER_STATE_EXCUSED:
      return State::kMissing;
    default:
      return State::kNotChecked;
  }
}

std::string LayerDetail(const v1::IsolationLayer& layer) {
  return absl::StrCat(layer.state() == v1::LAYER_STATE_EXCUSED
                          ? "excused by the daemon's configuration: "
                          : "",
                      layer.detail());
}

std::string WaysText(const Found& found) {
  return found.ways == 1 ? "1 way" : absl::StrCat(found.ways, " ways");
}

std::string DetailText(const Found& found) {
  std::vector<std::string> parts;
  for (const auto& [detail, ways] : found.details) {
    parts.push_back(
        ways.empty() ? detail
                     : absl::StrCat(absl::StrJoin(ways, ", "), ": ", detail));
  }
  return absl::StrJoin(parts, "; ");
}

// What to do about a missing protection, by its group.
absl::string_view Remedy(const Protection& protection) {
  const absl::string_view group = protection.group;
  if (group == "Kernel" || group == "Network") {
    return "compare the profile's system call policy, in policy_dir/seccomp, "
           "with the one that Sandglass comes with";
  }
  if (group == "Limits") {
    return "see what the daemon says of its control groups: sandglassd --check";
  }
  return "see whether the daemon and its spawner are of one version and "
         "unchanged; what changed on the host since the last good report?";
}

// Appends the attempts for a protection with their answers; one line if all
// ways have the same.
void AppendAttempts(const Examination& examination, const char* protection,
                    std::string& text) {
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, std::vector<std::string>>>
      answers;
  for (const Logged& line : examination.log) {
    if (line.protection != protection) continue;
    if (answers.count(line.attempt) == 0) order.push_back(line.attempt);
    answers[line.attempt][line.answer].push_back(line.way);
  }
  for (const std::string& attempt : order) {
    std::vector<std::string> parts;
    for (const auto& [answer, ways] : answers[attempt]) {
      parts.push_back(
          answers[attempt].size() == 1
              ? answer
              : absl::StrCat(answer, " in ", absl::StrJoin(ways, ", ")));
    }
    absl::StrAppend(&text, "                 ", VisibleText(attempt), ": ",
                    VisibleText(absl::StrJoin(parts, "; ")), "\n");
  }
}

void AppendWays(const Examination& examination, std::string& text) {
  std::vector<std::string> started;
  std::vector<std::string> waiting;
  std::vector<std::string> whole;
  for (const Way& way : examination.ways) {
    (way.kind == "exec" ? started : waiting).push_back(way.name);
    if (way.whole) whole.push_back(way.name);
  }
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none")
                         : VisibleText(absl::StrJoin(names, ", "));
  };
  absl::StrAppend(&text, "Ways of starting a program\n",
                  "  in a fresh interpreter      ", list(started), "\n",
                  "  in one that waited          ", list(waiting), "\n",
                  "  limits and other runs from  ",
                  examination.quick ? "none: --quick" : list(whole), "\n");
  for (const auto& [what, why] : examination.skipped) {
    absl::StrAppend(&text, "  skipped: ", VisibleText(what), ": ",
                    VisibleText(why), "\n");
  }
}

void AppendLayers(const Examination& examination, std::string& text) {
  absl::StrAppend(&text, "\nLayers that the daemon reports\n");
  Rows rows;
  for (const v1::IsolationLayer& layer : examination.info.isolation()) {
    rows.push_back({Counts(layer) ? std::string(StateWord(LayerStateOf(layer)))
                                  : "not here",
                    layer.name(),
                    absl::StrCat(LayerDetail(layer),
                                 Counts(layer) ? "" : " (not required)")});
  }
  if (rows.empty()) rows.push_back({"not checked", "it reports none"});
  absl::StrAppend(&text, TextTable(rows, "  "));
}

// What the daemon reports of itself that is no protection, and not as it should
// be.
std::vector<std::string> Notices(const v1::GetServerInfoResponse& info) {
  std::vector<std::string> notices;
  if (!info.policy().reload_error().empty()) {
    notices.push_back(absl::StrCat(
        "the last reload of the policy failed, so the one before is in force: ",
        info.policy().reload_error()));
  }
  for (const v1::PoolKind& kind : info.pool()) {
    if (kind.fill_failures() == 0 || kind.idle() > 0 || kind.target() == 0) {
      continue;
    }
    notices.push_back(absl::StrCat(
        "none of ", kind.target(), " jails of the kind ", kind.kind(),
        " (profile ", kind.profile(), ") is ready, and ", kind.fill_failures(),
        " could not be made; the daemon's log says why"));
  }
  return notices;
}

void AppendNotices(const Examination& examination, std::string& text) {
  const std::vector<std::string> notices = Notices(examination.info);
  if (notices.empty()) return;
  absl::StrAppend(&text, "\nNot as it should be\n");
  for (const std::string& notice : notices) {
    absl::StrAppend(&text, "  ", VisibleText(notice), "\n");
  }
}

void AppendGains(const Examination& examination, std::string& text) {
  Rows rows;
  for (const Gain& gain : GainsOf(examination.info)) {
    rows.push_back({gain.what, gain.how});
  }
  if (rows.empty()) return;
  absl::StrAppend(&text, "\nWhat this machine could still gain\n",
                  TextTable(rows, "  "));
}

void AppendAdvice(const Examination& examination, const std::vector<Found>& all,
                  std::string& text) {
  std::string advice;
  for (const v1::IsolationLayer& layer : examination.info.isolation()) {
    if (!Counts(layer) || LayerStateOf(layer) != State::kMissing) continue;
    absl::StrAppend(&advice, "  ", VisibleText(layer.name()), ": ",
                    VisibleText(LayerDetail(layer)), "\n    To do: ",
                    VisibleText(HowToGain(layer, examination.info.kernel())),
                    "; then start the daemon without excuse_missing.\n    See ",
                    policy::DocsPage("security.md#the-layers"), ".\n");
  }
  for (const Found& found : all) {
    if (found.state != State::kMissing ||
        !WhyLacking(examination.info, found.protection->id).empty()) {
      continue;  // otherwise it is said above, of the layer
    }
    absl::StrAppend(&advice, "  ", found.protection->name, ": ",
                    VisibleText(DetailText(found)),
                    "\n    Nothing is there against ", found.protection->stops,
                    ".\n    To do: ", Remedy(*found.protection), ".\n    See ",
                    policy::DocsPage(absl::StrCat("security.md#",
                                                  found.protection->section)),
                    ".\n");
  }
  if (!advice.empty()) {
    absl::StrAppend(&text, "\nWhat is missing\n", advice);
  }
}

}  // namespace

std::string WhyLacking(const v1::GetServerInfoResponse& info,
                       absl::string_view protection_or_attempt) {
  const absl::string_view name = LayerOf(protection_or_attempt);
  for (const v1::IsolationLayer& layer : info.isolation()) {
    if (name.empty() || layer.name() != name ||
        LayerStateOf(layer) != State::kMissing) {
      continue;
    }
    return absl::StrCat("the daemon runs without the layer ", layer.name(),
                        ": ", LayerDetail(layer));
  }
  return "";
}

Totals Count(const Examination& examination) {
  Totals totals;
  const auto count = [&](State state) {
    if (state == State::kInForce) ++totals.in_force;
    if (state == State::kMissing) ++totals.missing;
    if (state == State::kNotChecked) ++totals.not_checked;
  };
  for (const v1::IsolationLayer& layer : examination.info.isolation()) {
    if (Counts(layer)) count(LayerStateOf(layer));
  }
  if (examination.info.isolation().empty()) count(State::kNotChecked);
  for (const Found& found : AllFound(examination)) count(found.state);
  return totals;
}

int DoctorExitCode(const Examination& examination) {
  const Totals totals = Count(examination);
  if (totals.missing > 0) return kExitProtectionMissing;
  return totals.not_checked > 0 ? kExitNotChecked : kExitOk;
}

std::string DoctorText(const Examination& examination, Detail detail) {
  std::string text =
      absl::StrCat("sandglassd ", VisibleText(examination.info.version()),
                   " at ", VisibleText(examination.address), ", kernel ",
                   VisibleText(examination.info.kernel()), ", profile ",
                   VisibleText(examination.profile), "\n\n");
  AppendWays(examination, text);
  AppendLayers(examination, text);

  const std::vector<Found> all = AllFound(examination);
  absl::string_view group;
  for (const Found& found : all) {
    if (group != found.protection->group) {
      group = found.protection->group;
      absl::StrAppend(&text, "\n", group, "\n");
    }
    absl::StrAppendFormat(
        &text, "  %-11s  %-28s %s\n", StateWord(found.state),
        found.protection->name,
        found.state == State::kInForce
            ? absl::StrCat("against ", found.protection->stops, " (",
                           WaysText(found), ")")
            : VisibleText(DetailText(found)));
    if (detail == Detail::kAttempts) {
      AppendAttempts(examination, found.protection->id, text);
    }
  }
  AppendAdvice(examination, all, text);
  AppendNotices(examination, text);
  AppendGains(examination, text);

  const Totals totals = Count(examination);
  absl::StrAppendFormat(
      &text,
      "\n%d protections in force in %d ways of starting a program, %d missing, "
      "%d not checked (%d runs, %.1f s)\n",
      totals.in_force, examination.ways.size(), totals.missing,
      totals.not_checked, examination.runs,
      absl::ToDoubleSeconds(examination.took));
  return text;
}

std::string DoctorJson(const Examination& examination) {
  Json ways = Json::array();
  for (const Way& way : examination.ways) {
    ways.push_back({{"name", way.name},
                    {"language", way.language},
                    {"kind", way.kind},
                    {"whole", way.whole}});
  }
  Json skipped = Json::array();
  for (const auto& [what, why] : examination.skipped) {
    skipped.push_back({{"language", what}, {"reason", why}});
  }
  Json layers = Json::array();
  for (const v1::IsolationLayer& layer : examination.info.isolation()) {
    layers.push_back({{"name", layer.name()},
                      {"state", Counts(layer) ? StateKey(LayerStateOf(layer))
                                              : "not_available"},
                      {"required", layer.required()},
                      {"detail", LayerDetail(layer)}});
  }
  Json gains = Json::array();
  for (const Gain& gain : GainsOf(examination.info)) {
    gains.push_back({{"what", gain.what}, {"how", gain.how}});
  }
  Json protections = Json::array();
  for (const Found& found : AllFound(examination)) {
    Json in_ways = Json::array();
    const auto place = examination.found.find(found.protection->id);
    if (place != examination.found.end()) {
      for (const auto& [way, judgement] : place->second) {
        in_ways.push_back({{"way", way},
                           {"state", StateKey(judgement.state)},
                           {"detail", judgement.detail}});
      }
    }
    protections.push_back(
        {{"id", found.protection->id},
         {"group", found.protection->group},
         {"name", found.protection->name},
         {"stops", found.protection->stops},
         {"state", StateKey(found.state)},
         {"see", policy::DocsPage(
                     absl::StrCat("security.md#", found.protection->section))},
         {"ways", std::move(in_ways)}});
  }
  Json attempts = Json::array();
  for (const Logged& line : examination.log) {
    attempts.push_back({{"way", line.way},
                        {"attempt", line.attempt},
                        {"answer", line.answer},
                        {"protection", line.protection}});
  }
  const Totals totals = Count(examination);
  const Json json = {{"format", 1},
                     {"address", examination.address},
                     {"version", examination.info.version()},
                     {"kernel", examination.info.kernel()},
                     {"profile", examination.profile},
                     {"in_force", totals.in_force},
                     {"missing", totals.missing},
                     {"not_checked", totals.not_checked},
                     {"runs", examination.runs},
                     {"seconds", absl::ToDoubleSeconds(examination.took)},
                     {"ways", std::move(ways)},
                     {"skipped", std::move(skipped)},
                     {"layers", std::move(layers)},
                     {"notices", Notices(examination.info)},
                     {"gains", std::move(gains)},
                     {"protections", std::move(protections)},
                     {"attempts", std::move(attempts)}};
  // Only ASCII, and never an exception for bytes that aren't UTF-8.
  return absl::StrCat(
      json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), "\n");
}

}  // namespace sandglass::client
