// Programs reach the hosts that their profile allows, by whatever client they
// use, and no other.

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/network/network_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A client of a language, as a program that fetches @URL@ and prints what it
// gets or why not.
struct HttpClient {
  const char* name;
  const char* language;
  const char* code;
  // Of one that knows TLS and takes whom to trust from the environment.
  bool tls = true;
};

constexpr HttpClient kClients[] = {
    {"Curl", "bash", "curl -sS --max-time 20 @URL@"},
    {"CurlWithoutProxy", "bash", "curl --noproxy '*' -sS --max-time 20 @URL@"},
    {"Wget", "bash", "wget -q -O - --tries=1 @URL@", false},
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
)",
     false},
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
)",
     false},
    {"JavaUrlConnection", "java", R"(
import java.net.URL;

public class Main {
  public static void main(String[] args) throws Exception {
    System.out.println(new String(new URL("@URL@").openStream().readAllBytes()));
  }
}
)",
     false},
    {"RubyNetHttp", "ruby", R"(
require "net/http"
puts Net::HTTP.get(URI("@URL@"))
)"},
    {"PerlSocket", "perl", R"(
use IO::Socket::INET;
my $s = IO::Socket::INET->new(PeerAddr => "@HOST@", PeerPort => 80) or die "$!";
print $s "GET @PATH@ HTTP/1.1\r\nHost: @HOST@\r\nConnection: close\r\n\r\n";
print while <$s>;
)",
     false},
};

// Java has a trust store of its own, which it doesn't read from PEM.
constexpr HttpClient kJavaTls = {"JavaWithItsOwnTrust", "java", R"(
import java.net.URI;
import java.net.http.*;
import java.nio.file.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.*;

public class Main {
  public static void main(String[] args) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    store.setCertificateEntry("test", CertificateFactory.getInstance("X.509")
        .generateCertificate(Files.newInputStream(Path.of("roots.pem"))));
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(store);
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    System.out.println(HttpClient.newBuilder().sslContext(tls).build().send(
        HttpRequest.newBuilder(URI.create("@URL@")).build(),
        HttpResponse.BodyHandlers.ofString()).body());
  }
}
)"};

std::vector<HttpClient> TlsClients() {
  std::vector<HttpClient> clients;
  for (const HttpClient& each : kClients) {
    if (each.tls) clients.push_back(each);
  }
  return clients;
}

// Those, and Java's, which are told whom to trust as they start.
std::vector<HttpClient> ClientsThatTrust() {
  std::vector<HttpClient> clients = TlsClients();
  for (const HttpClient& each : kClients) {
    if (std::string_view(each.language) == "java") clients.push_back(each);
  }
  return clients;
}

class EachTlsClient : public NetworkTest,
                      public ::testing::WithParamInterface<HttpClient> {};
class EachClientThatTrusts : public NetworkTest,
                             public ::testing::WithParamInterface<HttpClient> {
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

// The same with TLS, of which the proxy sees the server's name alone.
TEST_P(EachTlsClient, ReachesWhatIsAllowedAndNothingElse) {
  const auto fetch = [&](const std::string& host) {
    v1::RunCodeRequest request =
        Program(GetParam().language,
                absl::StrReplaceAll(
                    GetParam().code,
                    {{"@URL@", absl::StrCat("https://", host, "/tls")}}));
    v1::InputFile& file = *request.add_files();
    file.set_path("roots.pem");
    file.set_content(roots());
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
                             "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}) {
      (*request.mutable_env())[name] = "/workspace/roots.pem";
    }
    return RunIn("web", request);
  };
  const v1::RunCodeResponse allowed = fetch(kAllowed);
  EXPECT_THAT(allowed.stdout().data(),
              HasSubstr(absl::StrCat("hello from ", kAllowed, " /tls")))
      << Describe(allowed);
  EXPECT_GT(allowed.network().received_bytes(), 500);
  const v1::RunCodeResponse other = fetch(kOther);
  EXPECT_THAT(other.stdout().data(), Not(HasSubstr("hello")));
  EXPECT_THAT(Heard(), SizeIs(1));
}

// The proxy is TLS's end, which programs trust without being told to.
TEST_P(EachClientThatTrusts, ReachesWhatIsInspected) {
  const v1::RunCodeResponse response = RunIn(
      "look",
      Program(
          GetParam().language,
          absl::StrReplaceAll(
              GetParam().code,
              {{"@URL@", absl::StrCat("https://", kInspected, "/looked")}})));
  EXPECT_THAT(response.stdout().data(),
              HasSubstr(absl::StrCat("hello from ", kInspected, " /looked")))
      << Describe(response);
}

std::string NameOf(const ::testing::TestParamInfo<HttpClient>& each) {
  return each.param.name;
}

INSTANTIATE_TEST_SUITE_P(Network, EachClient, ::testing::ValuesIn(kClients),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Network, EachTlsClient,
                         ::testing::ValuesIn(TlsClients()), NameOf);
