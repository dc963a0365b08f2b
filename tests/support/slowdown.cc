#include "tests/support/slowdown.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kPolicy[] = SANDGLASS_SOURCE_DIR "/policy/data";
constexpr int kMaxSlowdown = 200;

void Stretch(Json& json) {
  if (json.is_array()) {
    for (Json& each : json) Stretch(each);
  }
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    absl::Duration time;
    if ((key == "wall_time" || key == "cpu_time") && value.is_string() &&
        absl::ParseDuration(value.get<std::string>(), &time)) {
      value = absl::StrCat(absl::ToInt64Milliseconds(time * Slowdown()), "ms");
    } else {
      Stretch(value);
    }
  }
}

bool StretchFile(const fs::path& path) {
  std::ifstream input(path);
  Json json = Json::parse(input, nullptr, false, /*ignore_comments=*/true);
  if (json.is_discarded()) return false;
  input.close();
  Stretch(json);
  std::ofstream output(path);
  output << json.dump(2) << "\n";
  return output.good();
}

}  // namespace

int Slowdown() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* text = std::getenv("SANDGLASS_TEST_SLOWDOWN");
  int factor = 1;
  if (text == nullptr || !absl::SimpleAtoi(text, &factor)) return 1;
  return std::clamp(factor, 1, kMaxSlowdown);
}

bool WriteSlowPolicy(const std::string& directory) {
  std::error_code error;
  fs::copy(kPolicy, directory, fs::copy_options::recursive, error);
  if (error) return false;
  for (const char* folder : {"languages", "profiles"}) {
    for (const fs::directory_entry& entry :
         fs::directory_iterator(fs::path(directory) / folder)) {
      if (entry.path().extension() == ".json" && !StretchFile(entry.path())) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace sandglass::testing
