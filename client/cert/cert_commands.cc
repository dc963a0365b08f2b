#include "client/cert/cert_commands.h"

#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/cert/cert_files.h"
#include "client/cert/cert_text.h"
#include "client/cert/certificate.h"
#include "client/connection/daemon.h"

namespace sandglass::client {
namespace {

constexpr char kAuthorityFile[] = "ca";
constexpr char kServerFile[] = "server";
constexpr size_t kMaxShown = 1 << 20;

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

// The names by which this machine calls itself.
std::vector<std::string> OwnHosts() {
  std::vector<std::string> hosts;
  if (std::string own = HostName(); IsCertificateHost(own)) {
    hosts.push_back(std::move(own));
  }
  for (const char* usual : {"localhost", "127.0.0.1", "::1"}) {
    if (hosts.empty() || hosts.front() != usual) hosts.emplace_back(usual);
  }
  return hosts;
}

ExistingFile ExistingOf(const CertOptions& options) {
  return options.force ? ExistingFile::kReplace : ExistingFile::kKeep;
}

std::string ConfigurationLines(const CertDirectory& directory,
                               const std::string& name) {
  return absl::StrCat(
      "  \"tls\": {\"certificate\": \"", directory.PathOf(name + ".pem"),
      "\",\n          \"key\": \"", directory.PathOf(name + ".key"),
      "\",\n          \"client_ca\": \"",
      directory.PathOf(std::string(kAuthorityFile) + ".pem"), "\"}\n");
}

absl::StatusOr<std::string> Issue(const CertDirectory& directory,
                                  const std::string& file,
                                  const CertificateWish& wish,
                                  const CertOptions& options) {
  const absl::StatusOr<Identification> authority =
      directory.Read(kAuthorityFile);
  if (!authority.ok()) {
    return absl::Status(
        authority.status().code(),
        absl::StrCat(authority.status().message(),
                     "; sandglass cert init makes an authority"));
  }
  const absl::StatusOr<Identification> made =
      MakeCertificate(*authority, wish, absl::Now());
  if (!made.ok()) return made.status();
  if (absl::Status written = directory.Write(file, *made, ExistingOf(options));
      !written.ok()) {
    return written;
  }
  const absl::StatusOr<CertificateFacts> facts =
      ReadCertificate(made->certificate);
  if (!facts.ok()) return facts.status();
  return CertificateText(directory.PathOf(file + ".pem"), *facts, absl::Now());
}

absl::StatusOr<std::string> Init(const CertOptions& options) {
  const absl::StatusOr<CertDirectory> directory =
      CertDirectory::Make(options.dir);
  if (!directory.ok()) return directory.status();
  const std::vector<std::string> hosts =
      options.hosts.empty() ? OwnHosts() : options.hosts;
  const absl::StatusOr<Identification> authority = MakeAuthority(
      absl::StrCat("Sandglass authority of ", hosts.front()).substr(0, 64),
      absl::Now());
  if (!authority.ok()) return authority.status();
  if (absl::Status written =
          directory->Write(kAuthorityFile, *authority, ExistingOf(options));
      !written.ok()) {
    return written;
  }
  const CertificateWish wish = {
      .use = CertificateUse::kServer,
      .name = hosts.front().substr(0, 64),
      .hosts = hosts,
      .uri = "",
      .days = static_cast<int>(options.days.value_or(kServerDays))};
  const absl::StatusOr<std::string> made =
      Issue(*directory, kServerFile, wish, options);
  if (!made.ok()) return made.status();
  return absl::StrCat(
      *made, "\nFor the daemon's configuration (--config):\n",
      ConfigurationLines(*directory, kServerFile),
      "\nTo each machine that calls, copy ", directory->PathOf("ca.pem"),
      " and name it by --ca.\nA client's certificate: sandglass cert client "
      "NAME --dir ",
      VisibleText(options.dir), "\nKeep ", directory->PathOf("ca.key"),
      " here: who has it can make certificates for everybody.\n");
}

absl::StatusOr<std::string> Server(const CertOptions& options) {
  const absl::StatusOr<CertDirectory> directory =
      CertDirectory::Open(options.dir);
  if (!directory.ok()) return directory.status();
  std::vector<std::string> hosts = options.hosts;
  if (hosts.empty()) hosts.push_back(options.name);
  const CertificateWish wish = {
      .use = CertificateUse::kServer,
      .name = hosts.front().substr(0, 64),
      .hosts = hosts,
      .uri = "",
      .days = static_cast<int>(options.days.value_or(kServerDays))};
  const absl::StatusOr<std::string> made =
      Issue(*directory, options.name, wish, options);
  if (!made.ok()) return made.status();
  return absl::StrCat(
      *made,
      "\nCopy it, its key and ca.pem to that machine; there, with their "
      "places, in the daemon's configuration:\n",
      ConfigurationLines(*directory, options.name));
}

absl::StatusOr<std::string> Client(const CertOptions& options) {
  const absl::StatusOr<CertDirectory> directory =
      CertDirectory::Open(options.dir);
  if (!directory.ok()) return directory.status();
  const CertificateWish wish = {
      .use = CertificateUse::kClient,
      .name = options.name,
      .hosts = {},
      .uri = absl::StrCat("spiffe://sandglass/", options.tenant, "/",
                          options.name),
      .days = static_cast<int>(options.days.value_or(kClientDays))};
  const absl::StatusOr<std::string> made =
      Issue(*directory, options.name, wish, options);
  if (!made.ok()) return made.status();
  return absl::StrCat(
      *made, "\nCopy to who calls as ", options.name, ": ",
      directory->PathOf(options.name + ".pem"), ", ",
      directory->PathOf(options.name + ".key"), " and ",
      directory->PathOf("ca.pem"),
      "\nThere: sandglass context add NAME --address HOST:8443 --ca ca.pem "
      "--cert ",
      options.name, ".pem --key ", options.name, ".key\n");
}

absl::StatusOr<std::string> Renew(const CertOptions& options) {
  const absl::StatusOr<CertDirectory> directory =
      CertDirectory::Open(options.dir);
  if (!directory.ok()) return directory.status();
  const absl::StatusOr<Identification> authority =
      directory->Read(kAuthorityFile);
  if (!authority.ok()) return authority.status();
  std::string text;
  for (const std::string& name : options.names) {
    const absl::StatusOr<std::string> old = directory->ReadCertificateOf(name);
    if (!old.ok()) return old.status();
    const absl::StatusOr<std::string> renewed = RenewCertificate(
        *authority, *old, static_cast<int>(options.days.value_or(0)),
        absl::Now());
    if (!renewed.ok()) {
      return absl::Status(
          renewed.status().code(),
          absl::StrCat(VisibleText(directory->PathOf(name + ".pem")), ": ",
                       renewed.status().message()));
    }
    absl::Status written = directory->ReplaceCertificate(name, *renewed);
    if (!written.ok()) return written;
    const absl::StatusOr<CertificateFacts> facts = ReadCertificate(*renewed);
    if (!facts.ok()) return facts.status();
    absl::StrAppend(&text, CertificateText(directory->PathOf(name + ".pem"),
                                           *facts, absl::Now()));
  }
  return absl::StrCat(text,
                      "\nThe key is as it was: only the .pem is to be copied "
                      "again. A daemon takes a new one by itself.\n");
}

absl::StatusOr<std::string> Show(const CertOptions& options) {
  std::string text;
  for (const std::string& file : options.names) {
    const absl::StatusOr<FileContent> content = ReadInput(file, kMaxShown);
    if (!content.ok()) return content.status();
    const absl::StatusOr<CertificateFacts> facts =
        ReadCertificate(content->bytes);
    if (!facts.ok()) {
      return absl::Status(
          facts.status().code(),
          absl::StrCat(VisibleText(file), ": ", facts.status().message()));
    }
    if (options.json) {
      absl::StrAppend(&text, CertificateJson(file, *facts));
    } else {
      absl::StrAppend(&text, text.empty() ? "" : "\n",
                      CertificateText(file, *facts, absl::Now()));
    }
  }
  return text;
}

}  // namespace

int CertCommand(const CertOptions& options) {
  using Act = CertOptions::Act;
  const auto act = [&]() -> absl::StatusOr<std::string> {
    switch (options.act) {
      case Act::kInit:
        return Init(options);
      case Act::kServer:
        return Server(options);
      case Act::kClient:
        return Client(options);
      case Act::kRenew:
        return Renew(options);
      case Act::kShow:
        return Show(options);
    }
    return absl::InternalError("no such command");
  };
  const absl::StatusOr<std::string> text = act();
  return text.ok() ? PrintText(*text) : Fail(text.status());
}

}  // namespace sandglass::client
