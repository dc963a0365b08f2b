#include "tests/e2e/network/network_fixture.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kWeb[] = R"({
  "description": "a few hosts",
  "network": {
    "hosts": ["allowed.test.org",
              {"host": "allowed.test.org", "ports": [8080]},
              "*.wild.test.org",
              "private.test.org",
              {"host": "get.test.org", "ports": [80], "methods": ["GET"]}]
  }
})";

constexpr char kLook[] = R"({
  "description": "a host that is looked into",
  "network": {
    "hosts": [{"host": "inspected.test.org", "ports": [443], "inspect": true,
               "methods": ["GET"], "secrets": ["API_KEY"]}],
    "limits": {"connections": 20, "bytes": "1MiB"}
  }
})";

std::string PathOf(const std::string& head) {
  const size_t begin = head.find(' ') + 1;
  return head.substr(begin, head.find(' ', begin) - begin);
}

std::string HostOf(const std::string& head) {
  for (const char* name : {"\r\nHost: ", "\r\nhost: "}) {
    const size_t at = head.find(name);
    if (at == std::string::npos) continue;
    const size_t begin = at + 8;
    return head.substr(begin, head.find('\r', begin) - begin);
  }
  return "";
}

struct Page {
  std::string head;  // after "HTTP/1.1 "
  std::string body;
};

Page Hello(const std::string& host, const std::string& path) {
  const std::string body = absl::StrCat("hello from ", host, " ", path, "\n");
  if (path != "/elsewhere") return {"200 OK\r\nContent-Type: text/plain", body};
  return {absl::StrCat("302 Found\r\nLocation: http://", kOther, "/there"),
          body};
}

// `base` is how the client calls the server.
Page FileAt(fs::path path, const std::string& base) {
  if (fs::is_directory(path)) path /= "index.html";
  std::ifstream file(path, std::ios::binary);
  if (!file) return {"404 Not Found", "there is no such file\n"};
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (path.extension() != ".html") return {"200 OK", std::move(text)};
  return {"200 OK\r\nContent-Type: text/html",
          absl::StrReplaceAll(text, {{"@BASE@", base}})};
}

// A plain socket, as TlsEnd is one with TLS.
struct PlainEnd {
  int socket;
  bool Send(std::string_view data) const { return testing::Send(socket, data); }
  std::string ReceiveUntil(std::string_view end) const {
    return testing::ReceiveUntil(socket, end, 30);
  }
};

}  // namespace

template <typename End>
void NetworkTest::Serve(End& end, const std::string& scheme) {
  for (;;) {
    const std::string head = end.ReceiveUntil("\r\n\r\n");
    if (head.empty()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      heard_.push_back(head);
    }
    const std::string host = HostOf(head);
    const std::string path = PathOf(head);
    const Page page =
        fs::exists(files())
            ? FileAt(files() + path, absl::StrCat(scheme, "://", host))
            : Hello(host, path);
    const bool whole = !absl::StartsWith(head, "HEAD ");
    if (!end.Send(absl::StrCat("HTTP/1.1 ", page.head,
                               "\r\nContent-Length: ", page.body.size(),
                               "\r\n\r\n", whole ? page.body : ""))) {
      return;
    }
  }
}

NetworkTest::NetworkTest()
    : place_(MakeTestDirectory()),
      names_({{kAllowed, {"93.184.216.34"}},
              {kOther, {"93.184.216.35"}},
              {kDeep, {"93.184.216.36"}},
              {"get.test.org", {"93.184.216.37"}},
              {kInspected, {"93.184.216.38"}},
              {kPrivate, {"10.1.2.3"}}}),
      http_(80,
            [this](int socket) {
              PlainEnd end{socket};
              Serve(end, "http");
            }),
      http_8080_(8080,
                 [this](int socket) {
                   PlainEnd end{socket};
                   Serve(end, "http");
                 }),
      issuer_("Issuer of the test"),
      tls_(issuer_.Server(
          {.names = absl::StrCat("DNS:", kAllowed, ",DNS:", kDeep,
                                 ",DNS:", kInspected, ",DNS:", kOther)})),
      https_(443, [this](int socket) {
        TlsEnd end(socket, tls_);
        if (end.Accept()) Serve(end, "https");
      }) {
  fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", place_ + "/policy",
           fs::copy_options::recursive);
  WriteProfile("web", kWeb);
  WriteProfile("look", kLook);
  std::ofstream(place_ + "/roots.pem") << roots();
  fs::create_directory(place_ + "/secrets");
  fs::permissions(place_ + "/secrets", fs::perms::owner_all);
  const std::string secret = place_ + "/secrets/API_KEY";
  std::ofstream(secret) << kSecretValue << "\n";
  fs::permissions(secret, fs::perms::owner_read);
}

NetworkTest::~NetworkTest() {
  std::error_code ignored;
  fs::remove_all(place_, ignored);
}

void NetworkTest::SetUp() {
  StartDaemon(
      {.config = absl::StrCat(
           R"({"egress": {"resolvers": ["127.0.0.1:53"], "secrets_dir": ")",
           place_, R"(/secrets", "ca_file": ")", place_,
           R"(/roots.pem"}, "audit": {"dir": ")", place_, R"(/audit"}})"),
       .extra_arguments = {"--policy-dir", absl::StrCat(place_, "/policy")}});
}

void NetworkTest::WriteProfile(const std::string& name,
                               const std::string& text) const {
  std::ofstream(absl::StrCat(place_, "/policy/profiles/", name, ".json"))
      << text;
}

v1::RunCodeRequest NetworkTest::Program(const std::string& language,
                                        const std::string& code) const {
  v1::RunCodeRequest request;
  request.set_language(language);
  request.set_code(code);
  request.set_profile("web");
  return request;
}

v1::RunCodeResponse NetworkTest::RunIn(const std::string& profile,
                                       v1::RunCodeRequest request) {
  request.set_profile(profile);
  const RunResult result = client().Run(request);
  EXPECT_THAT(result, IsOk());
  return result.response;
}

std::string NetworkTest::AuditText() const {
  std::string text;
  for (const auto& entry : fs::directory_iterator(place_ + "/audit")) {
    text += ReadFile(entry.path());
  }
  return text;
}

std::vector<std::string> NetworkTest::Heard() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return heard_;
}

}  // namespace sandglass::testing
