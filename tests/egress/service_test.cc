// What the proxy's process does for the daemon, whom it doesn't believe.

#include "sandbox/egress/service.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/wire/network_proto.h"
#include "sandbox/yard/template_ledger.h"
#include "tests/support/network/world.h"

namespace sandglass::egress {
namespace {

using ::testing::HasSubstr;
using testing::JailNet;

constexpr char kTemplate[] = "web@1+network";

policy::NetworkPolicy Rules() {
  policy::NetworkPolicy policy;
  policy.profile = "web";
  policy.hosts.push_back({.host = *policy::HostPattern::Parse("*.wild.example"),
                          .ports = {{80, 80}, {8000, 8999}},
                          .inspect = true,
                          .methods = {"GET", "POST"},
                          .secrets = {"API_KEY"}});
  policy.limits = {.connections_at_once = 2,
                   .connections = 3,
                   .bytes = 4000,
                   .to_connect = absl::Milliseconds(1500),
                   .to_speak = absl::Seconds(6),
                   .idle = absl::Seconds(7)};
  return policy;
}

TEST(NetworkProto, CarriesEveryFieldOfTheRules) {
  const policy::NetworkPolicy rules = Rules();
  const auto back = sandbox::FromProto(sandbox::ToProto(rules));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->profile, "web");
  ASSERT_EQ(back->hosts.size(), 1u);
  const policy::AllowedHost& host = back->hosts.front();
  EXPECT_EQ(host.host, rules.hosts.front().host);
  EXPECT_EQ(host.ports, rules.hosts.front().ports);
  EXPECT_TRUE(host.inspect);
  EXPECT_EQ(host.methods, rules.hosts.front().methods);
  EXPECT_EQ(host.secrets, rules.hosts.front().secrets);
  EXPECT_EQ(back->limits.connections_at_once, 2u);
  EXPECT_EQ(back->limits.connections, 3u);
  EXPECT_EQ(back->limits.bytes, 4000u);
  EXPECT_EQ(back->limits.to_connect, absl::Milliseconds(1500));
  EXPECT_EQ(back->limits.to_speak, absl::Seconds(6));
  EXPECT_EQ(back->limits.idle, absl::Seconds(7));
}

TEST(NetworkProto, RefusesInvalidRules) {
  const internal::NetworkRules good = sandbox::ToProto(Rules());
  internal::NetworkRules rules = good;
  rules.mutable_hosts(0)->set_host("not a host");
  EXPECT_FALSE(sandbox::FromProto(rules).ok());
  rules = good;
  rules.mutable_hosts(0)->mutable_ports(0)->set_last(70'000);
  EXPECT_FALSE(sandbox::FromProto(rules).ok());
  rules = good;
  rules.set_connections(0);
  EXPECT_FALSE(sandbox::FromProto(rules).ok());
  rules = good;
  rules.clear_hosts();
  EXPECT_FALSE(sandbox::FromProto(rules).ok());
}

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    internal::EgressConfig config;
    internal::NetworkTemplate& added = *config.add_templates();
    added.set_template_name(kTemplate);
    *added.mutable_rules() = sandbox::ToProto(Rules());
    auto ledger = sandbox::TemplateLedger::Create();
    EXPECT_TRUE(ledger.ok());
    auto end = ledger->ReadingEnd();
    EXPECT_TRUE(end.ok());
    ledger_ = std::make_unique<sandbox::TemplateLedger>(*std::move(ledger));
    auto service = Service::Create(config, Secrets(), *std::move(end));
    EXPECT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  std::vector<os::Fd> Doors() const {
    std::vector<os::Fd> doors;
    doors.push_back(net_.Listener(3128));
    doors.push_back(net_.DnsSocket());
    doors.push_back(net_.Listener(80));
    return doors;
  }
  internal::EgressAnswer Open(uint64_t id, const std::string& name,
                              std::vector<os::Fd> doors) {
    internal::EgressRequest request;
    request.mutable_open()->set_lease_id(id);
    request.mutable_open()->set_template_name(name);
    return Ask(request, std::move(doors));
  }
  internal::EgressAnswer Read(uint64_t id) {
    internal::EgressRequest request;
    request.mutable_read()->set_lease_id(id);
    return Ask(request, {});
  }
  internal::EgressAnswer Close(uint64_t id) {
    internal::EgressRequest request;
    request.mutable_close()->set_lease_id(id);
    return Ask(request, {});
  }
  internal::EgressAnswer Ask(const internal::EgressRequest& request,
                             std::vector<os::Fd> fds) {
    auto answer =
        service_->Answer({request.SerializeAsString(), std::move(fds)});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return *std::move(answer);
  }

  JailNet net_;
  std::unique_ptr<sandbox::TemplateLedger> ledger_;
  std::unique_ptr<Service> service_;
};

int Code(absl::StatusCode code) { return static_cast<int>(code); }

TEST_F(ServiceTest, ServesAJailUntilItIsClosed) {
  internal::EgressAnswer answer = Open(7, kTemplate, Doors());
  EXPECT_EQ(answer.error(), 0) << answer.message();
  EXPECT_EQ(answer.lease_id(), 7u);
  const os::Fd program = net_.ConnectTo("127.0.0.1", 3128);
  ASSERT_TRUE(testing::Send(program.get(),
                            "GET http://other.example/ HTTP/1.1\r\n"
                            "Host: other.example\r\n\r\n"));
  EXPECT_THAT(testing::ReceiveAll(program.get()), HasSubstr(" 403 "));
  answer = Read(7);
  EXPECT_EQ(answer.usage().connections(), 1u);
  ASSERT_EQ(answer.usage().refusals_size(), 1);
  EXPECT_EQ(answer.usage().refusals(0).target(), "other.example:80");
  EXPECT_EQ(Close(7).usage().refused(), 1u);
  EXPECT_EQ(Close(7).error(), Code(absl::StatusCode::kNotFound));
  EXPECT_EQ(Read(7).error(), Code(absl::StatusCode::kNotFound));
  // Nobody listens there any more.
  EXPECT_FALSE(net_.ConnectTo("127.0.0.1", 3128).valid());
}

TEST_F(ServiceTest, TakesRulesFromItsTemplatesAlone) {
  EXPECT_EQ(Open(1, "nobody's", Doors()).error(),
            Code(absl::StatusCode::kNotFound));
  EXPECT_EQ(Open(1, "", Doors()).error(), Code(absl::StatusCode::kNotFound));
  // Nobody listens at the doors that were refused.
  EXPECT_FALSE(net_.ConnectTo("127.0.0.1", 3128).valid());
}

TEST_F(ServiceTest, FindsTemplatesThatCameLater) {
  const auto rules = std::make_shared<const policy::NetworkPolicy>(Rules());
  ASSERT_TRUE(ledger_
                  ->Append({{.name = "later@1"},
                            {.name = "later@1+network", .network = rules}})
                  .ok());
  EXPECT_EQ(Open(1, "later@1+network", Doors()).error(), 0);
  EXPECT_EQ(Close(1).error(), 0);
  // It has none.
  EXPECT_EQ(Open(2, "later@1", Doors()).error(),
            Code(absl::StatusCode::kNotFound));
}

TEST_F(ServiceTest, AJailNumberInUseIsRefused) {
  EXPECT_EQ(Open(1, kTemplate, Doors()).error(), 0);
  const JailNet other;
  std::vector<os::Fd> doors;
  doors.push_back(other.Listener(3128));
  doors.push_back(other.DnsSocket());
  EXPECT_EQ(Open(1, kTemplate, std::move(doors)).error(),
            Code(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(Close(1).error(), 0);
}

TEST_F(ServiceTest, ChecksTheDescriptorsThatItIsGiven) {
  const int invalid = Code(absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Open(1, kTemplate, {}).error(), invalid);
  std::vector<os::Fd> doors = Doors();
  doors.resize(1);
  EXPECT_EQ(Open(1, kTemplate, std::move(doors)).error(), invalid);

  const auto with = [&](size_t place, os::Fd fd) {
    std::vector<os::Fd> changed = Doors();
    changed[place] = std::move(fd);
    return Open(1, kTemplate, std::move(changed)).error();
  };
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const os::Fd other_end(pipe[1]);
  EXPECT_EQ(with(0, os::Fd(pipe[0])), invalid);
  EXPECT_EQ(with(0, os::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC))), invalid);
  os::Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(with(0, std::move(local)), invalid);
  os::Fd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(with(2, std::move(six)), invalid);
  // One that doesn't listen, one for datagrams where none belongs, and the
  // other way round.
  EXPECT_EQ(with(0, net_.Socket(SOCK_STREAM)), invalid);
  EXPECT_EQ(with(2, net_.Socket(SOCK_DGRAM)), invalid);
  EXPECT_EQ(with(1, net_.Listener(81)), invalid);

  std::vector<os::Fd> many = Doors();
  for (uint16_t port = 9000; many.size() <= 18; ++port) {
    many.push_back(net_.Listener(port));
  }
  EXPECT_EQ(Open(1, kTemplate, std::move(many)).error(), invalid);
  EXPECT_EQ(Open(1, kTemplate, Doors()).error(), 0);
}

TEST_F(ServiceTest, AMalformedMessageEndsTheService) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(service_->Answer({"\xff\xff", {}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(service_->Answer({"", {}}).status()));
}

}  // namespace
}  // namespace sandglass::egress
