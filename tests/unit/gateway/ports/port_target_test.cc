#include "gateway/ports/port_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sandglass::gateway {
namespace {

constexpr char kDomain[] = "apps.example.org";

TEST(PortTargetTest, ByHost) {
  for (const char* host :
       {"8000-ses-a-01.apps.example.org", "8000-SES-a-01.Apps.Example.ORG:8443",
        "8000-ses-a-01.apps.example.org."}) {
    const auto target = PortTargetOf(kDomain, host, "/x/../y", "q=1");
    ASSERT_TRUE(target.has_value()) << host;
    EXPECT_EQ(target->session, "ses-a-01");
    EXPECT_EQ(target->port, 8000u);
    EXPECT_TRUE(target->own_origin);
    EXPECT_EQ(target->prefix, "");
    EXPECT_EQ(target->target, "/x/../y?q=1");
  }
  // What is below the domain is never the gateway's own, whatever the path.
  for (const char* host :
       {"x.apps.example.org", "ses-a-01.apps.example.org",
        "0-ses-a.apps.example.org", "65536-ses-a.apps.example.org",
        "08000-ses-a.apps.example.org", "8000-a.apps.example.org",
        "8000-ses-a.b.apps.example.org", "1.8000-ses-a.apps.example.org",
        "-ses-a.apps.example.org"}) {
    for (const char* path : {"/", "/healthz", "/ports/ses-a/8000/"}) {
      const auto target = PortTargetOf(kDomain, host, path, "");
      ASSERT_TRUE(target.has_value()) << host;
      EXPECT_EQ(target->port, 0u) << host;
    }
  }
  for (const char* host : {"apps.example.org", "example.org", "", "localhost",
                           "8000-ses-a.apps.example.org.evil.org",
                           "8000-ses-axapps.example.org"}) {
    EXPECT_FALSE(PortTargetOf(kDomain, host, "/", "").has_value()) << host;
  }
  EXPECT_FALSE(
      PortTargetOf("", "8000-ses-a.apps.example.org", "/", "").has_value());
}

TEST(PortTargetTest, ByPath) {
  const auto target =
      PortTargetOf("", "gw", "/ports/ses-a-01/8000/x/y", "a=%20");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->session, "ses-a-01");
  EXPECT_EQ(target->port, 8000u);
  EXPECT_FALSE(target->own_origin);
  EXPECT_EQ(target->prefix, "/ports/ses-a-01/8000");
  EXPECT_EQ(target->target, "/x/y?a=%20");
  for (const char* path :
       {"/ports/", "/ports/ses-a", "/ports/ses-a/", "/ports/ses-a/8000",
        "/ports/ses-a/0/", "/ports/ses-a/x/", "/ports/ses-a/99999/",
        "/ports/SES-a/8000/", "/ports/../8000/", "/ports/ses-a%2f/8000/",
        "/ports//8000/", "/ports/ses-a/8000x/", "/links/", "/links//",
        "/links/abc"}) {
    const auto none = PortTargetOf("", "gw", path, "");
    ASSERT_TRUE(none.has_value()) << path;
    EXPECT_EQ(none->port, 0u) << path;
  }
  EXPECT_FALSE(PortTargetOf("", "gw", "/portsx", "").has_value());
  const auto link = PortTargetOf("", "gw", "/links/a.b/x", "");
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->link, "a.b");
  EXPECT_EQ(link->target, "/x");
  EXPECT_EQ(link->prefix, "/links/a.b");
}

}  // namespace
}  // namespace sandglass::gateway
