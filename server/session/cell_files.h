#ifndef SANDGLASS_SERVER_SESSION_CELL_FILES_H_
#define SANDGLASS_SERVER_SESSION_CELL_FILES_H_

#include "absl/status/status.h"
#include "sandbox/files/file_agent_client.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/job_result.h"

namespace sandglass::server {

// The files of a run in a jail that has a file agent: a session's, or that of a
// kernel of its own.

// Whether PutFiles has anything to do: the request brought files. Those that
// the language itself puts beside a program are for jails that are used once.
bool BringsFiles(const Job& job);

// Writes the files that the request brought into /workspace, in place of those
// that are there. The error names the file.
absl::Status PutFiles(const Job& job, sandbox::FileAgent& agent,
                      const CancelToken& cancel);

// Puts what the job wants to have fetched into `result`, within the bounds that
// all runs have, in at most ten seconds. A null `agent` stands for a jail that
// is gone: no file can be had.
void FetchFiles(const Job& job, sandbox::FileAgent* agent, JobResult& result);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_CELL_FILES_H_
