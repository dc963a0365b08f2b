// Programs reach the hosts that their profile allows, by whatever client they
// use, and no other.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/network_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A client of a language, as a program that fetches @URL@ and prints what it gets
// or why not.
struct HttpClient {
  const char* name;
  const char* language;
  const char* code;
};

constexpr HttpClient kClients[] = {
    {"Curl", "bash", "curl -sS --max-time 20 @URL@"},
    {"CurlWithoutProxy", "bash", "curl --noproxy '*' -sS --max-time 20 @URL@"},
    {"Wget", "bash", "wget -q -O - --tries=1 @URL@"},
    {"Urllib", "python", R"(
import urllib.request
print(urllib.request.urlopen("@URL@", timeout=20).read().decode())
)"},
    {"UrllibWithoutProxy", "python", R"(
import urllib.request as u
print(u.build_opener(u.ProxyHandler({})).open("@URL@", timeout=20).read().decode())
)"},
    {"Requests", "python", R"(
import requests
print(requests.get("@URL@", timeout=20).text)
)"},
    {"Httpx", "python", R"(
import httpx
print(httpx.get("@URL@", timeout=20, follow_redirects=True).text)
)"},
    {"NodeFetch", "javascript", R"(
const response = await fetch("@URL@");
console.log(await response.text());
)"},
    {"NodeHttp", "javascript", R"(
const http = await import("http");
http.get("@URL@", response => response.pipe(process.stdout));
)"},
    {"GoNetHttp", "go", R"(
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get("@URL@")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(response.Body)
	fmt.Println(string(body))
}
)"},
    {"JavaHttpClient", "java", R"(
import java.net.URI;
import java.net.http.*;

public class Main {
  public static void main(String[] args) throws Exception {
    HttpResponse<String> response = HttpClient.newHttpClient().send(
        HttpRequest.newBuilder(URI.create("@URL@")).build(),
        HttpResponse.BodyHandlers.ofString());
    System.out.println(response.body());
  }
}
)"},
    {"JavaUrlConnection", "java", R"(
import java.net.URL;

public class Main {
  public static void main(String[] args) throws Exception {
    System.out.println(new String(new URL("@URL@").openStream().readAllBytes()));
  }
}
)"},
    {"RubyNetHttp", "ruby", R"(
require "net/http"
puts Net::HTTP.get(URI("@URL@"))
)"},
    {"PerlSocket", "perl", R"(
use IO::Socket::INET;
my $s = IO::Socket::INET->new(PeerAddr => "@HOST@", PeerPort => 80) or die "$!";
print $s "GET @PATH@ HTTP/1.1\r\nHost: @HOST@\r\nConnection: close\r\n\r\n";
print while <$s>;
)"},
};

class EachClient : public NetworkTest,
                   public ::testing::WithParamInterface<HttpClient> {
 protected:
  v1::RunCodeResponse Fetch(const std::string& host, const std::string& path) {
    return RunIn("web",
                 Program(GetParam().language,
                         absl::StrReplaceAll(
                             GetParam().code,
                             {{"@URL@", absl::StrCat("http://", host, path)},
                              {"@HOST@", host},
                              {"@PATH@", path}})));
  }
};

TEST_P(EachClient, ReachesWhatIsAllowedAndNothingElse) {
  const v1::RunCodeResponse allowed = Fetch(kAllowed, "/one");
  EXPECT_EQ(allowed.outcome(), v1::OUTCOME_OK) << Describe(allowed);
  EXPECT_THAT(allowed.stdout().data(),
              HasSubstr(absl::StrCat("hello from ", kAllowed, " /one")));
  EXPECT_GE(allowed.network().connections(), 1);
  EXPECT_EQ(allowed.network().refused(), 0);
  EXPECT_GT(allowed.network().received_bytes(), 20);

  const v1::RunCodeResponse deep = Fetch(kDeep, "/two");
  EXPECT_THAT(deep.stdout().data(),
              HasSubstr(absl::StrCat("hello from ", kDeep, " /two")));

  const v1::RunCodeResponse other = Fetch(kOther, "/three");
  EXPECT_THAT(other.stdout().data(), Not(HasSubstr("hello")));
  const v1::RunCodeResponse inner = Fetch(kPrivate, "/four");
  EXPECT_THAT(inner.stdout().data(), Not(HasSubstr("hello")));
  ASSERT_THAT(inner.network().refusals(), Not(IsEmpty())) << Describe(inner);
  EXPECT_THAT(inner.network().refusals(0).reason(), HasSubstr("10.1.2.3"));
  EXPECT_THAT(Heard(), SizeIs(2));
}

INSTANTIATE_TEST_SUITE_P(Network, EachClient, ::testing::ValuesIn(kClients),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace sandglass::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!sandglass::testing::EnterOwnWorld()) {
    std::perror("a network namespace of the tests' own (needs root)");
    return 1;
  }
  return RUN_ALL_TESTS();
}
