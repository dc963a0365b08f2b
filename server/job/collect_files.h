#ifndef SANDGLASS_SERVER_JOB_COLLECT_FILES_H_
#define SANDGLASS_SERVER_JOB_COLLECT_FILES_H_

#include <cstdint>

#include "sandbox/jail/jail.h"
#include "server/job/job.h"

namespace sandglass::server {

// Reads a file that the jail handed out, from its beginning, and takes what it
// read off `budget` (bytes). What can't be had is said in the result's error:
// the jail's own report; kNotRegular for anything but a regular file of a
// tmpfs; kTooLarge, with the size, for a file above the budget. A file that
// shrinks meanwhile gives what there is.
FileResult ReadCollectedFile(const sandbox::FileEvent& event, uint64_t& budget);

// Has the jail hand out the files that the job asks for, for at most ten
// seconds, and puts them into `result`; those that `observer`, which may be
// null, takes are not. Without a jail none can be had.
void CollectFiles(sandbox::Jail* jail, const Job& job, JobObserver* observer,
                  JobResult& result);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_COLLECT_FILES_H_
