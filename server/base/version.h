#ifndef SANDGLASS_SERVER_BASE_VERSION_H_
#define SANDGLASS_SERVER_BASE_VERSION_H_

namespace sandglass::server {

// The release, for example "0.1.0".
extern const char kVersion[];

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_VERSION_H_
