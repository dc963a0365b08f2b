#ifndef SANDGLASS_BENCH_LIBRARIES_REPORT_H_
#define SANDGLASS_BENCH_LIBRARIES_REPORT_H_

#include <string>

#include "bench/report.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

std::string LibrariesText(const LibrariesReport& libraries);
nlohmann::ordered_json LibrariesJson(const LibrariesReport& libraries);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LIBRARIES_REPORT_H_
