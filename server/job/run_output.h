#ifndef SANDGLASS_SERVER_JOB_RUN_OUTPUT_H_
#define SANDGLASS_SERVER_JOB_RUN_OUTPUT_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "server/job/job.h"
#include "server/job/output_buffer.h"
#include "server/job/output_redaction.h"

namespace sandglass::server {

// Handles one stream of a run: what the program writes is counted, redacted,
// passed to the observer and kept for the answer, in this order.
class RunOutput {
 public:
  RunOutput(Stream stream, const Job& job)
      : stream_(stream),
        redaction_(job.redactor),
        buffer_(job.limits.output_bytes) {}

  Stream stream() const { return stream_; }
  // Bytes that the program wrote.
  uint64_t written_bytes() const { return redaction_.taken_bytes(); }
  // Bytes that were passed to the observer and the answer.
  uint64_t told_bytes() const { return buffer_.total_bytes(); }

  // Takes what the program wrote; `observer` may be null.
  void Take(std::string_view data, JobObserver* observer,
            absl::Duration since) {
    Tell(redaction_.Take(data), observer, since);
  }
  // The program writes no more.
  void Finish(JobObserver* observer, absl::Duration since) {
    Tell(redaction_.Rest(), observer, since);
  }
  // Returns the answer's part and adds what was redacted to `counts`. Call it
  // once, after Finish.
  StreamResult TakeResult(policy::RedactionCounts& counts) {
    policy::AddCounts(redaction_.counts(), counts);
    return buffer_.Take();
  }

 private:
  void Tell(std::string_view data, JobObserver* observer,
            absl::Duration since) {
    if (data.empty()) return;
    if (observer != nullptr) {
      observer->OnOutput(stream_, data, buffer_.total_bytes(), since);
    }
    buffer_.Append(data);
  }

  const Stream stream_;
  OutputRedaction redaction_;
  OutputBuffer buffer_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_OUTPUT_H_