INSTANTIATE_TEST_SUITE_P(Java, EachTlsClient, ::testing::Values(kJavaTls),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Network, EachClientThatTrusts,
                         ::testing::ValuesIn(ClientsThatTrust()), NameOf);

TEST_F(NetworkTest, ASecretIsInsertedByTheProxyOnly) {
  const std::string fetch =
      absl::StrCat("curl -sS -H 'Authorization: Bearer ${secret:API_KEY}' ");
  const v1::RunCodeResponse response = RunIn(
      "look", Program("bash", absl::StrCat(fetch, "https://", kInspected,
                                           "/with; env; cat /proc/*/environ")));
  EXPECT_THAT(response.stdout().data(), HasSubstr("/with"));
  EXPECT_THAT(response.stdout().data(), Not(HasSubstr(kSecretValue)));
  EXPECT_THAT(Heard(), ElementsAre(HasSubstr(absl::StrCat(
                           "Authorization: Bearer ", kSecretValue, "\r\n"))));

  // Where no rule lists it, nothing goes on.
  const v1::RunCodeResponse elsewhere = RunIn(
      "web", Program("bash", absl::StrCat(fetch, "http://", kAllowed, "/")));
  EXPECT_THAT(elsewhere.stdout().data(), HasSubstr("API_KEY"));
  EXPECT_EQ(elsewhere.network().refused(), 1);
  EXPECT_THAT(Heard(), SizeIs(1));
}

TEST_F(NetworkTest, RefusalsSayWhichRule) {
  const v1::RunCodeResponse host =
      RunIn("web",
            Program("bash", absl::StrCat("curl -sS -w '%{http_code}\n' http://",
                                         kOther, "/")));
  EXPECT_THAT(host.stdout().data(), HasSubstr("403"));
  ASSERT_EQ(host.network().refusals_size(), 1);
  EXPECT_EQ(host.network().refusals(0).target(), absl::StrCat(kOther, ":80"));
  EXPECT_THAT(host.network().refusals(0).reason(),
              AllOf(HasSubstr(kOther), HasSubstr("web")));
  EXPECT_THAT(host.stdout().data(),
              HasSubstr(host.network().refusals(0).reason()));

  const v1::RunCodeResponse method = RunIn(
      "look",
      Program("bash", absl::StrCat("curl -sS -d x https://", kInspected, "/")));
  EXPECT_THAT(method.stdout().data(), HasSubstr("POST"));
  const v1::RunCodeResponse port = RunIn(
      "web",
      Program("bash", absl::StrCat("curl -sS http://", kAllowed, ":8081/")));
  EXPECT_THAT(port.stdout().data(), HasSubstr("8081"));
  const v1::RunCodeResponse away =
      RunIn("web", Program("bash", absl::StrCat("curl -sSL http://", kAllowed,
                                                "/elsewhere")));
  EXPECT_THAT(away.stdout().data(), Not(HasSubstr("hello from other")));
  EXPECT_EQ(away.network().refused(), 1);
}

