#ifndef SANDGLASS_BENCH_SESSIONS_REPORT_H_
#define SANDGLASS_BENCH_SESSIONS_REPORT_H_

#include <string>

#include "bench/report.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

// Sandglass's; nullptr when there is no step of this name.
const SessionStep* FindStep(const SessionsReport& sessions,
                            const std::string& name);

std::string SessionsText(const SessionsReport& sessions);
nlohmann::ordered_json SessionsJson(const SessionsReport& sessions);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_SESSIONS_REPORT_H_
