#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_EXECS_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_EXECS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// What one Execute gave so far.
struct ExecResult {
  grpc::Status status;
  std::optional<v1::ExecStarted> started;
  std::vector<v1::ExecOutput> pieces;
  std::vector<v1::ExecGap> gaps;
  std::optional<v1::ExecEnd> end;
  std::optional<v1::ExecYielded> yielded;

  std::string Data(v1::OutputStream stream) const;
  std::string out() const { return Data(v1::OUTPUT_STREAM_STDOUT); }
  std::string err() const { return Data(v1::OUTPUT_STREAM_STDERR); }
  const std::string& exec_id() const { return started->exec().exec_id(); }
  v1::Outcome outcome() const {
    return end ? end->outcome() : v1::OUTCOME_UNSPECIFIED;
  }
};

// An Execute that a test talks with step by step.
class ExecStream {
 public:
  ExecStream(v1::ExecService::Stub& stub, const v1::ExecuteStart& start,
             absl::Duration deadline = kCallDeadline);
  ExecStream(v1::ExecService::Stub& stub, const v1::ExecAttach& attach,
             absl::Duration deadline = kCallDeadline);
  // Cancels what still runs.
  ~ExecStream();
  ExecStream(const ExecStream&) = delete;
  ExecStream& operator=(const ExecStream&) = delete;

  bool Send(const v1::ExecuteRequest& message) {
    return stream_->Write(message);
  }
  bool SendStdin(std::string_view data);
  bool CloseStdin();
  bool Resize(uint32_t rows, uint32_t columns);
  bool Signal(int signal);
  bool Detach();
  void NoMore() { stream_->WritesDone(); }

  // Takes one event; false at the stream's end.
  bool Next();
  // Until stdout has `text`; false when the stream ended before.
  bool ReadUntil(std::string_view text);
  void Cancel() { context_.TryCancel(); }
  // Reads the rest.
  const ExecResult& Finish();
  const ExecResult& result() const { return result_; }

 private:
  void Begin(v1::ExecService::Stub& stub, const v1::ExecuteRequest& first,
             absl::Duration deadline);

  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::ExecuteRequest, v1::ExecuteResponse>>
      stream_;
  ExecResult result_;
  std::string out_;
  bool finished_ = false;
};

// Commands in their plainest form.
v1::ExecSpec Command(const std::string& session_id, std::string_view text);
v1::ExecSpec Argv(const std::string& session_id,
                  const std::vector<std::string>& argv);
v1::ExecuteStart StartOf(const v1::ExecSpec& spec);

// All of it, by one Execute without any input.
ExecResult Execute(v1::ExecService::Stub& stub, const v1::ExecSpec& spec);

// One unary call; none may hang a test.
template <typename Request, typename Response>
grpc::Status CallExecs(v1::ExecService::Stub& stub,
                       grpc::Status (v1::ExecService::Stub::*method)(
                           grpc::ClientContext*, const Request&, Response*),
                       const Request& request, Response* response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  return (stub.*method)(&context, request, response);
}

// Of a snapshot's output.
std::string DataOf(const v1::ExecSnapshot& snapshot, v1::OutputStream stream);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_EXECS_H_
