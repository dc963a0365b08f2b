// sandglass cert: what it makes is good for openssl's strictest look.

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

class CertTest : public ::testing::Test {
 protected:
  SubprocessResult Cert(std::vector<std::string> arguments) const {
    SubprocessOptions options;
    options.args = std::move(arguments);
    options.args.insert(options.args.begin(), "cert");
    return RunProcess(options);
  }
  SubprocessResult Must(std::vector<std::string> arguments) const {
    SubprocessResult result = Cert(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  std::string OpenSsl(const std::string& arguments) const {
    SubprocessOptions options;
    options.program = "/bin/sh";
    options.env = {"PATH=/usr/bin:/bin"};
    options.args = {
        "-c", absl::StrCat("cd ", dir(), " && exec 2>&1; openssl ", arguments)};
    return RunProcess(options).out;
  }
  std::string dir() const { return temp_.Path("certs"); }
  static mode_t ModeOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  TempDir temp_;
};

TEST_F(CertTest, WhatItMakesPassesTheStrictestLook) {
  const SubprocessResult init =
      Must({"init", "--dir", dir(), "--host", "sand.example.org", "--host",
            "10.0.0.7", "--host", "[::1]"});
  EXPECT_THAT(init.out,
              AllOf(HasSubstr("\"tls\": {\"certificate\": \"" + dir() +
                              "/server.pem\""),
                    HasSubstr("\"client_ca\": \"" + dir() + "/ca.pem\""),
                    HasSubstr("DNS:sand.example.org, IP:10.0.0.7, IP:::1\n"),
                    HasSubstr("(364 days left)")));
  Must({"client", "ci", "--dir", dir(), "--tenant", "team-a"});
  Must({"server", "other.example.org", "--dir", dir()});
  for (const char* server : {"server.pem", "other.example.org.pem"}) {
    EXPECT_EQ(OpenSsl(absl::StrCat("verify -x509_strict -purpose sslserver "
                                   "-CAfile ca.pem ",
                                   server)),
              absl::StrCat(server, ": OK\n"));
  }
  EXPECT_EQ(OpenSsl("verify -x509_strict -purpose sslserver -verify_hostname "
                    "sand.example.org -CAfile ca.pem server.pem"),
            "server.pem: OK\n");
  EXPECT_EQ(OpenSsl("verify -x509_strict -purpose sslclient -CAfile ca.pem "
                    "ci.pem"),
            "ci.pem: OK\n");
  // One isn't good for the other's use.
  EXPECT_THAT(OpenSsl("verify -purpose sslserver -CAfile ca.pem ci.pem"),
              HasSubstr("unsuitable certificate purpose"));
  EXPECT_THAT(OpenSsl("x509 -noout -text -in ci.pem"),
              AllOf(HasSubstr("URI:spiffe://sandglass/team-a/ci"),
                    HasSubstr("ASN1 OID: prime256v1"), HasSubstr("CA:FALSE"),
                    HasSubstr("X509v3 Authority Key Identifier"),
                    ContainsRegex("Serial Number:\n +([0-9a-f]{2}:){13,}")));
  for (const char* file :
       {"ca.pem", "ca.key", "server.pem", "server.key", "ci.pem", "ci.key"}) {
    EXPECT_EQ(ModeOf(absl::StrCat(dir(), "/", file)), 0600u) << file;
  }
  EXPECT_EQ(ModeOf(dir()), 0700u);
}

TEST_F(CertTest, NothingIsOverwrittenUnlessForced) {
  Must({"init", "--dir", dir()});
  const std::string before = ReadFile(dir() + "/ca.pem");
  const SubprocessResult again = Cert({"init", "--dir", dir()});
  EXPECT_EQ(again.exit_code, 125);
  EXPECT_THAT(again.err, HasSubstr("is there already and stays; --force"));
  EXPECT_EQ(ReadFile(dir() + "/ca.pem"), before);
  Must({"init", "--dir", dir(), "--force"});
  EXPECT_NE(ReadFile(dir() + "/ca.pem"), before);
}

TEST_F(CertTest, RenewedOnesAreForTheSameKeyAndNames) {
  Must({"init", "--dir", dir(), "--host", "a.example.org"});
  const std::string before = ReadFile(dir() + "/server.pem");
  const std::string key = ReadFile(dir() + "/server.key");
  EXPECT_THAT(
      Must({"renew", "server", "--dir", dir(), "--days", "30"}).out,
      AllOf(HasSubstr("DNS:a.example.org"), HasSubstr("(29 days left)")));
  EXPECT_NE(ReadFile(dir() + "/server.pem"), before);
  EXPECT_EQ(ReadFile(dir() + "/server.key"), key);
  EXPECT_EQ(OpenSsl("verify -x509_strict -purpose sslserver -CAfile ca.pem "
                    "server.pem"),
            "server.pem: OK\n");
  // Neither the authority itself nor one of another.
  EXPECT_THAT(Cert({"renew", "ca", "--dir", dir()}).err,
              HasSubstr("not one that this directory's authority has signed"));
  const std::string other = temp_.Path("other");
  Must({"init", "--dir", other});
  WriteFile(dir() + "/foreign.pem", ReadFile(other + "/server.pem"));
  EXPECT_THAT(Cert({"renew", "foreign", "--dir", dir()}).err,
              HasSubstr("not one that this directory's authority has signed"));
}

TEST_F(CertTest, ShowsWhatACertificateSays) {
  Must({"init", "--dir", dir(), "--host", "localhost"});
  const auto shown = nlohmann::json::parse(
      Must({"show", "--json", dir() + "/server.pem"}).out);
  EXPECT_EQ(shown["names"], nlohmann::json::array({"DNS:localhost"}));
  EXPECT_EQ(shown["use"], "server");
  EXPECT_EQ(shown["serial"].get<std::string>().size() % 2, 0u);
  EXPECT_THAT(Must({"show", dir() + "/ca.pem"}).out, HasSubstr("authority"));
  WriteFile(temp_.Path("not"), "hello");
  EXPECT_THAT(Cert({"show", temp_.Path("not")}).err,
              HasSubstr("there is no certificate in it"));
}

TEST_F(CertTest, WrongWordsAreRefused) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"init", "--dir", dir(), "--host", "a,email:b"},
        {"init", "--dir", dir(), "--days", "826"},
        {"init", "--dir", dir(), "--days", "0"},
        {"client", "../x", "--dir", dir()},
        {"client", "ca", "--dir", dir()},
        {"client", "x", "--dir", dir(), "--tenant", "A"},
        {"client", "x", "--dir", dir()},  // there is no authority
        {"init"}}) {
    const SubprocessResult result = Cert(arguments);
    EXPECT_EQ(result.exit_code, 125) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("sandglass: "));
  }
  EXPECT_NE(access(dir().c_str(), F_OK), 0);
}

TEST_F(CertTest, ADirectoryOfEverybodysIsRefused) {
  mkdir(dir().c_str(), 0700);
  chmod(dir().c_str(), 0777);
  EXPECT_THAT(Cert({"init", "--dir", dir()}).err,
              HasSubstr("others may write there"));
}

}  // namespace
}  // namespace sandglass::client
