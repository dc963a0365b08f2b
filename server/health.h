#ifndef SANDGLASS_SERVER_HEALTH_H_
#define SANDGLASS_SERVER_HEALTH_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/grpc_server.h"

namespace sandglass::server {

// What gRPC's health service says: all services are SERVING between the start
// and the end of serving; "" (the daemon as a whole) only while its languages
// work and its audit log can be written, too. Thread-safe.
class Health {
 public:
  // The server outlives the time in which it serves.
  void StartServing(GrpcServer& grpc) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    grpc_ = &grpc;
    grpc.SetHealth(GrpcServer::Health::kServing);
    TellOverall();
  }
  // Nothing is told to the server afterwards.
  void StopServing() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (grpc_ != nullptr) grpc_->SetHealth(GrpcServer::Health::kNotServing);
    grpc_ = nullptr;
  }
  // True at first; at any time.
  void SetLanguagesWork(bool work) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    languages_work_ = work;
    TellOverall();
  }
  void SetAuditWorks(bool works) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    audit_works_ = works;
    TellOverall();
  }

 private:
  void TellOverall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (grpc_ == nullptr) return;
    grpc_->SetOverallHealth(languages_work_ && audit_works_
                                ? GrpcServer::Health::kServing
                                : GrpcServer::Health::kNotServing);
  }

  absl::Mutex mutex_;
  GrpcServer* grpc_ ABSL_GUARDED_BY(mutex_) = nullptr;  // while it serves
  bool languages_work_ ABSL_GUARDED_BY(mutex_) = true;
  bool audit_works_ ABSL_GUARDED_BY(mutex_) = true;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_HEALTH_H_
