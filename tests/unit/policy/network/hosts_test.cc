#include "policy/network/hosts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

constexpr HostSyntax kBoth[] = {HostSyntax::kPlain, HostSyntax::kAuthority};

RequestedHost Host(const std::string& text) {
  const auto host = ParseRequestedHost(text, HostSyntax::kPlain);
  EXPECT_TRUE(host.ok()) << host.status();
  return host.value_or(RequestedHost(IpAddress()));
}

HostPattern Pattern(const std::string& text) {
  const auto pattern = HostPattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *pattern;
}

std::string Label(size_t size) { return std::string(size, 'a'); }

// A name of so many bytes, with labels that are as long as they may be.
std::string Name(size_t size) {
  std::string name;
  while (size - name.size() > 64) name += Label(63) + ".";
  return name + Label(size - name.size());
}

TEST(RequestedHost, IsInNormalForm) {
  const struct {
    const char* text;
    const char* normal;
  } cases[] = {
      {"example.org", "example.org"},
      {"EXAMPLE.Org", "example.org"},
      {"example.org.", "example.org"},
      {"_dmarc.example.org", "_dmarc.example.org"},
      {"r1---a.example.org", "r1---a.example.org"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
      {"localhost", "localhost"},
      {"1.example", "1.example"},
      {"0x7f.com", "0x7f.com"},
      {"a.0xg", "a.0xg"},
      {"1.2.3.4x", "1.2.3.4x"},
      {"192.0.2.1", "192.0.2.1"},
  };
  for (const auto& c : cases) {
    for (const HostSyntax syntax : kBoth) {
      const auto host = ParseRequestedHost(c.text, syntax);
      ASSERT_TRUE(host.ok()) << host.status();
      EXPECT_EQ(host->ToString(), c.normal);
      EXPECT_EQ(host->name().empty(), host->address().has_value());
    }
  }
  EXPECT_EQ(Host(Name(253)).name(), Name(253));
  EXPECT_EQ(Host(Name(253) + ".").name(), Name(253));
}

TEST(RequestedHost, HasIPv6InBracketsWhereThatIsTheSyntax) {
  const auto plain = [](const char* text) {
    return ParseRequestedHost(text, HostSyntax::kPlain);
  };
  const auto authority = [](const char* text) {
    return ParseRequestedHost(text, HostSyntax::kAuthority);
  };
  EXPECT_EQ(plain("2001:DB8:0::1")->ToString(), "2001:db8::1");
  EXPECT_EQ(authority("[2001:DB8:0::1]")->ToString(), "2001:db8::1");
  EXPECT_EQ(authority("[::ffff:10.0.0.1]")->ToString(), "10.0.0.1");
  EXPECT_EQ(plain("::ffff:a00:1")->ToString(), "10.0.0.1");
  EXPECT_EQ(RequestedHost(*IpAddress::Parse("::ffff:10.0.0.1")),
            Host("10.0.0.1"));
  for (const auto& [bad, message] :
       std::vector<std::pair<absl::StatusOr<RequestedHost>, std::string>>{
           {plain("[::1]"), "has brackets; write it without them"},
           {plain("[example.org]"), "has \"[\""},
           {plain("::1%eth0"), "has a zone"},
           {plain("1:2"), "is no IPv6 address"},
           {plain("example.org:443"), "is no IPv6 address"},
           {authority("::1"), "write an IPv6 address in brackets"},
           {authority("example.org:443"), "has a colon"},
           {authority("[fe80::1%25eth0]"), "has a zone"},
           {authority("[10.0.0.1]"), "is no IPv6 address"},
           {authority("[example.org]"), "is no IPv6 address"},
           {authority("[]"), "is no IPv6 address"},
           {authority("["), "has \"[\""},
           {authority("[::1"), "has a colon"}}) {
    ASSERT_FALSE(bad.ok()) << message;
    EXPECT_THAT(std::string(bad.status().message()), HasSubstr(message));
  }
}

TEST(RequestedHost, IsNoNumberInDisguise) {
  for (const char* text :
       {"2130706433",    "127.1",        "0177.0.0.1", "0x7f.1",
        "0x7f000001",    "017700000001", "127.0.0.01", "1.2.3.4.",
        "1.2.3.4.5",     "256.0.0.1",    "example.1",  "example.0x7f",
        "example.0X7F.", "0x",           "a.0x",       "09",
        "0.0",           "1.2.3",        "4294967296", "127.0.0.0x1"}) {
    for (const HostSyntax syntax : kBoth) {
      const auto host = ParseRequestedHost(text, syntax);
      ASSERT_FALSE(host.ok()) << text;
      EXPECT_THAT(std::string(host.status().message()),
                  HasSubstr("ends in a number, so programs could take it for"));
    }
  }
}

TEST(RequestedHost, TakesNothingThatOthersReadDifferently) {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"", "the host \"\" is empty"},
      {".", "has an empty label"},
      {"..", "has an empty label"},
      {".a.b", "has an empty label"},
      {"a..b", "has an empty label"},
      {"a.b..", "has an empty label"},
      {" a.b", "has white space or a control character at byte 0"},
      {"a.b\n", "at byte 3"},
      {"a\tb", "at byte 1"},
      {std::string("a.b\0.c", 6), "at byte 3"},
      {"a.\x7f", "at byte 2"},
      {"b\xc3\xbc.org",
       "has a character outside ASCII at byte 1; write it in "
       "punycode"},
      {"\xff", "the host \"\\xff\" has"},
      {"a%2eb", "has a percent sign"},
      {"%31.2.3.4", "has a percent sign"},
      {"a/b", "has \"/\""},
      {"a@b", "has \"@\""},
      {"*.b.c", "has \"*\""},
      {"a\\b", "has \"\\\\\""},
      {"a,b", "has \",\""},
      {"-a.b", "begins or ends with \"-\""},
      {"a-.b", "begins or ends with \"-\""},
      {"a._b", "has \"_\" in its last label"},
      {"a_b", "has \"_\" in its last label"},
      {Label(64) + ".b", "has a label of 64 bytes; labels have at most 63"},
      {Name(254), "has 254 bytes; names have at most 253"},
      {Name(253) + "..", "has 254 bytes"},
      {std::string(100'000, 'a'), "aaa...\" has 100000 bytes"},
  };
  for (const auto& c : cases) {
    for (const HostSyntax syntax : kBoth) {
      const auto host = ParseRequestedHost(c.text, syntax);
      ASSERT_FALSE(host.ok()) << c.text;
      EXPECT_THAT(std::string(host.status().message()), HasSubstr(c.message));
    }
  }
}

TEST(LocalName, MeansSomethingOnOneNetworkAlone) {
  for (const char* name :
       {"localhost", "a.localhost", "a.b.localhost", "printer.local", "local",
        "metadata.google.internal", "internal", "home.arpa", "nas.home.arpa",
        "abc.onion", "registry", "com"}) {
    EXPECT_TRUE(IsLocalName(name)) << name;
  }
  for (const char* name :
       {"example.org", "localhost.example", "notlocalhost.org", "a.xlocal",
        "arpa.example", "1.in-addr.arpa", "xhome.arpa", "local.example"}) {
    EXPECT_FALSE(IsLocalName(name)) << name;
  }
}

TEST(HostPattern, MatchesWhatItStandsFor) {
  const struct {
    const char* pattern;
    HostPattern::Kind kind;
    std::vector<const char*> match;
    std::vector<const char*> others;
  } cases[] = {
      {"example.org",
       HostPattern::Kind::kName,
       {"example.org", "EXAMPLE.ORG."},
       {"www.example.org", "example.or", "xexample.org", "192.0.2.1"}},
      {"*.example.org",
       HostPattern::Kind::kSuffix,
       {"a.example.org", "a.b.example.org", "A.EXAMPLE.ORG."},
       {"example.org", "xexample.org", "a.example.orgx", "a.example.org.evil",
        "192.0.2.1"}},
      {"localhost",
       HostPattern::Kind::kName,
       {"localhost"},
       {"a.localhost", "127.0.0.1", "::1"}},
      {"192.0.2.1",
       HostPattern::Kind::kAddress,
       {"192.0.2.1", "::ffff:192.0.2.1"},
       {"192.0.2.2", "::192.0.2.1", "64:ff9b::192.0.2.1", "a.b"}},
      {"10.0.0.0/8",
       HostPattern::Kind::kRange,
       {"10.1.2.3", "::ffff:10.1.2.3"},
       {"11.0.0.0", "a.b", "a00::"}},
      {"2001:db8::/32",
       HostPattern::Kind::kRange,
       {"2001:db8::1"},
       {"2001:db9::", "32.1.13.184"}},
      {"::/0", HostPattern::Kind::kRange, {"::1"}, {"::ffff:10.0.0.1"}},
  };
  for (const auto& c : cases) {
    const HostPattern pattern = Pattern(c.pattern);
    EXPECT_EQ(pattern.kind(), c.kind) << c.pattern;
    EXPECT_EQ(pattern.ToString(), c.pattern);
    for (const char* host : c.match) {
      EXPECT_TRUE(pattern.Matches(Host(host))) << c.pattern << " " << host;
    }
    for (const char* host : c.others) {
      EXPECT_FALSE(pattern.Matches(Host(host))) << c.pattern << " " << host;
    }
  }
}

TEST(HostPattern, IsInNormalForm) {
  EXPECT_EQ(Pattern("*.EXAMPLE.org.").ToString(), "*.example.org");
  EXPECT_EQ(Pattern("Example.ORG."), Pattern("example.org"));
  EXPECT_EQ(Pattern("2001:DB8:0::1").ToString(), "2001:db8::1");
  EXPECT_EQ(Pattern("10.0.0.1/32"), Pattern("10.0.0.1"));
  EXPECT_NE(Pattern("*.example.org"), Pattern("example.org"));
}

TEST(HostPattern, NarrowerIsTheOneThatIsForFewerHosts) {
  const std::vector<std::vector<const char*>> rising = {
      {"*.example.org", "*.a.example.org", "b.a.example.org"},
      {"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3"},
  };
  for (const auto& patterns : rising) {
    for (size_t i = 1; i < patterns.size(); ++i) {
      EXPECT_GT(Pattern(patterns[i]).Narrowness(),
                Pattern(patterns[i - 1]).Narrowness());
    }
  }
}

TEST(HostPattern, SaysWhatToWriteInstead) {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"", "is empty"},
      {"*", "would be every host; name hosts, or a suffix"},
      {"*.com",
       "the host \"*.com\" would be all of \"com\"; name two labels "
       "or more, such as \"*.example.com\""},
      {"*.com.", "would be all of \"com\""},
      {"*.", "has an empty label"},
      {"*..com", "has an empty label"},
      {"*.*.org", "has \"*\" elsewhere than as its whole first label"},
      {"a.*.org", "has \"*\" elsewhere"},
      {"*a.example.org", "has \"*\" elsewhere"},
      {"example.*", "has \"*\" elsewhere"},
      {"**.example.org", "has \"*\" elsewhere"},
      {"*.10.0.0.1", "has an address behind \"*.\"; write a range"},
      {"*.0.0.1", "ends in a number"},
      {"*.2001:db8::", "has an address behind"},
      {"*.svc.internal", "have to be named one by one"},
      {"*.home.arpa", "have to be named one by one"},
      {"https://example.org/x",
       "looks like a URL; write the host only, "
       "\"example.org\""},
      {"http://u:p@[::1]:80/", "write the host only, \"::1\""},
      {"example.org/", "write the host only, \"example.org\""},
      {"u@example.org", "write the host only, \"example.org\""},
      {"a.org?x", "looks like a URL"},
      {"://", "looks like a URL; write the host only"},
      {"example.org:443",
       "has a port; write the host only, \"example.org\", "
       "and the port in \"ports\""},
      {"*.example.org:443", "has a port"},
      {"10.0.0.1:80", "has a port; write the host only, \"10.0.0.1\""},
      {"[::1]:80", "has a port; write the host only, \"::1\""},
      {"[::1]", "has brackets; write the host only, \"::1\""},
      {"fe80::1%eth0", "has a zone"},
      {"1::2::3", "is no IPv6 address"},
      {"::ffff:10.0.0.1", "is an IPv4 address; write it as 10.0.0.1"},
      {"10.0.0.1/8", "write 10.0.0.0/8 for the range"},
      {"10.0.0.0/40", "for its prefix length"},
      {"10.0/16", "looks like a URL"},
      {"127.1", "ends in a number"},
      {"2130706433", "ends in a number"},
      {"0x7f.1", "ends in a number"},
      {"b\xc3\xbc"
       "cher.example",
       "write it in punycode, xn--"},
      {"a b", "has white space"},
      {"a%20b", "has a percent sign"},
      {"a_b", "has \"_\" in its last label"},
      {Label(64) + ".org", "has a label of 64 bytes"},
      {"*." + Name(254), "has 254 bytes"},
  };
  for (const auto& c : cases) {
    const auto pattern = HostPattern::Parse(c.text);
    ASSERT_FALSE(pattern.ok()) << c.text;
    EXPECT_THAT(std::string(pattern.status().message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace sandglass::policy
