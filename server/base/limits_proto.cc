#include "server/base/limits_proto.h"

#include <vector>

#include "policy/limits/limit_fields.h"
#include "server/base/proto_time.h"

namespace sandglass::server {

v1::Limits ToProto(const policy::Limits& limits) {
  v1::Limits proto;
  *proto.mutable_wall_time() = ToProto(limits.wall_time);
  *proto.mutable_cpu_time() = ToProto(limits.cpu_time);
  proto.set_memory_bytes(limits.memory_bytes);
  proto.set_max_processes(limits.max_processes);
  proto.set_cpu_millis(limits.cpu_millis);
  proto.set_tmp_bytes(limits.tmp_bytes);
  proto.set_workspace_bytes(limits.workspace_bytes);
  proto.set_max_files(limits.max_files);
  proto.set_output_bytes(limits.output_bytes);
  proto.set_output_total_bytes(limits.output_total_bytes);
  proto.set_open_files(limits.open_files);
  proto.set_file_size_bytes(limits.file_size_bytes);
  return proto;
}

v1::Limits ToProto(const policy::LimitFloors& floors) {
  policy::Limits limits;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (const auto& [kind, min] : floors) {
    policy::FieldOf(kind).set(limits, min);
    // The values of LimitKind are the numbers of the proto's fields.
    fields.push_back(
        v1::Limits::descriptor()->FindFieldByNumber(static_cast<int>(kind)));
  }
  v1::Limits all = ToProto(limits);
  v1::Limits named;
  v1::Limits::GetReflection()->SwapFields(&all, &named, fields);
  return named;
}

}  // namespace sandglass::server
