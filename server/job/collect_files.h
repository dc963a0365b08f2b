#ifndef SANDGLASS_SERVER_JOB_COLLECT_FILES_H_
#define SANDGLASS_SERVER_JOB_COLLECT_FILES_H_

#include <cstdint>

#include "sandbox/jail/jail.h"
#include "server/job/job.h"
#include "server/job/job_result.h"
#include "server/job/run_listener.h"

namespace sandglass::server {

// Reads from its beginning a file that the jail handed out, and subtracts the
// bytes read from `budget`. If the file can't be had, the result's error says
// why: the jail's own report; kNotRegular for anything but a regular file of a
// tmpfs; kTooLarge, with the size, for a file above the budget. Of a file that
// shrinks meanwhile it returns what is there.
//
// The jail opened the file with the rights of the program's code. What kind of
// file it is gets checked here, since a forged descriptor must not make the
// server read something else.
FileResult ReadCollectedFile(const sandbox::FileEvent& event, uint64_t& budget);

// Makes the jail hand out the files that the job asks for, for at most ten
// seconds, and puts them into `result`, except those that `listener`, which may
// be null, takes over. Without a jail there are no files.
void CollectFiles(sandbox::Jail* jail, const Job& job, RunListener* listener,
                  JobResult& result);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_COLLECT_FILES_H_
