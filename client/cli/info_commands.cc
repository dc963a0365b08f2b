#include "client/cli/info_commands.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/limits_text.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/connection/daemon.h"

namespace sandglass::client {
namespace {

using Rows = std::vector<std::vector<std::string>>;

absl::string_view StateWords(v1::LayerState state) {
  switch (state) {
    case v1::LAYER_STATE_IN_FORCE:
      return "in force";
    case v1::LAYER_STATE_NOT_AVAILABLE:
      return "not available";
    case v1::LAYER_STATE_EXCUSED:
      return "MISSING, excused by a flag";
    default:
      return "unknown";
  }
}

std::string AdmissionText(const v1::Admission& admission) {
  std::string text = absl::StrCat(
      "runs: ", admission.running(), " of ", admission.max_running(),
      " running, ", admission.queued(), " of ", admission.max_queued(),
      " queued; memory: ", FormatByteSize(admission.memory_reserved_bytes()),
      " of ", FormatByteSize(admission.memory_budget_bytes()), " reserved\n");
  return text;
}

// The version, or the reason why there is none.
std::string StateOf(const v1::LanguageInfo& language) {
  if (!language.available()) {
    return absl::StrCat("not available: ", language.unavailable_reason());
  }
  return absl::StrCat(language.version(), language.preparing()
                                              ? " (usable; still being checked)"
                                              : "");
}

std::string SessionsOf(const v1::LanguageInfo& language) {
  switch (language.session()) {
    case v1::SESSION_SUPPORT_KERNEL:
      return "keep state";
    case v1::SESSION_SUPPORT_PROGRAM:
      return "keep files";
    default:
      return "none";
  }
}

// What a profile determines besides its limits.
std::string PolicyWords(const v1::ProfileInfo& profile) {
  std::string words =
      profile.rules() == 0 ? "none" : absl::StrCat(profile.rules());
  if (profile.asks_for_approval()) {
    absl::StrAppend(&words, ", a person is asked",
                    profile.self_approval() ? " (the caller may be)" : "");
  }
  absl::StrAppend(&words, "; redacted: ",
                  profile.redactions().empty()
                      ? "nothing"
                      : absl::StrJoin(profile.redactions(), ", "));
  if (!profile.commands().empty()) {
    absl::StrAppend(&words, "; commands in sessions: ", profile.commands());
  }
  return words;
}

std::string PoolText(const v1::GetServerInfoResponse& info) {
  Rows rows = {{"KIND", "PROFILE", "MEMORY", "READY", "WANTED", "HITS",
                "MISSES", "FILL TAKES"}};
  for (const v1::PoolKind& kind : info.pool()) {
    rows.push_back({kind.kind(), kind.profile(),
                    FormatByteSize(kind.memory_bytes()),
                    absl::StrCat(kind.idle()), absl::StrCat(kind.target()),
                    absl::StrCat(kind.hits()), absl::StrCat(kind.misses()),
                    FormatTimeSpan(FromProto(kind.mean_fill()))});
  }
  return TextTable(rows, "  ");
}

std::string CompileCacheText(const v1::CompileCache& cache) {
  std::string text = absl::StrCat(
      "compile cache: ", cache.entries(), " programs in ",
      FormatByteSize(cache.bytes()), " of ", FormatByteSize(cache.max_bytes()),
      "; ", cache.hits(), " hits, ", cache.misses(), " misses, ",
      cache.not_cacheable(), " not to be kept");
  if (cache.evicted() > 0) {
    absl::StrAppend(&text, ", ", cache.evicted(), " gone for lack of room");
  }
  if (cache.dropped() > 0) {
    absl::StrAppend(&text, ", ", cache.dropped(), " damaged and dropped");
  }
  if (cache.write_failures() > 0) {
    absl::StrAppend(&text, ", ", cache.write_failures(), " not written");
  }
  return absl::StrCat(text, "\n");
}

std::string DiskCapText(const v1::DiskCap& cap) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, uint64_t bytes, uint32_t operations) {
    if (bytes > 0) {
      parts.push_back(absl::StrCat(what, " ", FormatByteSize(bytes), "/s"));
    }
    if (operations > 0) {
      parts.push_back(absl::StrCat(what, " ", operations, " operations/s"));
    }
  };
  add("read", cap.read_bytes_per_second(), cap.reads_per_second());
  add("write", cap.write_bytes_per_second(), cap.writes_per_second());
  return absl::StrJoin(parts, ", ");
}

// For example "a.example: port 443; b.example: ports 80 and 443".
std::string HostsText(const v1::ProfileInfo& profile) {
  constexpr int kShown = 8;
  const auto& hosts = profile.network_hosts();
  const int shown = std::min(hosts.size(), kShown);
  std::string text = absl::StrJoin(hosts.begin(), hosts.begin() + shown, "; ");
  if (shown < hosts.size()) {
    absl::StrAppend(&text, "; and ", hosts.size() - shown, " more");
  }
  return text;
}

// Fetches the daemon's info and prints it in one of two ways.
int ShowInfo(const Endpoint& endpoint, bool json,
             std::string (*text)(const v1::GetServerInfoResponse&)) {
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      daemon->stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  if (!status.ok()) return FailCall(status, *daemon);
  return json ? PrintJson(info) : PrintText(text(info));
}

