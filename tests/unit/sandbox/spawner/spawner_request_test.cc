// What a request may say of a jail, and what its template alone says.
#include <fcntl.h>

#include "gtest/gtest.h"
#include "sandbox/spawner/request.h"

namespace sandglass::sandbox {
namespace {

internal::JailSlots Slots() {
  internal::JailSlots slots;
  slots.set_memory_bytes(1);
  slots.set_max_processes(1);
  slots.set_cpu_millis(1);
  slots.set_tmp_bytes(1);
  slots.set_workspace_bytes(1);
  slots.set_max_files(1);
  return slots;
}

class SpawnerRequest : public ::testing::Test {
 protected:
  SpawnerRequest() {
    internal::Template& plain = *config_.add_templates();
    plain.set_name("plain");
    *plain.mutable_maximum() = Slots();
    internal::Template& other = *config_.add_templates();
    other.set_name("other");
    *other.mutable_maximum() = Slots();
    other.mutable_maximum()->mutable_disk()->set_reads(50);
    other.mutable_maximum()->set_image("tiny");
    config_.mutable_zygote();
    request_.set_jail_id(1);
    *request_.mutable_slots() = Slots();
  }

  static absl::StatusOr<internal::SpawnerRequest> ReadAs(
      const internal::SpawnerConfig& config, const os::Packet& packet) {
    TemplateBook templates(config, os::Fd());
    return ReadRequest(templates, ZygoteOf(config), packet);
  }

  absl::StatusOr<internal::CreateJail> Read(const char* name) {
    request_.set_template_name(name);
    internal::SpawnerRequest message;
    *message.mutable_create() = request_;
    // A host that can cap.
    config_.add_disks("8:0");
    auto read = ReadAs(config_, {.data = message.SerializeAsString()});
    if (!read.ok()) return read.status();
    EXPECT_TRUE(read->has_create());
    return read->create();
  }

  internal::SpawnerConfig config_;
  internal::CreateJail request_;
};

TEST_F(SpawnerRequest, GetsTheTemplatesImageAndCapWhateverItSays) {
  request_.mutable_slots()->set_image("another");
  request_.mutable_slots()->mutable_disk()->set_reads(1'000'000);
  auto other = Read("other");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->slots().image(), "tiny");
  EXPECT_EQ(other->slots().disk().reads(), 50u);
  auto plain = Read("plain");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->slots().image(), "");
  EXPECT_FALSE(plain->slots().has_disk());
}

TEST_F(SpawnerRequest, AsksForARunnerInTheZygotesImageOnly) {
  request_.set_with_runner(true);
  EXPECT_TRUE(Read("plain").ok());
  EXPECT_FALSE(Read("other").ok());
  config_.mutable_zygote()->set_image("tiny");
  EXPECT_FALSE(Read("plain").ok());
  EXPECT_TRUE(Read("other").ok());
  config_.clear_zygote();
  EXPECT_FALSE(Read("plain").ok());
  EXPECT_FALSE(Read("other").ok());
}

TEST_F(SpawnerRequest, NamesALayerByItsIdAlone) {
  for (const std::string& id :
       {std::string(), std::string(64, 'a'), std::string(64, '0')}) {
    request_.set_layer(id);
    const auto read = Read("plain");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->layer(), id);
  }
  for (const std::string& text :
       {std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
        std::string(64, '.'), std::string("../images/default"),
        std::string(61, 'a') + "/..", std::string(63, 'a') + '\0'}) {
    request_.set_layer(text);
    EXPECT_FALSE(Read("plain").ok()) << text;
  }
}

TEST_F(SpawnerRequest, AsksWhatThereIs) {
  internal::SpawnerRequest message;
  EXPECT_FALSE(ReadAs(config_, {.data = message.SerializeAsString()}).ok());
  message.mutable_take_stock();
  const auto read = ReadAs(config_, {.data = message.SerializeAsString()});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->has_take_stock());
  os::Packet with_descriptor = {.data = message.SerializeAsString()};
  with_descriptor.fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(ReadAs(config_, with_descriptor).ok());
}

}  // namespace
}  // namespace sandglass::sandbox
