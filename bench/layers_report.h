#ifndef SANDGLASS_BENCH_LAYERS_REPORT_H_
#define SANDGLASS_BENCH_LAYERS_REPORT_H_

#include <string>

#include "bench/report.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

std::string LayersText(const LayersReport& layers);
nlohmann::ordered_json LayersJson(const LayersReport& layers);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LAYERS_REPORT_H_
