#include "tests/support/calls/sessions.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace sandglass::testing {
namespace {

using Stub = v1::SessionService::Stub;

}  // namespace

v1::CreateSessionRequest PythonSession() {
  v1::CreateSessionRequest request;
  request.set_language("python");
  return request;
}

TestSession::TestSession(Client& client,
                         const v1::CreateSessionRequest& request)
    : client_(client) {
  v1::CreateSessionResponse response;
  status_ = CallSessions(client_, &Stub::CreateSession, request, &response);
  id_ = response.session().session_id();
}

TestSession::~TestSession() {
  if (!id_.empty() && !forgotten_) (void)Delete();
}

v1::RunCodeRequest TestSession::Cell(std::string_view code,
                                     std::string_view context) const {
  v1::RunCodeRequest request;
  request.set_session_id(id_);
  request.set_code(std::string(code));
  request.set_context(std::string(context));
  return request;
}

RunResult TestSession::Run(std::string_view code, std::string_view context) {
  return client_.Run(Cell(code, context));
}

grpc::Status TestSession::Get(v1::Session* session) {
  v1::GetSessionRequest request;
  request.set_session_id(id_);
  v1::GetSessionResponse response;
  grpc::Status status =
      CallSessions(client_, &Stub::GetSession, request, &response);
  *session = response.session();
  return status;
}

grpc::Status TestSession::Delete() {
  v1::DeleteSessionRequest request;
  request.set_session_id(id_);
  v1::DeleteSessionResponse response;
  return CallSessions(client_, &Stub::DeleteSession, request, &response);
}

std::string ValueOf(const v1::RunCodeResponse& response,
                    std::string_view type) {
  std::string found;
  int count = 0;
  for (const v1::RichResult& result : response.results()) {
    if (!result.is_value()) continue;
    ++count;
    for (const v1::MimeData& data : result.data()) {
      if (data.mime_type() == type) found = data.data();
    }
  }
  if (count == 1) return found;
  return absl::StrCat("there are ", count, " values among ",
                      response.results_size(),
                      " results; error: ", response.error().traceback());
}

}  // namespace sandglass::testing
