// A daemon's answers, or what claims to be a daemon, as the command line tool
// shows them. The first byte says which message the rest is. Whatever it holds,
// what a terminal gets is harmless.
#include <string>
#include <string_view>

#include "client/base/json_text.h"
#include "client/base/units.h"
#include "client/connection/error_text.h"
#include "client/run/language_guess.h"
#include "client/run/verdict_line.h"
#include "sandglass/v1/run.pb.h"
#include "sandglass/v1/server_info.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/terminal.h"

namespace sandglass::client {
namespace {

using fuzz::CheckHarmless;
using fuzz::Lines;

void CheckJson(const google::protobuf::Message& message) {
  const absl::StatusOr<std::string> json = JsonText(message);
  if (!json.ok()) return;
  FUZZ_CHECK(!json->empty() && json->back() == '\n');
  CheckHarmless(std::string_view(*json).substr(0, json->size() - 1),
                Lines::kOne);
}

void ShowRun(const std::string& bytes) {
  v1::RunCodeResponse response;
  if (!response.ParseFromString(bytes)) return;
  CheckHarmless(VerdictLine(response, Colour::kOff), Lines::kOne);
  for (const std::string& line : NoteLines(response)) {
    CheckHarmless(line, Lines::kOne);
  }
  CheckHarmless(
      InterruptedLine(2, absl::Seconds(1), response.run_id(), Colour::kOff),
      Lines::kOne);
  CheckHarmless(FormatTimeSpan(FromProto(response.usage().wall_time())),
                Lines::kOne);
  CheckJson(response);
}

void ShowError(fuzz::Input& input) {
  const auto code = static_cast<grpc::StatusCode>(input.Byte() % 17);
  const std::string message = input.Text(), address = input.Text();
  const std::string details(input.Rest());
  const std::string text =
      RpcErrorText(grpc::Status(code, message, details), address);
  FUZZ_CHECK(!text.empty() && text.back() == '\n');
  CheckHarmless(text, Lines::kMany);
}

void Guess(fuzz::Input& input) {
  const std::string file = input.Text(), code = input.LongText();
  v1::GetServerInfoResponse server;
  if (!server.ParseFromString(std::string(input.Rest()))) return;
  (void)ShebangInterpreter(code);
  const auto guess = GuessLanguage(file, code, server);
  if (!guess.ok()) FUZZ_CHECK(absl::IsInvalidArgument(guess.status()));
  CheckJson(server);
}

void ReadUnits(const std::string& text) {
  if (const auto span = ParseTimeSpan(text); span.ok()) {
    FUZZ_CHECK(*span >= absl::Milliseconds(1));
    FUZZ_CHECK(*span <= absl::Hours(24 * 30));
    FUZZ_CHECK(FromProto(ToProto(*span)) == *span);
  }
  if (const auto bytes = ParseByteSize(text); bytes.ok()) {
    FUZZ_CHECK(*bytes >= 1 && *bytes <= uint64_t{1} << 50);
    FUZZ_CHECK(!FormatByteSize(*bytes).empty());
  }
}

}  // namespace
}  // namespace sandglass::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace client = sandglass::client;
  sandglass::fuzz::Input input(data, size);
  switch (input.Byte() % 4) {
    case 0:
      client::ShowRun(std::string(input.Rest()));
      break;
    case 1:
      client::ShowError(input);
      break;
    case 2:
      client::Guess(input);
      break;
    case 3:
      client::ReadUnits(std::string(input.Rest()));
      break;
  }
  return 0;
}
