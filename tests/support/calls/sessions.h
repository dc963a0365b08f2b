#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_SESSIONS_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_SESSIONS_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "sandglass/v1/session.pb.h"
#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// One call of the session service; none may hang a test.
template <typename Request, typename Response>
grpc::Status CallSessions(Client& client,
                          grpc::Status (v1::SessionService::Stub::*method)(
                              grpc::ClientContext*, const Request&, Response*),
                          const Request& request, Response* response) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  return (client.sessions().*method)(&context, request, response);
}

v1::CreateSessionRequest PythonSession();

// A session that is deleted at the end of a test, if it is there still.
class TestSession {
 public:
  explicit TestSession(Client& client, const v1::CreateSessionRequest& request =
                                           PythonSession());
  ~TestSession();
  TestSession(const TestSession&) = delete;
  TestSession& operator=(const TestSession&) = delete;

  // How its creation went.
  const grpc::Status& status() const { return status_; }
  const std::string& id() const { return id_; }

  v1::RunCodeRequest Cell(std::string_view code,
                          std::string_view context = "") const;
  RunResult Run(std::string_view code, std::string_view context = "");
  // As the server describes it now.
  grpc::Status Get(v1::Session* session);
  grpc::Status Delete();
  // Its daemon is gone; nothing is deleted.
  void Forget() { forgotten_ = true; }

 private:
  Client& client_;
  grpc::Status status_;
  std::string id_;
  bool forgotten_ = false;
};

// The data of the only value among the results in a MIME type; a sentence about
// what there is instead.
std::string ValueOf(const v1::RunCodeResponse& response,
                    std::string_view type = "text/plain");

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_SESSIONS_H_
