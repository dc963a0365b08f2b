#include "tests/support/calls/warm.h"

#include <algorithm>
#include <filesystem>
#include <regex>

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

// Without what differs between two runs of the same interpreter.
std::string Steady(const std::string& text) {
  static const std::regex address("0x[0-9a-f]+|started [0-9]+");
  return std::regex_replace(text, address, "0x");
}

}  // namespace

bool HadRunner(const RunResult& result) {
  const auto& steps = result.response.timings().setup_steps();
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) {
    return step.step() == "fork_runner";
  });
}

std::vector<ConformanceProgram> ConformancePrograms(
    const std::string& directory, const std::string& language,
    const std::string& extension) {
  const fs::path root =
      fs::path(SANDGLASS_SOURCE_DIR) / "tests/conformance/warm" / directory;
  const std::string main_file = "main" + extension;
  std::vector<ConformanceProgram> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    ConformanceProgram each;
    each.name = entry.path().stem().string();
    each.request.set_language(language);
    if (entry.is_directory()) {
      each.request.set_code(ReadFile((entry.path() / main_file).string()));
      for (const auto& file : fs::recursive_directory_iterator(entry)) {
        const std::string path =
            fs::relative(file.path(), entry.path()).string();
        if (!file.is_regular_file() || path == main_file) continue;
        v1::InputFile* input = each.request.add_files();
        input->set_path(path);
        input->set_content(ReadFile(file.path().string()));
      }
    } else if (entry.path().extension() == extension) {
      each.request.set_code(ReadFile(entry.path().string()));
      const fs::path input = fs::path(entry.path()).replace_extension("stdin");
      if (fs::exists(input)) {
        each.request.set_stdin(ReadFile(input.string()));
      }
    } else {
      continue;
    }
    each.request.add_args("argument");
    programs.push_back(std::move(each));
  }
  return programs;
}

void ExpectSame(const RunResult& fresh, const RunResult& warm) {
  EXPECT_EQ(warm.response.outcome(), fresh.response.outcome());
  EXPECT_EQ(warm.response.exit_code(), fresh.response.exit_code());
  EXPECT_EQ(warm.response.signal().number(), fresh.response.signal().number());
  EXPECT_EQ(Steady(warm.response.stdout().data()),
            Steady(fresh.response.stdout().data()));
  EXPECT_EQ(Steady(warm.response.stderr().data()),
            Steady(fresh.response.stderr().data()));
}

}  // namespace sandglass::testing
