#include "tests/client/fake/fake_operator.h"

namespace sandglass::client {
namespace {

constexpr int64_t kTime = 1'738'310'400;  // 2025-01-31 08:00:00 UTC

}  // namespace

v1::GetStatusResponse FakeStatus() {
  v1::GetStatusResponse status;
  status.set_version("0.1.0");
  status.mutable_time()->set_seconds(kTime);
  status.mutable_uptime()->set_seconds(7500);
  status.set_ready(true);
  v1::Condition& languages = *status.add_conditions();
  languages.set_name("languages");
  languages.set_holds(true);
  languages.set_detail("12 can be used");
  languages.mutable_since()->set_seconds(kTime - 7200);
  v1::Condition& audit = *status.add_conditions();
  audit.set_name("audit");
  audit.set_holds(true);
  audit.set_detail("written 2 s ago");
  audit.mutable_since()->set_seconds(kTime - 60);
  v1::Admission& room = *status.mutable_admission();
  room.set_running(1);
  room.set_max_running(8);
  room.set_max_queued(64);
  room.set_memory_reserved_bytes(256 << 20);
  room.set_memory_budget_bytes(uint64_t{4} << 30);
  for (const char* profile : {"default", "strict"}) {
    v1::PoolKind& pool = *status.add_pool();
    pool.set_kind("python-lean");
    pool.set_profile(profile);
    pool.set_idle(2);
    pool.set_target(3);
    pool.set_hits(500);
    pool.set_misses(2);
  }
  const auto add = [&](const char* language, v1::Outcome outcome,
                       uint64_t runs) {
    v1::RunCount& count = *status.add_runs();
    count.set_language(language);
    count.set_outcome(outcome);
    count.set_runs(runs);
  };
  add("python", v1::OUTCOME_OK, 1000);
  add("python", v1::OUTCOME_TIMEOUT, 4);
  add("bash", v1::OUTCOME_OK, 200);
  v1::ErrorCount& full = *status.add_errors();
  full.set_reason("QUEUE_FULL");
  full.set_code("RESOURCE_EXHAUSTED");
  full.set_calls(12);
  v1::ErrorCount& internal = *status.add_errors();
  internal.set_code("INTERNAL");
  internal.set_calls(1);
  status.set_sessions(3);
  status.set_commands(1);
  v1::Yard& yard = *status.add_yards();
  yard.set_kind("python-lean");
  yard.set_jails(5);
  yard.set_spare_jails(1);
  yard.set_ending_jails(2);
  yard.mutable_longest_ending()->set_seconds(3);
  yard.set_cgroups(8);
  yard.set_stray_cgroups(1);
  yard.set_processes(12);
  yard.set_open_fds(40);
  yard.set_mounts(60);
  yard.set_zygote_starts(3);
  yard.set_zygote_deaths(1);
  status.mutable_audit()->set_lines(1204);
  status.mutable_audit()->set_when_unwritable("refuse");
  status.set_resident_bytes(64 << 20);
  status.set_open_fds(30);
  status.set_max_open_fds(1024);
  status.set_threads(21);
  status.set_warnings(1);
  status.set_metrics_address("127.0.0.1:9464");
  return status;
}

}  // namespace sandglass::client
