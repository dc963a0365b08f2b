// A client that starts a program which never ends, says "started" once the
// program runs, and then waits to be killed.
//
// usage: stuck_client ADDRESS LANGUAGE CODE ARGUMENT

#include <stdio.h>
#include <unistd.h>

#include "tests/support/daemon/client.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: stuck_client ADDRESS LANGUAGE CODE ARGUMENT\n");
    return 2;
  }
  sandglass::testing::Client client(argv[1]);
  sandglass::v1::RunCodeRequest request =
      sandglass::testing::Program(argv[2], argv[3]);
  request.add_args(argv[4]);
  sandglass::testing::StreamCall call(client.stub(), request);
  if (!call.ReadUntil("ready")) {
    fprintf(stderr, "the program did not start: %s\n",
            call.Finish().error_message().c_str());
    return 1;
  }
  puts("started");
  fflush(stdout);
  call.Finish();
  return 0;
}
