#ifndef SANDGLASS_CLIENT_SERVICE_UP_TEXT_H_
#define SANDGLASS_CLIENT_SERVICE_UP_TEXT_H_

#include <string>

#include "sandglass/v1/server_info.pb.h"

namespace sandglass::client {

// What `sandglass up` says beside what the daemon says of itself.
struct UpWords {
  std::string address;
  std::string users;     // who may use it, in words
  std::string program;   // how this program was called
  bool is_usual = true;  // others find it there without being told
  bool colours = false;
};

// Ten lines: where the daemon listens, what is in force, which languages there
// are, what would add the others, and how to go on.
std::string UpText(const v1::GetServerInfoResponse& info, const UpWords& words);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SERVICE_UP_TEXT_H_
