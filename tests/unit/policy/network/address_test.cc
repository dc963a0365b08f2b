#include "policy/network/address.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "policy/network/address_kind.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

IpAddress Address(const std::string& text) {
  const absl::StatusOr<IpAddress> address = IpAddress::Parse(text);
  EXPECT_TRUE(address.ok()) << address.status();
  return address.value_or(IpAddress());
}

AddressRange Range(const std::string& text) {
  const absl::StatusOr<AddressRange> range = AddressRange::Parse(text);
  EXPECT_TRUE(range.ok()) << range.status();
  return range.value_or(AddressRange(IpAddress()));
}

TEST(IpAddress, IsWrittenAsRfc5952Says) {
  const struct {
    const char* text;
    const char* written;
  } cases[] = {
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
      {"2001:DB8::ABCD", "2001:db8::abcd"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::ffff:c000:201", "::ffff:192.0.2.1"},
      {"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
      {"64:ff9b::192.0.2.1", "64:ff9b::c000:201"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Address(c.text).ToString(), c.written);
    EXPECT_EQ(Address(c.written), Address(c.text));
  }
}

TEST(IpAddress, RefusesEveryOtherForm) {
  for (const std::string& text : {std::string(),
                                  std::string("1.2.3"),
                                  std::string("1.2.3.4.5"),
                                  std::string("01.2.3.4"),
                                  std::string("1.2.3.256"),
                                  std::string("0x7f.0.0.1"),
                                  std::string("2130706433"),
                                  std::string(" 1.2.3.4"),
                                  std::string("1.2.3.4 "),
                                  std::string("1.2.3.4."),
                                  std::string("1.2.3.4\0", 8),
                                  std::string("[::1]"),
                                  std::string(":::"),
                                  std::string("1::2::3"),
                                  std::string("::12345"),
                                  std::string("1:2:3:4:5:6:7:8:9"),
                                  std::string("1:2:3:4:5:6:7"),
                                  std::string("::g"),
                                  std::string("::ffff:1.2.3"),
                                  std::string("::ffff:01.2.3.4"),
                                  std::string("::1\0", 4),
                                  std::string(1000, ':'),
                                  std::string("a.b")}) {
    const auto address = IpAddress::Parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_THAT(std::string(address.status().message()),
                HasSubstr("is no address; write one as 192.0.2.1"));
  }
  EXPECT_THAT(std::string(IpAddress::Parse("fe80::1%eth0").status().message()),
              HasSubstr("\"fe80::1%eth0\" has a zone"));
}

TEST(IpAddress, RoundTripsItsBytes) {
  const IpAddress v4 = IpAddress::V4(192, 0, 2, 1);
  EXPECT_EQ(v4.bytes(), std::string("\xc0\0\x02\x01", 4));
  EXPECT_EQ(IpAddress::FromBytes(v4.bytes()), v4);
  EXPECT_TRUE(v4.is_v4());
  const IpAddress v6 = IpAddress::V6({0x2001, 0xdb8, 0, 0, 0, 0, 0, 1});
  EXPECT_EQ(v6, Address("2001:db8::1"));
  EXPECT_EQ(IpAddress::FromBytes(v6.bytes()), v6);
  EXPECT_EQ(v6.bits(), 128u);
  for (const size_t size : {0, 3, 5, 15, 17}) {
    EXPECT_EQ(IpAddress::FromBytes(std::string(size, 'x')), std::nullopt);
  }
  // The same bytes are another address in the other version.
  EXPECT_NE(Address("0.0.0.0"), Address("::"));
}

TEST(IpAddress, OnlyMappedOnesAreIPv4) {
  EXPECT_EQ(Address("::ffff:10.0.0.1").Unmapped(), Address("10.0.0.1"));
  for (const char* text : {"10.0.0.1", "::10.0.0.1", "::ffff:0:a00:1",
                           "64:ff9b::a00:1", "2002:a00:1::"}) {
    EXPECT_EQ(Address(text).Unmapped(), Address(text));
  }
}

TEST(AddressRange, ContainsWhatBeginsWithItsBits) {
  const struct {
    const char* range;
    std::vector<const char*> in;
    std::vector<const char*> out;
  } cases[] = {
      {"10.0.0.0/8",
       {"10.0.0.0", "10.255.255.255"},
       {"9.255.255.255", "11.0.0.0", "::ffff:10.0.0.1", "a00::"}},
      {"172.16.0.0/12",
       {"172.16.0.0", "172.31.255.255"},
       {"172.15.255.255", "172.32.0.0"}},
      {"192.0.2.128/31", {"192.0.2.128", "192.0.2.129"}, {"192.0.2.130"}},
      {"192.0.2.1/32", {"192.0.2.1"}, {"192.0.2.0", "192.0.2.2"}},
      {"0.0.0.0/0", {"0.0.0.0", "255.255.255.255"}, {"::"}},
      {"::/0", {"::", "ffff::1"}, {"0.0.0.0"}},
      {"fe80::/10", {"fe80::1", "febf:ffff::"}, {"fec0::", "fe7f::"}},
      {"2001:db8::1/128", {"2001:db8::1"}, {"2001:db8::"}},
  };
  for (const auto& c : cases) {
    const AddressRange range = Range(c.range);
    EXPECT_EQ(range.ToString(), c.range);
    for (const char* text : c.in) {
      EXPECT_TRUE(range.Contains(Address(text))) << c.range << " " << text;
    }
    for (const char* text : c.out) {
      EXPECT_FALSE(range.Contains(Address(text))) << c.range << " " << text;
    }
  }
}

TEST(AddressRange, SaysWhatToWriteInstead) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"10.0.0.1/8",
       "\"10.0.0.1/8\" has bits set past the first 8; write 10.0.0.0/8 for the "
       "range or 10.0.0.1 for the address"},
      {"2001:db8::1/33", "write 2001:db8::/33 for the range"},
      {"10.0.0.0", "has no prefix length; write it as 10.0.0.0/32"},
      {"10.0.0.0/", "has \"\" for its prefix length"},
      {"10.0.0.0/33",
       "has \"33\" for its prefix length; write a number from "
       "0 to 32"},
      {"::/129", "from 0 to 128"},
      {"10.0.0.0/08", "has \"08\" for its prefix length"},
      {"10.0.0.0/+8", "has \"+8\" for its prefix length"},
      {"10.0.0.0/8/8", "has \"8/8\" for its prefix length"},
      {"10.0.0.0/255.0.0.0", "has \"255.0.0.0\" for its prefix length"},
      {"10.0.0.0/99999999999", "for its prefix length"},
      {"10/8", "\"10\" is no address"},
      {"::ffff:10.0.0.0/104",
       "is a range of IPv4 addresses; write it as "
       "10.0.0.0/8"},
  };
  for (const auto& c : cases) {
    const auto range = AddressRange::Parse(c.text);
    ASSERT_FALSE(range.ok()) << c.text;
    EXPECT_THAT(std::string(range.status().message()), HasSubstr(c.message));
  }
}

