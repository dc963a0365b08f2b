"""Which daemon is meant, and how to prove to it who we are."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

import grpc

from sandglass import _address

_MAX_TOKEN_BYTES = 8192
_FIELDS = ("ca", "cert", "key", "token_file")


class EndpointOptions(TypedDict, total=False):
    """How to prove who calls. `ca` is the file with the authority of the daemon's
    certificate, by default the system's; `cert` and `key` are the caller's own;
    `token_file` is read for each call, or `token` is the token itself. `context` is
    one of `sandglass context`. What isn't given is taken from SANDGLASS_ADDRESS,
    _CA, _CERT, _KEY, _TOKEN or _TOKEN_FILE, and from SANDGLASS_CONTEXT or, where
    nothing says where the daemon is, the context in use."""

    ca: str | None
    cert: str | None
    key: str | None
    token: str | None
    token_file: str | None
    context: str | None


class DaemonOptions(EndpointOptions, total=False):
    """The same with `address`: "unix:/path", "127.0.0.1:PORT" or, by TLS,
    "HOST:PORT"."""

    address: str | None


@dataclass(frozen=True)
class Endpoint:
    """`address` is as gRPC takes it; "" means nothing."""

    address: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    token_file: str = ""
    # In no text about it.
    token: str = field(default="", repr=False)

    @property
    def tls(self) -> bool:
        return self.address.startswith("dns:///")

    def channel(self, module: Any, options: list[tuple[str, Any]]) -> Any:
        """A channel of `grpc` or `grpc.aio`."""
        token = _token_of(self)  # what is wrong with it is said at once
        if self.tls:
            if not _address.is_loopback(_address.host_and_port(self.address)[0]):
                # To other machines the way may be by a proxy.
                options = [each for each in options if each[0] != _PROXY]
            credentials = grpc.ssl_channel_credentials(
                _read_pem("ca", self.ca) if self.ca else _system_authorities(),
                _read_secret("key", self.key).encode() if self.key else None,
                _read_pem("cert", self.cert) if self.cert else None,
            )
        elif not token:
            return module.insecure_channel(self.address, options)
        else:
            credentials = grpc.local_channel_credentials(grpc.LocalConnectionType.UDS)
        if token:
            calls = grpc.metadata_call_credentials(_Bearer(self), "sandglass-token")
            credentials = grpc.composite_channel_credentials(credentials, calls)
        return module.secure_channel(self.address, credentials, options)


_PROXY = "grpc.enable_http_proxy"


class _Bearer(grpc.AuthMetadataPlugin):
    """The token as its file is when a call is made, so that it may turn over."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __call__(self, context: Any, callback: Any) -> None:
        try:
            callback([("authorization", f"Bearer {_token_of(self._endpoint)}")], None)
        except (OSError, ValueError) as error:
            callback([], error)


def resolve(
    address: str | Endpoint | None = None,
    *,
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    token: str | None = None,
    token_file: str | None = None,
    context: str | None = None,
) -> Endpoint:
    """Puts together what is known, as `sandglass` does: for each value the first of
    the arguments, the context that they name, the variables, and the context that
    SANDGLASS_CONTEXT names. The context in use counts only where nothing else says
    where the daemon is, so that its token goes to no other daemon."""
    if isinstance(address, Endpoint):
        return address
    if address is not None and not isinstance(address, str):
        raise TypeError(f"address must be a str, not {type(address).__name__}")
    if token and token_file:
        raise ValueError("give token or token_file, not both")
    found = Endpoint(
        address or "",
        ca=os.fspath(ca or ""),
        cert=os.fspath(cert or ""),
        key=os.fspath(key or ""),
        token_file=os.fspath(token_file or ""),
        token=token or "",
    )
    environment = _of_environment()
    variable = os.environ.get("SANDGLASS_CONTEXT", "")
    placed = bool(found.address or environment.address)
    if context:
        found = _filled(found, _named(context, "context"))
    found = _filled(found, environment)
    if not context and variable:
        found = _filled(found, _named(variable, "SANDGLASS_CONTEXT"))
    elif not context and not placed:
        contexts = _contexts()
        if current := contexts.get("current"):
            found = _filled(found, _named(current, "context"))
    # Who names an authority or has a certificate means TLS.
    tls = bool(found.ca or found.cert)
    where = _address.resolve(found.address or None, tls=tls)
    return _checked(replace(found, address=where))


def _checked(found: Endpoint) -> Endpoint:
    if bool(found.cert) != bool(found.key):
        raise ValueError("cert and key are good together: give both")
    if found.address.startswith("unix:"):
        return found
    if not found.tls and (found.token or found.token_file):
        raise ValueError(
            f"there is a token for {found.address}, and a token is never sent without "
            "TLS: give the daemon's authority as ca, so that TLS is spoken, or use its "
            "unix socket"
        )
    return found


def _filled(found: Endpoint, more: Endpoint) -> Endpoint:
    """A certificate and its key, and a token and its file, come from one place."""
    new: dict[str, str] = {
        "address": found.address or more.address,
        "ca": found.ca or more.ca,
    }
    if not found.cert and not found.key:
        new |= {"cert": more.cert, "key": more.key}
    if not found.token and not found.token_file:
        new |= {"token": more.token, "token_file": more.token_file}
    return replace(found, **new)


