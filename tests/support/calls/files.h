#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_FILES_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_FILES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "sandglass/v1/files.pb.h"
#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// The files of a session, by the service's calls; none may hang a test.
class TestFiles {
 public:
  TestFiles(Client& client, std::string session_id)
      : client_(client), session_id_(std::move(session_id)) {}

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::FileService::Stub::*method)(
                        grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return (client_.files().*method)(&context, request, response);
  }
  // The same for this session.
  template <typename Request, typename Response>
  grpc::Status Named(grpc::Status (v1::FileService::Stub::*method)(
                         grpc::ClientContext*, const Request&, Response*),
                     Request request, Response* response) {
    request.set_session_id(session_id_);
    return Call(method, request, response);
  }

  // With the directories on the way, in pieces.
  grpc::Status Write(const std::string& path, const std::string& content,
                     v1::FileInfo* info = nullptr);
  grpc::Status WriteAs(const v1::FileWriteStart& start,
                       const std::vector<std::string>& pieces,
                       v1::FileInfo* info);
  grpc::Status Read(const std::string& path, std::string* content,
                    uint64_t offset = 0, uint64_t limit = 0);
  // As an archive, and out of one.
  grpc::Status Snapshot(const std::string& path, std::string* archive);
  grpc::Status Restore(v1::RestoreFilesStart start, const std::string& archive,
                       v1::RestoreFilesResponse* response);
  grpc::Status List(const std::string& path,
                    v1::ListDirectoryResponse* response);

 private:
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  }

  Client& client_;
  const std::string session_id_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_FILES_H_