// With the system's own words for what goes on there, and at once.
TEST_F(NetworkTest, WhatIsNoHostByNameFailsAtOnce) {
  const v1::RunCodeResponse response = RunIn("web", Program("python", R"(
import errno, socket, time
start = time.monotonic()
for family, address in [(socket.AF_INET, ("93.184.216.34", 80)),
                        (socket.AF_INET, ("10.1.2.3", 80)),
                        (socket.AF_INET, ("169.254.169.254", 80)),
                        (socket.AF_INET6, ("2606:2800:220:1::1", 443))]:
    s = socket.socket(family)
    s.settimeout(10)
    try:
        s.connect(address)
        print("reached", address)
    except OSError as error:
        print(errno.errorcode[error.errno])
for name in ["other.test.org", "localhost.localdomain", "metadata.internal"]:
    try:
        print("found", socket.getaddrinfo(name, 80))
    except socket.gaierror as error:
        print(error.strerror)
print("slow" if time.monotonic() - start > 5 else "quick")
)"));
  EXPECT_THAT(response.stdout().data(),
              AllOf(Not(HasSubstr("reached")), Not(HasSubstr("found")),
                    HasSubstr("ENETUNREACH\nENETUNREACH\nENETUNREACH\n"
                              "ENETUNREACH\n"),
                    HasSubstr("quick")))
      << Describe(response);
}

TEST_F(NetworkTest, BudgetsHoldForEachRun) {
  const std::string many =
      absl::StrCat("for i in $(seq 30); do curl -sS --max-time 5 https://",
                   kInspected, "/$i; done");
  for (int run = 0; run < 2; ++run) {
    const v1::RunCodeResponse response = RunIn("look", Program("bash", many));
    EXPECT_THAT(response.stdout().data(), HasSubstr("/20\n"));
    EXPECT_THAT(response.stdout().data(), Not(HasSubstr("/21\n")));
    EXPECT_EQ(response.network().connections(), 20);
    EXPECT_GE(response.network().refused(), 10);
  }
}

// What listens in a program's jail for the proxy (127.0.0.1:3128, as
// /proc/net/tcp writes it) is in no compiler's.
TEST_F(NetworkTest, CompilersHaveNoNetwork) {
  const std::string door = "0100007F:0C38";
  const v1::RunCodeResponse program =
      RunIn("web", Program("bash", "cat /proc/net/tcp"));
  EXPECT_THAT(program.stdout().data(), HasSubstr(door));
  // The assembler finds an error in each line of the list: in its heading, and
  // in each socket.
  const v1::RunCodeResponse compiled = RunIn(
      "web", Program("cpp", "asm(\".include \\\"/proc/net/tcp\\\"\");\n"));
  ASSERT_EQ(compiled.outcome(), v1::OUTCOME_COMPILE_ERROR);
  EXPECT_THAT(
      compiled.compile().stderr().data(),
      AllOf(HasSubstr("/proc/net/tcp:1:"), Not(HasSubstr("/proc/net/tcp:2:"))));
}

// Only the proxy has the secrets' files open, and it closes them.
TEST_F(NetworkTest, NobodyHasASecretsFile) {
  int looked_at = 0;
  for (const Process& process : daemon().Processes()) {
    std::error_code error;
    int files = 0;
    std::filesystem::directory_iterator each(
        absl::StrCat("/proc/", process.pid, "/fd"), error);
    for (; !error && each != std::filesystem::directory_iterator();
         each.increment(error)) {
      std::error_code closed;
      EXPECT_THAT(std::filesystem::read_symlink(*each, closed).string(),
                  Not(HasSubstr("/secrets")))
          << Describe({process});
      ++files;
    }
    if (!error && files > 0) {
      ++looked_at;
      continue;
    }
    // Those of the pool come and go.
    EXPECT_TRUE(WaitUntil([&] { return FindProcess(process.pid) != process; },
                          absl::Seconds(10)))
        << Describe({process}) << ": " << error.message();
  }
  EXPECT_GE(looked_at, 3);  // daemon, proxy, spawner
}

TEST_F(NetworkTest, OtherProfilesHaveNoNetwork) {
  const v1::RunCodeResponse response = RunIn(
      "default",
      Program("bash",
              "curl -sS --noproxy '*' --max-time 5 http://127.0.0.1:3128/ "
              "2>&1; env | grep -ic proxy; exec 3<>/dev/udp/127.0.0.1/53 && "
              "echo x >&3 && echo y >&3"));
  EXPECT_FALSE(response.has_network());
  EXPECT_THAT(response.stdout().data(),
              AllOf(HasSubstr("7)"), HasSubstr("\n0\n")))
      << Describe(response);
}

// A profile that comes while the daemon runs is one for the proxy, too; one
// that lists a secret which isn't there doesn't come.
TEST_F(NetworkTest, ReloadedProfilesChangeTheNetwork) {
  WriteProfile("later", R"({"description": "later", "network": {
      "hosts": [{"host": "allowed.test.org", "ports": [80]}]}})");
  daemon().Signal(SIGHUP);
  v1::RunCodeRequest request =
      Program("bash", absl::StrCat("curl -sS http://", kAllowed, "/later"));
  request.set_profile("later");
  RunResult result;
  ASSERT_TRUE(WaitUntil(
      [&] {
        result = client().Run(request);
        return result.status.ok();
      },
      absl::Seconds(20)));
  EXPECT_THAT(result.response.stdout().data(), HasSubstr("/later"));
}

TEST_F(NetworkTest, ASecretThatIsNotThereIsSaidAtTheStart) {
  WriteProfile("bad", R"({"description": "bad", "network": {"hosts": [
      {"host": "inspected.test.org", "ports": [443], "inspect": true,
       "secrets": ["NOT_THERE"]}]}})");
  StopDaemon();
  const absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(
      {.extra_arguments = {"--policy-dir", absl::StrCat(place_, "/policy")}});
  EXPECT_THAT(std::string(daemon.status().message()),
              AllOf(HasSubstr("NOT_THERE"), HasSubstr("secrets_dir")));
}

// Programs that are in the middle of it end with their jail, and nobody waits.
TEST_F(NetworkTest, ARunEndsWhileItTalks) {
  v1::RunCodeRequest request =
      Program("python",
              "import socket, time\n"
              "s = [socket.create_connection(('allowed.test.org', 80)) for _ "
              "in range(20)]\n"
              "time.sleep(60)\n");
  request.mutable_limits()->mutable_wall_time()->set_seconds(2);
  const v1::RunCodeResponse response = RunIn("web", request);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_TIMEOUT);
  EXPECT_EQ(response.network().connections(), 20);
}

}  // namespace
}  // namespace sandglass::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Clients may go before a server has sent them all of a TLS handshake.
  std::signal(SIGPIPE, SIG_IGN);
  if (!sandglass::testing::EnterOwnWorld()) {
    std::perror("a network namespace of the tests' own (needs root)");
    return 1;
  }
  return RUN_ALL_TESTS();
}