struct Block {
  const char* first;
  const char* last;
  AddressKind kind;
};
void PrintTo(const Block& block, std::ostream* out) { *out << block.first; }

class SpecialBlock : public ::testing::TestWithParam<Block> {};

TEST_P(SpecialBlock, IsOfItsKindToBothEnds) {
  for (const char* text : {GetParam().first, GetParam().last}) {
    EXPECT_EQ(KindName(KindOf(Address(text))), KindName(GetParam().kind))
        << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    AddressKind, SpecialBlock,
    ::testing::Values(
        Block{"0.0.0.0", "::", AddressKind::kUnspecified},
        Block{"0.0.0.1", "0.255.255.255", AddressKind::kReserved},
        Block{"1.0.0.0", "9.255.255.255", AddressKind::kPublic},
        Block{"10.0.0.0", "10.255.255.255", AddressKind::kPrivate},
        Block{"11.0.0.0", "100.63.255.255", AddressKind::kPublic},
        Block{"100.64.0.0", "100.127.255.255", AddressKind::kPrivate},
        Block{"100.128.0.0", "126.255.255.255", AddressKind::kPublic},
        Block{"127.0.0.0", "127.255.255.255", AddressKind::kLoopback},
        Block{"128.0.0.0", "169.253.255.255", AddressKind::kPublic},
        Block{"169.254.0.0", "169.254.255.255", AddressKind::kLinkLocal},
        Block{"169.255.0.0", "172.15.255.255", AddressKind::kPublic},
        Block{"172.16.0.0", "172.31.255.255", AddressKind::kPrivate},
        Block{"172.32.0.0", "191.255.255.255", AddressKind::kPublic},
        Block{"192.0.0.0", "192.0.0.255", AddressKind::kReserved},
        Block{"192.0.1.0", "192.0.1.255", AddressKind::kPublic},
        Block{"192.0.2.0", "192.0.2.255", AddressKind::kDocumentation},
        Block{"192.88.99.0", "192.88.99.255", AddressKind::kReserved},
        Block{"192.167.255.255", "192.169.0.0", AddressKind::kPublic},
        Block{"192.168.0.0", "192.168.255.255", AddressKind::kPrivate},
        Block{"198.17.255.255", "198.20.0.0", AddressKind::kPublic},
        Block{"198.18.0.0", "198.19.255.255", AddressKind::kReserved},
        Block{"198.51.100.0", "198.51.100.255", AddressKind::kDocumentation},
        Block{"203.0.113.0", "203.0.113.255", AddressKind::kDocumentation},
        Block{"203.0.114.0", "223.255.255.255", AddressKind::kPublic},
        Block{"224.0.0.0", "239.255.255.255", AddressKind::kMulticast},
        Block{"240.0.0.0", "255.255.255.254", AddressKind::kReserved},
        Block{"255.255.255.255", "::ffff:255.255.255.255",
              AddressKind::kBroadcast},
        Block{"169.254.169.254", "169.254.170.2", AddressKind::kMetadata},
        Block{"100.100.100.200", "192.0.0.192", AddressKind::kMetadata},
        Block{"fd00:ec2::254", "fd20:ce::254", AddressKind::kMetadata},
        Block{"168.63.129.16", "::ffff:a9fe:a9fe", AddressKind::kMetadata}));

INSTANTIATE_TEST_SUITE_P(
    AddressKindV6, SpecialBlock,
    ::testing::Values(
        Block{"::1", "::ffff:127.0.0.1", AddressKind::kLoopback},
        Block{"100::", "100::ffff:ffff:ffff:ffff", AddressKind::kReserved},
        Block{"100:0:0:1::", "200::", AddressKind::kReserved},
        Block{"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
              AddressKind::kReserved},
        Block{"64:ff9b:2::", "1fff:ffff::", AddressKind::kReserved},
        Block{"2000::", "2000:ffff::", AddressKind::kPublic},
        Block{"2001:1::", "2001:1ff:ffff::", AddressKind::kReserved},
        Block{"2001:200::", "2001:db7:ffff::", AddressKind::kPublic},
        Block{"2001:db8::", "2001:db8:ffff::", AddressKind::kDocumentation},
        Block{"2001:db9::", "2001:ffff::", AddressKind::kPublic},
        Block{"2606:4700::1111", "3ffe:ffff::", AddressKind::kPublic},
        Block{"3fff::", "3fff:fff:ffff::", AddressKind::kDocumentation},
        Block{"3fff:1000::", "3fff:ffff::", AddressKind::kPublic},
        Block{"4000::", "fbff:ffff::", AddressKind::kReserved},
        Block{"5f00::", "5f00:ffff::", AddressKind::kReserved},
        Block{"fc00::", "fdff:ffff::", AddressKind::kPrivate},
        Block{"fe00::", "fe7f:ffff::", AddressKind::kReserved},
        Block{"fe80::", "febf:ffff::", AddressKind::kLinkLocal},
        Block{"fec0::", "feff:ffff::", AddressKind::kPrivate},
        Block{"ff00::", "ffff:ffff::", AddressKind::kMulticast}));

TEST(AddressKind, IsThatOfTheIPv4AddressInside) {
  const struct {
    const char* v4;
    std::vector<const char*> carriers;
  } cases[] = {
      {"10.1.2.3",
       {"::ffff:10.1.2.3", "::10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::1",
        "2001:0:808:808::f5fe:fdfc", "2606:4700::5efe:10.1.2.3",
        "2606:4700::200:5efe:10.1.2.3"}},
      {"127.0.0.1",
       {"::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1",
        "2002:7f00:1::", "2001:0:808:808::80ff:fffe"}},
      {"169.254.169.254",
       {"::ffff:169.254.169.254", "::169.254.169.254",
        "64:ff9b::169.254.169.254",
        "2002:a9fe:a9fe::", "2001:0:808:808::5601:5601"}},
      {"8.8.8.8",
       {"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        "2001:0:808:808::f7f7:f7f7", "2606:4700::5efe:8.8.8.8"}},
  };
  for (const auto& c : cases) {
    for (const char* carrier : c.carriers) {
      EXPECT_EQ(KindName(KindOf(Address(carrier))),
                KindName(KindOf(Address(c.v4))))
          << carrier;
    }
  }
}

TEST(AddressKind, HasTheNarrowestRangeOfItsKind) {
  EXPECT_EQ(SpecialRangeOf(Address("10.1.2.3")), Range("10.0.0.0/8"));
  EXPECT_EQ(SpecialRangeOf(Address("169.254.169.254")),
            Range("169.254.169.254/32"));
  EXPECT_EQ(SpecialRangeOf(Address("fd12::1")), Range("fc00::/7"));
  EXPECT_EQ(SpecialRangeOf(Address("8.8.8.8")), std::nullopt);
  EXPECT_EQ(SpecialRangeOf(Address("64:ff9b::10.0.0.1")), std::nullopt);
}

TEST(AddressKind, SomeAreNoDestinations) {
  for (int i = 0; i <= static_cast<int>(AddressKind::kReserved); ++i) {
    const auto kind = static_cast<AddressKind>(i);
    EXPECT_FALSE(KindName(kind).empty());
    EXPECT_EQ(IsDestination(kind), kind != AddressKind::kUnspecified &&
                                       kind != AddressKind::kMulticast &&
                                       kind != AddressKind::kBroadcast);
  }
}

}  // namespace
}  // namespace sandglass::policy
