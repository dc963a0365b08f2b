#include "client/cert/cert_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/cert/certificate.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {
namespace {

constexpr char kCertHelp[] = R"text(
A small authority of your own, for daemons and clients that have no other. Files
are of mode 0600, nothing is overwritten without --force. The authority is good
for 10 years, a server's certificate for a year, a client's for 90 days; --days
says otherwise, up to 825. A client is named spiffe://sandglass/TENANT/NAME.

Examples:
  sandglass cert init --dir certs --host sand.example.org --host 10.0.0.7
  sandglass cert client ci --dir certs --tenant team-a
  sandglass cert renew server ci --dir certs
  sandglass cert show certs/server.pem
)text";

// It becomes a file's name, a common name and a part of a URI.
absl::Status CheckCertName(const std::string& name) {
  const auto good = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || name.size() > 63 || !std::ranges::all_of(name, good) ||
      !absl::ascii_isalnum(static_cast<unsigned char>(name.front()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", VisibleText(name),
                     "' is no name of a certificate: write at most 63 letters, "
                     "digits, '-', '_' and '.', of which the first is a letter "
                     "or a digit"));
  }
  return absl::OkStatus();
}

absl::Status CheckTenant(const std::string& tenant) {
  const auto good = [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  };
  if (!tenant.empty() && tenant.size() <= 63 && tenant.front() != '-' &&
      std::ranges::all_of(tenant, good)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--tenant '", VisibleText(tenant),
                   "': write at most 63 of a-z, 0-9 and '-'"));
}

// An IPv6 address may have brackets, as in an address of a daemon.
absl::StatusOr<std::string> HostOf(std::string host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (IsCertificateHost(host)) return host;
  return absl::InvalidArgumentError(absl::StrCat(
      "--host '", VisibleText(host), "' is neither a name nor an IP address"));
}

}  // namespace

CertCommandLine::CertCommandLine(CLI::App& app) {
  using Act = CertOptions::Act;
  cert_ = app.add_subcommand(
      "cert", "Make certificates by a small authority of your own");
  cert_->require_subcommand(0, 1);
  cert_->footer(kCertHelp);
  Command& init =
      Add(Act::kInit, "init", "Make an authority and a server's certificate");
  AddDir(init);
  AddForce(init);
  init.hosts = AddValues(*init.app, "--host",
                         "A name or an IP address of the server (default: this "
                         "machine's name, localhost, 127.0.0.1, ::1)",
                         "HOST");
  Command& server =
      Add(Act::kServer, "server", "Make another server's certificate");
  server.names = server.app->add_option("NAME", "What its files are called");
  server.names->required()->expected(1);
  AddDir(server);
  AddForce(server);
  server.hosts =
      AddValues(*server.app, "--host",
                "A name or an IP address of it (default: NAME)", "HOST");
  Command& client = Add(Act::kClient, "client", "Make a client's certificate");
  client.names = client.app->add_option("NAME", "Who in the tenant");
  client.names->required()->expected(1);
  AddDir(client);
  AddForce(client);
  client.tenant =
      AddValue(*client.app, "--tenant", "Whose (default: local)", "NAME");
  Command& renew =
      Add(Act::kRenew, "renew", "Sign certificates again, for the same keys");
  renew.names = AddWords(*renew.app, "NAME",
                         "server, or the name of another certificate", "NAME");
  renew.names->required();
  AddDir(renew);
  Command& show = Add(Act::kShow, "show", "Show what certificates say");
  show.names = AddWords(*show.app, "FILE", "A certificate in PEM", "FILE");
  show.names->required();
  show.app->add_flag("--json", json_, "As JSON, a line for each");
}

CertCommandLine::Command& CertCommandLine::Add(CertOptions::Act act,
                                               const char* name,
                                               const char* help) {
  commands_.reserve(8);  // so that what this returns stays where it is
  commands_.push_back({.act = act, .app = cert_->add_subcommand(name, help)});
  return commands_.back();
}

void CertCommandLine::AddDir(Command& command) {
  command.dir =
      AddValue(*command.app, "--dir", "The authority's directory", "DIR");
  command.dir->required();
  command.days = AddValue(*command.app, "--days", "How long it is good", "N");
}

void CertCommandLine::AddForce(Command& command) {
  command.app->add_flag("--force", force_, "Overwrite what is there");
}

bool CertCommandLine::parsed() const { return cert_->parsed(); }

absl::StatusOr<CertOptions> CertCommandLine::Collect() const {
  const auto command = std::ranges::find_if(
      commands_, [](const Command& each) { return each.app->parsed(); });
  if (command == commands_.end()) {
    return absl::InvalidArgumentError(
        "give a command: init, server, client, renew or show");
  }
  using Act = CertOptions::Act;
  CertOptions options;
  options.act = command->act;
  options.force = force_;
  options.json = json_;
  if (command->names != nullptr) options.names = command->names->results();
  if (command->dir != nullptr) {
    options.dir = ValueOf(command->dir).value_or("");
    if (absl::Status days = ParseCountFlag(command->days, options.days);
        !days.ok()) {
      return days;
    }
    if (options.days && (*options.days < 1 || *options.days > kMaxDays)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--days ", *options.days, ": from 1 to ", kMaxDays));
    }
    for (const std::string& name : options.names) {
      if (absl::Status good = CheckCertName(name); !good.ok()) return good;
    }
  }
  if (command->act == Act::kServer || command->act == Act::kClient) {
    options.name = options.names.back();
    if (options.name == "ca" ||
        (command->act == Act::kClient && options.name == "server")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", options.name, "' is another certificate's name; take another"));
    }
  }
  if (command->tenant != nullptr) {
    options.tenant = ValueOf(command->tenant).value_or("local");
    if (absl::Status good = CheckTenant(options.tenant); !good.ok()) {
      return good;
    }
  }
  if (command->hosts == nullptr) return options;
  for (const std::string& host : command->hosts->results()) {
    absl::StatusOr<std::string> good = HostOf(host);
    if (!good.ok()) return good.status();
    options.hosts.push_back(*std::move(good));
  }
  if (command->act == Act::kServer && options.hosts.empty() &&
      !IsCertificateHost(options.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", options.name, "' is no host's name; give its hosts with --host"));
  }
  return options;
}

}  // namespace sandglass::client
