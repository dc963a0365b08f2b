// What bench/run.sh starts when its daemons are there.

#include <fstream>
#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "bench/compare.h"
#include "bench/compare_languages.h"
#include "bench/language_report.h"
#include "bench/report.h"

namespace sandglass::bench {
namespace {

constexpr int kMissed = 1;
constexpr int kNothingMeasured = 2;

int Fail(absl::string_view why) {
  std::cerr << "sandglass-bench: " << why << "\n";
  return kNothingMeasured;
}

// Returns the exit code.
template <typename AnyReport>
int Tell(const absl::StatusOr<AnyReport>& report,
         const std::string& json_file) {
  if (!report.ok()) return Fail(report.status().message());
  std::cout << ToMarkdown(*report) << std::flush;
  if (!json_file.empty()) {
    std::ofstream file(json_file);
    file << ToJson(*report).dump(2) << "\n";
    file.close();
    if (!file) return Fail("cannot write " + json_file);
  }
  return MeetsBar(*report).value_or(false) ? 0 : kMissed;
}

}  // namespace
}  // namespace sandglass::bench

int main(int argc, char** argv) {
  using sandglass::bench::CompareJails;
  using sandglass::bench::CompareLanguages;
  using sandglass::bench::Tell;
  sandglass::bench::CompareOptions jails = {
      .rounds = 200, .wall_runs = 50, .gap_ms = 10};
  sandglass::bench::LanguageOptions languages = {.gap_ms = 10};
  std::string json_file;
  CLI::App app(
      "Times small programs through the daemon and beside it. Exit code 0 when "
      "Sandglass keeps what it promises of these times.",
      "sandglass-bench");
  app.require_subcommand(1);
  CLI::App* print = app.add_subcommand(
      "jails", "print(1) in Python, bare and in other jails too");
  print
      ->add_option("--cold-address", jails.cold_address,
                   "A daemon with a pool.floor of 0")
      ->required();
  print
      ->add_option("--prefix", jails.prefix,
                   "Beginning of names of containers and control groups")
      ->required();
  print->add_option("-n,--rounds", jails.rounds, "Runs of each contender")
      ->check(CLI::Range(1, 100'000));
  print
      ->add_option("--wall-runs", jails.wall_runs,
                   "Runs that measure the wall limit")
      ->check(CLI::Range(1, 10'000));
  CLI::App* each = app.add_subcommand(
      "languages", "One small program in each language, bare too");
  each->add_option("--programs", languages.programs, "Where the programs are")
      ->required()
      ->check(CLI::ExistingDirectory);
  each->add_option("-n,--rounds", languages.rounds,
                   "Runs of each interpreted language; of a compiled one half")
      ->check(CLI::Range(2, 10'000));
  for (CLI::App* mode : {print, each}) {
    mode->add_option("--address", jails.address, "The daemon, as gRPC names it")
        ->required();
    mode->add_option("--directory", jails.directory,
                     "An empty directory to mount things in")
        ->required()
        ->check(CLI::ExistingDirectory);
    mode->add_option("--gap", jails.gap_ms,
                     "Rest before each run, milliseconds")
        ->check(CLI::Range(0, 10'000));
    mode->add_option("--json", json_file, "Write the figures here too");
  }
  CLI11_PARSE(app, argc, argv);
  if (print->parsed()) return Tell(CompareJails(jails), json_file);
  languages.address = jails.address;
  languages.directory = jails.directory;
  languages.gap_ms = jails.gap_ms;
  return Tell(CompareLanguages(languages), json_file);
}
