// A program on its way into a jail, by each of the three ways: what the daemon
// writes, the readers on the other side must read as it was meant.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "internal/spawner.pb.h"
#include "sandbox/jail/jail.h"
#include "sandbox/jail/job_frame.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/zygote/runner_job.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

struct Program {
  ProgramSpec spec;
  std::vector<std::string> paths, contents;
};

// No NUL in what ends with one: requests that have some are refused.
std::string Word(fuzz::Input& input) {
  std::string word = input.Text();
  std::replace(word.begin(), word.end(), '\0', '0');
  return word;
}

Program TakeProgram(fuzz::Input& input) {
  Program program;
  const uint8_t arguments = input.Byte() % 8;
  const uint8_t variables = input.Byte() % 8;
  const uint8_t files = input.Byte() % 8;
  // The content of a file may come again and again, past what goes inline.
  const uint8_t repeat = input.Byte();
  for (int i = 0; i <= arguments; ++i) {
    program.spec.argv.push_back(Word(input));
  }
  for (int i = 0; i < variables; ++i) program.spec.env.push_back(Word(input));
  for (int i = 0; i < files; ++i) {
    program.paths.push_back(Word(input));
    const std::string content = input.LongText();
    std::string& whole = program.contents.emplace_back();
    for (int n = 0; n <= repeat; ++n) whole += content;
  }
  program.spec.with_stdin = input.Byte() != 0;
  program.spec.open_files = input.Short();
  program.spec.cpu_time = absl::Milliseconds(input.Short());
  for (int i = 0; i < files; ++i) {
    const auto at = static_cast<size_t>(i);
    program.spec.files.push_back(
        {program.paths[at], program.contents[at], 0100u + i});
  }
  return program;
}

std::string WholeFile(const os::Fd& file) {
  struct stat info = {};
  FUZZ_CHECK(::fstat(file.get(), &info) == 0);
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  FUZZ_CHECK(::pread(file.get(), bytes.data(), bytes.size(), 0) ==
             info.st_size);
  return bytes;
}

os::Packet Sent(const Program& program, bool to_runner) {
  auto control = os::SeqPacketPair();
  auto runner = os::SeqPacketPair();
  FUZZ_CHECK(control.ok() && runner.ok());
  Jail::Parts parts;
  parts.control = std::move(control->first);
  if (to_runner) parts.runner = std::move(runner->first);
  Jail jail(std::move(parts));
  FUZZ_CHECK(jail.StartProgram(program.spec).ok());
  absl::StatusOr<os::Packet> packet = os::ReceivePacket(
      to_runner ? runner->second.get() : control->second.get(), os::Wait::kNo);
  FUZZ_CHECK(packet.ok());
  return *std::move(packet);
}

void CheckRunner(const Program& program) {
  const os::Packet packet = Sent(program, /*to_runner=*/true);
  RunnerJob header = {};
  FUZZ_CHECK(packet.data.size() >= sizeof(header));
  FUZZ_CHECK(packet.data.size() <= sizeof(header) + kMaxInlineJob);
  std::memcpy(&header, packet.data.data(), sizeof(header));
  const std::string bytes = packet.fds.empty()
                                ? packet.data.substr(sizeof(header))
                                : WholeFile(packet.fds[0]);
  RunnerJobBody body;
  FUZZ_CHECK(ReadRunnerJob(header, bytes, body));
  const auto same = [](const std::string& a, const char* b) { return a == b; };
  FUZZ_CHECK(std::equal(program.spec.argv.begin(), program.spec.argv.end(),
                        body.arguments.begin(), body.arguments.end(), same));
  FUZZ_CHECK(std::equal(program.spec.env.begin(), program.spec.env.end(),
                        body.environment.begin(), body.environment.end(),
                        same));
  FUZZ_CHECK(body.files.size() == program.paths.size());
  for (size_t i = 0; i < body.files.size(); ++i) {
    FUZZ_CHECK(program.paths[i] == body.files[i].path);
    FUZZ_CHECK(program.contents[i] == body.files[i].content);
    FUZZ_CHECK(program.spec.files[i].mode == body.files[i].mode);
  }
  FUZZ_CHECK((header.with_stdin != 0) == program.spec.with_stdin);
  FUZZ_CHECK(header.open_files == program.spec.open_files);
}

void CheckInit(const Program& program) {
  const os::Packet packet = Sent(program, /*to_runner=*/false);
  internal::InitRequest request;
  FUZZ_CHECK(request.ParseFromString(packet.data) && request.has_start());
  const internal::StartProgram& start = request.start();
  FUZZ_CHECK(packet.fds.size() == 1);
  FUZZ_CHECK(std::equal(program.spec.argv.begin(), program.spec.argv.end(),
                        start.argv().begin(), start.argv().end()));
  FUZZ_CHECK(std::equal(program.spec.env.begin(), program.spec.env.end(),
                        start.env().begin(), start.env().end()));
  FUZZ_CHECK(start.files_size() == static_cast<int>(program.paths.size()));
  const std::string contents = WholeFile(packet.fds[0]);
  size_t at = 0;
  for (int i = 0; i < start.files_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    FUZZ_CHECK(start.files(i).path() == program.paths[index]);
    FUZZ_CHECK(contents.substr(at, start.files(i).size()) ==
               program.contents[index]);
    at += start.files(i).size();
  }
  FUZZ_CHECK(at == contents.size());
}

// As sandbox/jail/job_frame.h tells interpreters to read it.
void CheckFrame(const Program& program, bool with_secret) {
  const std::string secret = with_secret ? MakeEndSecret() : "";
  const std::string frame = JobFrame(
      program.spec,
      with_secret ? std::optional<absl::string_view>(secret) : std::nullopt);
  FUZZ_CHECK(frame.size() >= 4);
  size_t size = 0;
  for (int i = 0; i < 4; ++i) {
    size = size << 8 | static_cast<uint8_t>(frame[static_cast<size_t>(i)]);
  }
  FUZZ_CHECK(size == frame.size() - 4);
  std::vector<std::string> strings;
  for (size_t from = 4; from < frame.size();) {
    const size_t end = frame.find('\0', from);
    FUZZ_CHECK(end != std::string::npos);
    strings.push_back(frame.substr(from, end - from));
    from = end + 1;
  }
  std::vector<std::string> wanted;
  if (with_secret) wanted.push_back(secret);
  wanted.push_back(std::to_string(program.spec.argv.size()));
  wanted.insert(wanted.end(), program.spec.argv.begin(),
                program.spec.argv.end());
  wanted.insert(wanted.end(), program.spec.env.begin(), program.spec.env.end());
  FUZZ_CHECK(strings == wanted);
}

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::fuzz::Input input(data, size);
  const sandglass::sandbox::Program program =
      sandglass::sandbox::TakeProgram(input);
  sandglass::sandbox::CheckRunner(program);
  sandglass::sandbox::CheckInit(program);
  sandglass::sandbox::CheckFrame(program, input.Byte() % 2 != 0);
  return 0;
}
