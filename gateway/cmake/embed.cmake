# cmake -DIN=FILE -DOUT=SOURCE -P embed.cmake: writes a source that defines the
# function of gateway/connect/api_descriptors.h with the bytes of FILE.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
# A string of C++ for every 64 bytes: such lines compile in a tenth of the time
# that a list of numbers takes.
string(REPEAT "...." 64 line)
string(REGEX REPLACE "(${line})" "\\1\"\n    \"" bytes "${bytes}")
file(WRITE ${OUT} "// Written by gateway/cmake/embed.cmake.
#include \"gateway/connect/api_descriptors.h\"

namespace sandglass::gateway {

std::string_view ApiDescriptors() {
  static constexpr char kBytes[] =
    \"${bytes}\";
  return std::string_view(kBytes, sizeof(kBytes) - 1);
}

}  // namespace sandglass::gateway
")