def _of_environment() -> Endpoint:
    def value(name: str) -> str:
        return os.environ.get(f"SANDGLASS_{name}", "")

    if value("TOKEN") and value("TOKEN_FILE"):
        raise ValueError(
            "SANDGLASS_TOKEN and SANDGLASS_TOKEN_FILE are both set; unset one"
        )
    files = {name: value(name.upper()) for name in _FIELDS}
    return Endpoint(value("ADDRESS"), token=value("TOKEN"), **files)


def _contexts_path() -> str:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        home = os.environ.get("HOME", "")
        base = f"{home}/.config" if home else ""
    return f"{base}/sandglass/config" if base else ""


def _without_comments(text: str) -> str:
    """JSON of which nothing is left out but comments, each for a blank."""
    import re

    token = r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/'
    return re.sub(
        token, lambda found: found[0] if found[0][0] == '"' else " ", text, flags=re.S
    )


def _contexts() -> Mapping[str, Any]:
    import json

    path = _contexts_path()
    try:
        with open(path, encoding="utf-8") as file:
            contexts = json.loads(_without_comments(file.read()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}; correct it or move it away") from None
    if not isinstance(contexts, dict):
        raise ValueError(f"{path}: expected an object; correct it or move it away")
    return contexts


def _named(name: str, by: str) -> Endpoint:
    known = _contexts().get("contexts", {})
    context = known.get(name) if isinstance(known, dict) else None
    if context is None:
        raise ValueError(
            f"{by} {name!r}: there is no such context; sandglass context list shows them"
        )
    given = {"address": "", **context} if isinstance(context, dict) else {}
    wrong = [key for key in given if key not in ("address", *_FIELDS)]
    if wrong or not given or not all(isinstance(v, str) for v in given.values()):
        raise ValueError(
            f"{_contexts_path()}: /contexts/{name}: expected address, ca, cert, key and "
            "token_file, each a text; correct it or move it away"
        )
    return Endpoint(**given)


def _read_pem(what: str, path: str) -> bytes:
    with open(path, "rb") as file:
        text = file.read()
    if b"-----BEGIN " not in text:
        raise ValueError(f"{what} {path}: there is no certificate in it, in PEM")
    return text


def system_authorities_file() -> str:
    """Where the system keeps those that it trusts."""
    import ssl

    paths = ssl.get_default_verify_paths()
    return paths.cafile or "/etc/ssl/certs/ca-certificates.crt"


def _system_authorities() -> bytes:
    return _read_pem("ca", system_authorities_file())


def _read_secret(what: str, path: str) -> str:
    if "/" not in path and path.startswith(("sg_", "eyJ")):
        raise ValueError(
            f"{what}: that is a token itself: put it into a file of your own, or "
            "give it as token"
        )
    # A FIFO must not hold us up.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{what} {path}: that is not a regular file")
        if found.st_mode & 0o077:
            raise PermissionError(
                f"{what} {path}: others may read it (mode "
                f"{stat.S_IMODE(found.st_mode):04o}); close it with chmod 600"
            )
        text = file.read((64 << 10) + 1)
    return text.decode("latin-1")


def _token_of(endpoint: Endpoint) -> str:
    """The token as it is now; no error quotes it."""
    where, text = "token", endpoint.token
    if not text and endpoint.token_file:
        where = f"token_file {endpoint.token_file}"
        text = _read_secret("token_file", endpoint.token_file)
        if not text.strip():
            raise ValueError(f"{where}: there is no token in it")
    token = text.rstrip()
    if len(token) > _MAX_TOKEN_BYTES:
        raise ValueError(f"{where}: a token has at most {_MAX_TOKEN_BYTES} bytes")
    if not all("!" <= c <= "~" for c in token):
        raise ValueError(f"{where}: a token is of letters, digits and marks on one line")
    return token


def explain(endpoint: Endpoint, words: str) -> str:
    """Why nothing answers there; `words` are gRPC's, which say little of TLS."""
    if not endpoint.tls:
        return _address.explain(endpoint.address, words)
    return f"no connection to {endpoint.address}: {_why_no_tls(endpoint) or words}"


def _why_no_tls(endpoint: Endpoint) -> str:
    import socket
    import ssl

    host, port = _address.host_and_port(endpoint.address)
    authorities = endpoint.ca or system_authorities_file()
    try:
        context = ssl.create_default_context(cafile=authorities)
        context.set_alpn_protocols(["h2"])
        if endpoint.cert:
            context.load_cert_chain(endpoint.cert, endpoint.key)
        with (
            socket.create_connection((host, port), timeout=3) as plain,
            context.wrap_socket(plain, server_hostname=host) as spoken,
        ):
            if spoken.selected_alpn_protocol() != "h2":
                return "it speaks TLS but not HTTP/2; is it the right port?"
            spoken.settimeout(1)
            # In TLS 1.3 it says what it thinks of our certificate only now.
            if not spoken.recv(1):
                return (
                    "it ended the connection after the handshake; does it want a "
                    "client's certificate (cert, key), or another?"
                )
    except ssl.SSLCertVerificationError as error:
        return (
            f"its certificate is not good ({error.verify_message}), by {authorities}; "
            "give the authority of the daemon as ca"
        )
    except socket.gaierror as error:
        return f"the name {host!r} is not found ({error.strerror})"
    except TimeoutError:
        return ""
    except ssl.SSLError as error:
        return f"the TLS handshake failed ({error.reason}); see cert, key and the port"
    except ConnectionRefusedError:
        return "connection refused: nobody listens on that port"
    except OSError as error:
        return str(error)
    return ""
