#ifndef SANDGLASS_SERVER_JOB_COLLECT_FILES_H_
#define SANDGLASS_SERVER_JOB_COLLECT_FILES_H_

#include "sandbox/jail/jail.h"
#include "server/job/job.h"
#include "server/job/run_listener.h"

namespace sandglass::server {

// Makes the jail hand out the files that the job asks for, for at most ten
// seconds, and puts them into `result`, except those that `listener`, which may
// be null, takes over. Without a jail there are no files.
void CollectFiles(sandbox::Jail* jail, const Job& job, RunListener* listener,
                  JobResult& result);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_COLLECT_FILES_H_
