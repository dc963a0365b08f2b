#include "server/job/job_environment.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "policy/language/placeholders.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::server {

using policy::StringPairs;

policy::Command AsWords(const StringPairs& env) {
  policy::Command words;
  for (const auto& [name, value] : env) {
    words.push_back(absl::StrCat(name, "=", value));
  }
  return words;
}

policy::StringPairs BaseEnvironment() {
  return {{"PATH",
           absl::StrCat("/usr/local/bin:/usr/bin:/bin:", sandbox::kCommands)},
          {"HOME", "/home/sandbox"},
          {"USER", "sandbox"},
          {"LOGNAME", "sandbox"},
          {"LANG", "C.UTF-8"},
          {"TMPDIR", "/tmp"},
          {"PWD", "/workspace"},
          // The system's Python is read-only, so pip installs for the user,
          // instead of advising an environment that has to be downloaded too.
          {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
          // The sanitizers' search for leaks traces the program, which jails
          // don't allow, and would fail one that is right.
          {"LSAN_OPTIONS", "detect_leaks=0"}};
}

policy::StringPairs LimitEnvironment(const policy::Limits& limits) {
  // None of them makes a runtime say anything. A JVM has no such variable: it
  // goes by the files (sandbox/jailed/limit_files.h).
  const std::string cpus = policy::Expand("${cpus}", {.limits = limits});
  const auto heap = [&limits](uint32_t percent) {
    return policy::Expand("${heap_mib}",
                          {.limits = limits, .heap_percent = percent});
  };
  return {
      {"OMP_NUM_THREADS", cpus},
      {"OPENBLAS_NUM_THREADS", cpus},
      {"MKL_NUM_THREADS", cpus},
      {"GOMAXPROCS", cpus},
      // Its collector works harder before the jail's memory ends.
      {"GOMEMLIMIT", absl::StrCat(heap(90), "MiB")},
      // As much as programs of the language have: see javascript.json.
      {"NODE_OPTIONS", absl::StrCat("--max-old-space-size=", heap(60))},
      {"DOTNET_PROCESSOR_COUNT", cpus},
      {"DOTNET_GCHeapHardLimit",
       absl::StrCat(absl::Hex(limits.memory_bytes / 4 * 3))},
  };
}

void Overlay(const policy::StringPairs& layer, policy::StringPairs& env) {
  for (const auto& added : layer) {
    const auto it =
        std::ranges::find(env, added.first, &StringPairs::value_type::first);
    if (it == env.end()) {
      env.push_back(added);
    } else {
      it->second = added.second;
    }
  }
}

}  // namespace sandglass::server
