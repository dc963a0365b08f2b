#ifndef SANDGLASS_BENCH_MACHINE_H_
#define SANDGLASS_BENCH_MACHINE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sandglass::bench {

// Processor, memory, kernel and the versions of the programs compared, as
// pairs of a name and a text of one line.
std::vector<std::pair<std::string, std::string>> DescribeMachine();

// What programs could use without pushing others out; 0 when unknown.
int64_t AvailableBytes();

// Processor time of all processors together since the machine's start, in
// clock ticks (proc_stat(5)).
struct CpuTicks {
  uint64_t busy = 0;
  uint64_t stolen = 0;  // given to other guests of the same host
  uint64_t all = 0;
};
CpuTicks ReadCpuTicks();

// Share of the time between the two that the host took away: "0.2 %".
std::string StolenBetween(const CpuTicks& start, const CpuTicks& end);

// 100 * part / whole, 0 when whole is.
double Percent(uint64_t part, uint64_t whole);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_MACHINE_H_
