// Prints the OpenAPI document of the gateway.
#include <cstdio>
#include <string>

#include "gateway/connect/openapi.h"

int main() {
  const std::string document = sandglass::gateway::MakeOpenApi();
  return std::puts(document.c_str()) < 0 ? 1 : 0;
}
