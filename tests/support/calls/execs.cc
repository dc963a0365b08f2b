#include "tests/support/calls/execs.h"

#include "absl/time/clock.h"

namespace sandglass::testing {

std::string ExecResult::Data(v1::OutputStream stream) const {
  std::string data;
  for (const v1::ExecOutput& piece : pieces) {
    if (piece.stream() == stream) data += piece.data();
  }
  return data;
}

ExecStream::ExecStream(v1::ExecService::Stub& stub,
                       const v1::ExecuteStart& start, absl::Duration deadline) {
  v1::ExecuteRequest first;
  *first.mutable_start() = start;
  Begin(stub, first, deadline);
}

ExecStream::ExecStream(v1::ExecService::Stub& stub,
                       const v1::ExecAttach& attach, absl::Duration deadline) {
  v1::ExecuteRequest first;
  *first.mutable_attach() = attach;
  Begin(stub, first, deadline);
}

void ExecStream::Begin(v1::ExecService::Stub& stub,
                       const v1::ExecuteRequest& first,
                       absl::Duration deadline) {
  context_.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
  stream_ = stub.Execute(&context_);
  stream_->Write(first);
}

ExecStream::~ExecStream() {
  if (finished_) return;
  context_.TryCancel();
  Finish();
}

bool ExecStream::SendStdin(std::string_view data) {
  v1::ExecuteRequest message;
  message.set_stdin(std::string(data));
  return Send(message);
}

bool ExecStream::CloseStdin() {
  v1::ExecuteRequest message;
  message.mutable_close_stdin();
  return Send(message);
}

bool ExecStream::Resize(uint32_t rows, uint32_t columns) {
  v1::ExecuteRequest message;
  message.mutable_resize()->set_rows(rows);
  message.mutable_resize()->set_columns(columns);
  return Send(message);
}

bool ExecStream::Signal(int signal) {
  v1::ExecuteRequest message;
  message.set_signal(signal);
  return Send(message);
}

bool ExecStream::Detach() {
  v1::ExecuteRequest message;
  message.mutable_detach();
  return Send(message);
}

bool ExecStream::Next() {
  v1::ExecuteResponse event;
  if (!stream_->Read(&event)) return false;
  switch (event.event_case()) {
    case v1::ExecuteResponse::kStarted:
      result_.started = event.started();
      break;
    case v1::ExecuteResponse::kOutput:
      if (event.output().stream() == v1::OUTPUT_STREAM_STDOUT) {
        out_ += event.output().data();
      }
      result_.pieces.push_back(event.output());
      break;
    case v1::ExecuteResponse::kGap:
      result_.gaps.push_back(event.gap());
      break;
    case v1::ExecuteResponse::kEnd:
      result_.end = event.end();
      break;
    case v1::ExecuteResponse::kYielded:
      result_.yielded = event.yielded();
      break;
    case v1::ExecuteResponse::EVENT_NOT_SET:
      break;
  }
  return true;
}

bool ExecStream::ReadUntil(std::string_view text) {
  while (out_.find(text) == std::string::npos) {
    if (!Next()) return false;
  }
  return true;
}

const ExecResult& ExecStream::Finish() {
  if (finished_) return result_;
  finished_ = true;
  while (Next()) {
  }
  result_.status = stream_->Finish();
  return result_;
}

v1::ExecSpec Command(const std::string& session_id, std::string_view text) {
  v1::ExecSpec spec;
  spec.set_session_id(session_id);
  spec.set_command(std::string(text));
  return spec;
}

v1::ExecSpec Argv(const std::string& session_id,
                  const std::vector<std::string>& argv) {
  v1::ExecSpec spec;
  spec.set_session_id(session_id);
  for (const std::string& word : argv) spec.add_argv(word);
  return spec;
}

v1::ExecuteStart StartOf(const v1::ExecSpec& spec) {
  v1::ExecuteStart start;
  *start.mutable_spec() = spec;
  return start;
}

ExecResult Execute(v1::ExecService::Stub& stub, const v1::ExecSpec& spec) {
  ExecStream stream(stub, StartOf(spec));
  return stream.Finish();
}

std::string DataOf(const v1::ExecSnapshot& snapshot, v1::OutputStream stream) {
  std::string data;
  for (const v1::ExecOutput& piece : snapshot.output()) {
    if (piece.stream() == stream) data += piece.data();
  }
  return data;
}

}  // namespace sandglass::testing
