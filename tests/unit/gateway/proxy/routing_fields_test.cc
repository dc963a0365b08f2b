#include "gateway/proxy/routing_fields.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/files.pb.h"
#include "sandglass/v1/run.pb.h"
#include "sandglass/v1/session.pb.h"
#include "server/edge/message_codec.h"

namespace sandglass::gateway {
namespace {

using ::testing::ElementsAre;

RoutingFields Read(const google::protobuf::Message& message) {
  return ReadRoutingFields(*message.GetDescriptor(),
                           server::SerializeMessage(message).value());
}

RoutingFields ReadBytes(const google::protobuf::Descriptor& type,
                        const std::string& text) {
  const grpc::Slice slice(text);
  return ReadRoutingFields(type, grpc::ByteBuffer(&slice, 1));
}

TEST(RoutingFields, AreThoseOfARun) {
  v1::RunCodeRequest run;
  run.set_language("python");
  run.set_code(std::string(1 << 20, 'x'));
  run.set_profile("strict");
  run.set_request_id("r-1");
  run.set_session_id("ses-a-0123456789abcdef");
  run.set_approval_id("appr-a-0123456789abcdef");
  run.add_libraries("six");
  run.add_libraries("numpy==1");
  run.mutable_limits()->set_memory_bytes(123);
  for (const RoutingFields& fields : {Read(run), [&] {
                                        v1::StreamRunCodeRequest stream;
                                        *stream.mutable_run() = run;
                                        return Read(stream);
                                      }()}) {
    EXPECT_EQ(fields.language, "python");
    EXPECT_EQ(fields.profile, "strict");
    EXPECT_EQ(fields.request_id, "r-1");
    EXPECT_EQ(fields.session_id, "ses-a-0123456789abcdef");
    EXPECT_EQ(fields.approval_id, "appr-a-0123456789abcdef");
    EXPECT_THAT(fields.libraries, ElementsAre("six", "numpy==1"));
    EXPECT_EQ(fields.memory_bytes, 123u);
  }
}

TEST(RoutingFields, AreFoundWhereACallBegins) {
  v1::ExecuteRequest execute;
  execute.mutable_start()->mutable_spec()->set_session_id("one");
  EXPECT_EQ(Read(execute).session_id, "one");
  execute.mutable_attach()->set_session_id("two");
  EXPECT_EQ(Read(execute).session_id, "two");
  v1::WriteFileRequest write;
  write.mutable_start()->set_session_id("three");
  EXPECT_EQ(Read(write).session_id, "three");
  v1::GetOrCreateSessionRequest create;
  create.mutable_create()->set_language("go");
  EXPECT_EQ(Read(create).language, "go");
  EXPECT_TRUE(Read(create).labels.empty());
  v1::GetOrCreateSessionRequest same = create;
  (*create.mutable_create()->mutable_labels())["a"] = "1";
  (*create.mutable_create()->mutable_labels())["b"] = "2";
  (*same.mutable_create()->mutable_labels())["b"] = "2";
  EXPECT_NE(Read(create).labels, Read(same).labels);
  (*same.mutable_create()->mutable_labels())["a"] = "1";
  EXPECT_EQ(Read(create).labels, Read(same).labels);
  EXPECT_EQ(Read(create).labels.size(), 2u);
  v1::CancelRunRequest cancel;
  cancel.set_run_id("run-a-0123456789abcdef");
  EXPECT_EQ(Read(cancel).run_id, "run-a-0123456789abcdef");
}

TEST(RoutingFields, BytesThatAreNoMessageDoNoHarm) {
  const auto& type = *v1::RunCodeRequest::descriptor();
  v1::RunCodeRequest run;
  run.set_language("python");
  const std::string good = run.SerializeAsString();
  EXPECT_EQ(ReadBytes(type, "").language, "");
  EXPECT_EQ(ReadBytes(type, good + "\xff\xff\xff").language, "python");
  EXPECT_EQ(ReadBytes(type, good.substr(0, good.size() - 1)).language, "");
  // Lengths that lie, groups without an end, nesting without one.
  EXPECT_EQ(ReadBytes(type, "\x0a\xff\xff\xff\xff\x0f").language, "");
  EXPECT_EQ(ReadBytes(type, std::string(1 << 16, '\x0b')).language, "");
  EXPECT_EQ(ReadBytes(type, std::string(1 << 16, '\x42')).language, "");
  // A name that is none has no bound.
  run.set_language(std::string(1 << 20, 'x'));
  EXPECT_EQ(Read(run).language, "");
  run.set_language("python");
  for (int i = 0; i < 5000; ++i) run.add_libraries("x");
  EXPECT_LE(Read(run).libraries.size(), 1024u);
}

}  // namespace
}  // namespace sandglass::gateway
