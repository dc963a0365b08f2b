#include "gateway/connect/methods.h"

#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "server/base/api_services.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::MethodOptions;

Method Describe(const MethodDescriptor& descriptor) {
  Method method;
  method.path = absl::StrCat("/", descriptor.service()->full_name(), "/",
                             descriptor.name());
  method.descriptor = &descriptor;
  method.request = descriptor.input_type();
  method.response = descriptor.output_type();
  method.client_streams = descriptor.client_streaming();
  method.server_streams = descriptor.server_streaming();
  method.no_side_effects = descriptor.options().idempotency_level() ==
                           MethodOptions::NO_SIDE_EFFECTS;
  return method;
}

std::vector<Method> DescribeAll() {
  std::vector<Method> methods;
  for (const auto* service : server::ApiServices()) {
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(Describe(*service->method(i)));
    }
  }
  return methods;
}

}  // namespace

const std::vector<Method>& ApiMethods() {
  static const auto* const methods = new std::vector<Method>(DescribeAll());
  return *methods;
}

const Method* FindMethod(std::string_view path) {
  static const auto* const by_path = [] {
    auto* table = new std::unordered_map<std::string_view, const Method*>();
    for (const Method& method : ApiMethods()) {
      table->emplace(method.path, &method);
    }
    return table;
  }();
  const auto found = by_path->find(path);
  return found == by_path->end() ? nullptr : found->second;
}

}  // namespace sandglass::gateway
