#include "server/base/version.h"

namespace sandglass::server {

const char kVersion[] = SANDGLASS_VERSION;

}  // namespace sandglass::server
