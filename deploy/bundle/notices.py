#!/usr/bin/python3
"""Writes down which parts of others a bundle has: THIRD-PARTY-NOTICES, with
their licences, and sandglass.spdx.json, a list by SPDX 2.3 that scanners for
known faults read.

usage: notices.py VERSION SECONDS_SINCE_1970 DIR

Prints a line for each that has a later version here.

DIR is the bundle, with its libraries in lib/sandglass. What is known of them is
what the Debian packages say that they come from.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

# Whose code is in programs without being in lib/sandglass: linked statically, or
# headers. Names of packages of a build.
INSIDE = (
    "libabsl-dev", "libboost1.74-dev", "libc-ares-dev", "libc6-dev",
    "libcli11-dev", "libgrpc++-dev", "libprotobuf-dev", "libre2-dev",
    "libseccomp-dev", "libspdlog-dev", "libssl-dev", "libstdc++-12-dev",
    "nlohmann-json3-dev", "zlib1g-dev",
)


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def package_of(name):
    """The package that brings a library of this name."""
    for line in output_of("/sbin/ldconfig", "-p").splitlines():
        path = line.rpartition("=> ")[2]
        if os.path.basename(path) != name:
            continue
        # dpkg knows files by the places that their packages name.
        for each in (path, os.path.realpath(path), "/usr" + path):
            found = subprocess.run(["dpkg", "-S", each], text=True, check=False,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
            if found.returncode == 0:
                return found.stdout.split(":")[0]
    sys.exit(f"no package has {name}")


def fact(package, field):
    text = output_of("dpkg-query", "-W", "-f", "${%s}\n" % field, package)
    return text.splitlines()[0]


def licence_of(package):
    path = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    if not path.is_file():
        sys.exit(f"the package {package} has no {path}: run "
                 f"apt-get install --reinstall {package}")
    return path.read_text(errors="replace")


def notices(packages):
    by_source = {}
    for package in sorted(packages):
        text = licence_of(package)
        by_source.setdefault(text, []).append(
            f"{package} {fact(package, 'Version')}")
    rule = "=" * 78
    parts = ["Sandglass itself is under the Apache License 2.0, see LICENSE. "
             "In this folder are\nalso parts of others, under the licences "
             "below.\n"]
    for text, names in by_source.items():
        parts.append(f"{rule}\n{', '.join(names)}\n{rule}\n\n{text.strip()}\n")
    return "\n".join(parts)


def spdx(version, seconds, packages):
    created = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    architecture = output_of("dpkg", "--print-architecture").strip()
    listed = [{
        "SPDXID": "SPDXRef-sandglass",
        "name": "sandglass",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "2026 The Sandglass maintainers",
        "filesAnalyzed": False,
    }]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT",
                  "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-sandglass"}]
    for package in sorted(packages):
        ident = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package)
        source = fact(package, "source:Package")
        release = fact(package, "source:Version")
        listed.append({
            "SPDXID": ident,
            "name": package,
            "versionInfo": fact(package, "Version"),
            "sourceInfo": f"built from the source package {source} {release}",
            "downloadLocation": "NOASSERTION",
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "filesAnalyzed": False,
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator":
                    f"pkg:deb/debian/{package}@{fact(package, 'Version')}"
                    f"?arch={architecture}&distro=bookworm",
            }],
        })
        kind = "STATIC_LINK" if package in INSIDE else "DYNAMIC_LINK"
        relations.append({"spdxElementId": "SPDXRef-sandglass",
                          "relationshipType": kind,
                          "relatedSpdxElement": ident})
    content = json.dumps([listed, relations], sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sandglass-{version}",
        "documentNamespace": "https://sandglass.invalid/spdx/" +
                             hashlib.sha256(content.encode()).hexdigest(),
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: sandglass-bundle"],
        },
        "packages": listed,
        "relationships": relations,
    }


def outdated(packages):
    """Those for which this machine's sources of packages have a later version,
    as they do when a fault of one was mended."""
    found = []
    package = installed = ""
    for line in output_of("apt-cache", "policy", *sorted(packages)).splitlines():
        name, _, value = line.strip().partition(":")
        if not line.startswith(" "):
            package = name
        elif name == "Installed":
            installed = value.strip()
        elif name == "Candidate" and value.strip() != installed:
            found.append(f"{package} {installed}, and there is {value.strip()}")
    return found


def main(version, seconds, top):
    top = pathlib.Path(top)
    libraries = sorted(os.listdir(top / "lib" / "sandglass"))
    packages = {package_of(name) for name in libraries} | set(INSIDE)
    (top / "THIRD-PARTY-NOTICES").write_text(notices(packages))
    (top / "sandglass.spdx.json").write_text(
        json.dumps(spdx(version, seconds, packages), indent=1) + "\n")
    for each in outdated(packages):
        print(f"outdated: {each}")


if __name__ == "__main__":
    main(*sys.argv[1:])