// Empty when there is only the host's image.
std::string ImagesText(const v1::GetServerInfoResponse& info) {
  Rows rows;
  for (const v1::ImageInfo& image : info.images()) {
    const auto language = [](std::string* out, const v1::ImageLanguage& has) {
      absl::StrAppend(out, has.id(), has.version().empty() ? "" : ": ",
                      has.version());
    };
    rows.push_back(
        {image.name(),
         image.digest().empty()
             ? "no digest"
             : absl::StrCat("digest ", image.digest(), ", built ",
                            absl::FormatTime("%Y-%m-%d %H:%M:%S",
                                             FromProto(image.build_time()),
                                             absl::LocalTimeZone()))});
    rows.push_back(
        {"", absl::StrCat("profiles: ",
                          image.profiles().empty()
                              ? "none"
                              : absl::StrJoin(image.profiles(), ", "))});
    if (image.name() == "host") continue;  // its languages are shown above
    rows.push_back(
        {"", absl::StrCat("languages: ", image.languages().empty()
                                             ? "none"
                                             : absl::StrJoin(image.languages(),
                                                             "; ", language))});
  }
  return info.images_size() < 2
             ? ""
             : absl::StrCat("\nImages\n", TextTable(rows, "  "));
}

// What an operator wants to know after sending SIGHUP.
std::string PolicyText(const v1::PolicyState& policy) {
  constexpr size_t kDigits = 12;
  if (policy.digest().empty()) return "";
  std::string text = absl::StrCat(
      "  policy ", VisibleText(policy.digest().substr(0, kDigits)), ", loaded ",
      absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(policy.load_time()),
                       absl::LocalTimeZone()),
      "\n");
  if (!policy.reload_error().empty()) {
    absl::StrAppend(&text, "  the last reload failed, so this is the old one: ",
                    VisibleText(policy.reload_error()), "\n");
  }
  return text;
}

}  // namespace

std::string LanguagesText(const v1::GetServerInfoResponse& info) {
  Rows rows = {
      {"ID", "NAME", "ALIASES", "FILES", "SESSIONS", "LOOKED AT", "VERSION"}};
  for (const v1::LanguageInfo& language : info.languages()) {
    rows.push_back(
        {language.id(), language.name(), absl::StrJoin(language.aliases(), ","),
         absl::StrJoin(language.file_extensions(), ","), SessionsOf(language),
         language.analysed() ? "yes" : "no", StateOf(language)});
  }
  return TextTable(rows, "");
}

std::string InfoText(const v1::GetServerInfoResponse& info) {
  std::string text = absl::StrCat(
      "sandglassd ", VisibleText(info.version()), ", kernel ",
      VisibleText(info.kernel()), ", up ",
      FormatLongTime(FromProto(info.uptime())), "\n",
      AdmissionText(info.admission()),
      info.has_compile_cache() ? CompileCacheText(info.compile_cache())
                               : "compile cache: off\n");

  absl::StrAppend(&text, "\nLanguages\n");
  Rows languages;
  for (const v1::LanguageInfo& language : info.languages()) {
    languages.push_back({language.id(), StateOf(language)});
  }
  absl::StrAppend(&text, TextTable(languages, "  "));
  if (info.pool_size() > 0) {
    absl::StrAppend(&text, "\nJails that wait for runs\n", PoolText(info));
  }
  absl::StrAppend(&text, "\nProfiles\n");

  Rows profiles;
  for (const v1::ProfileInfo& profile : info.profiles()) {
    profiles.push_back({profile.name(), profile.description()});
    profiles.push_back(
        {"", absl::StrCat("limits: ", LimitsText(profile.limits()))});
    profiles.push_back(
        {"", absl::StrCat("at most: ", LimitsText(profile.maximum_limits()))});
    std::string rest =
        absl::StrCat("network: ", profile.network(),
                     "; languages: ", absl::StrJoin(profile.languages(), ", "));
    if (!profile.compile_cache().empty()) {
      absl::StrAppend(&rest, "; compile cache: ", profile.compile_cache());
    }
    if (!profile.session_files().empty()) {
      absl::StrAppend(&rest, "; session files: ", profile.session_files());
    }
    if (!profile.image().empty()) {
      absl::StrAppend(&rest, "; image: ", profile.image());
    }
    if (profile.has_disk_io()) {
      absl::StrAppend(&rest,
                      "; disk I/O at most: ", DiskCapText(profile.disk_io()));
    }
    profiles.push_back({"", std::move(rest)});
    if (profile.network_hosts_size() > 0) {
      profiles.push_back({"", absl::StrCat("reaches: ", HostsText(profile))});
    }
    profiles.push_back({"", absl::StrCat("rules: ", PolicyWords(profile))});
  }
  absl::StrAppend(&text, TextTable(profiles, "  "), PolicyText(info.policy()),
                  ImagesText(info), "\nIsolation\n");

  Rows layers;
  for (const v1::IsolationLayer& layer : info.isolation()) {
    layers.push_back({layer.name(), std::string(StateWords(layer.state())),
                      layer.required() ? "required" : "optional",
                      layer.detail()});
  }
  return absl::StrCat(text, TextTable(layers, "  "));
}

int InfoCommand(const Endpoint& endpoint, const InfoOptions& options) {
  return ShowInfo(endpoint, options.json, &InfoText);
}

int LanguagesCommand(const Endpoint& endpoint,
                     const LanguagesOptions& options) {
  return ShowInfo(endpoint, options.json, &LanguagesText);
}

}  // namespace sandglass::client
