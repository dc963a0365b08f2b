"""Where the daemon is."""

import errno
import os
import socket
import stat

DEFAULT_ADDRESS = "unix:/run/sandglass/sandglass.sock"
_LONGEST_PATH = 107  # of a sockaddr_un, see unix(7)


def resolve(address: str | None, *, tls: bool = False) -> str:
    """The address to use: `address`, else $SANDGLASS_ADDRESS, else that of this
    user's own daemon if there is one, else the default. `tls` says that it is spoken
    on loopback, too."""
    if address is None:
        address = os.environ.get("SANDGLASS_ADDRESS") or _usual()
    if not isinstance(address, str):
        raise TypeError(f"address must be a str, not {type(address).__name__}")
    if address.startswith("unix:"):
        path = unix_path(address)
        if not path or "\0" in path:
            raise ValueError(f"{address!r} is no address: it has no path")
        if len(os.fsencode(path)) > _LONGEST_PATH:
            raise ValueError(
                f"{address!r} is no address: the kernel takes at most "
                f"{_LONGEST_PATH} bytes of a path"
            )
        # gRPC reads "unix://x" as a name with an authority.
        return f"unix:{os.path.abspath(path)}"
    rest = address.removeprefix("https://").removeprefix("dns:///").removesuffix("/")
    host, _, port = rest.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536 or not _is_host(host):
        raise ValueError(
            f"{address!r} is no address: write unix:/path/to/socket, 127.0.0.1:PORT, "
            "or HOST:PORT of a daemon that is reached by TLS, with a port from 1 to "
            "65535"
        )
    if tls or rest != address or not is_loopback(host):
        return f"dns:///{rest}"
    return address.replace("localhost", "127.0.0.1", 1)


def host_and_port(address: str) -> tuple[str, int]:
    """Of an address by TLS; without brackets."""
    host, _, port = address.removeprefix("dns:///").rpartition(":")
    return host.strip("[]"), int(port)


def _is_host(host: str) -> bool:
    import ipaddress

    if host.startswith("["):
        try:
            return ipaddress.ip_address(host[1:-1]).version == 6 and host[-1] == "]"
        except ValueError:
            return False
    return 0 < len(host) < 254 and all(
        c.isascii() and (c.isalnum() or c in "-._") for c in host
    )


def is_usual(address: str) -> bool:
    """Whether nobody has said where the daemon is."""
    return address == _usual()


def _usual() -> str:
    """As `sandglass up` starts one for an ordinary user."""
    home = os.environ.get("HOME", "")
    place = os.environ.get("XDG_RUNTIME_DIR", "") or f"{home}/.local/state"
    own = f"{place}/sandglass/sandglass.sock"
    if os.geteuid() != 0 and own.startswith("/") and os.path.exists(own):
        return f"unix:{own}"
    return DEFAULT_ADDRESS


def unix_path(address: str) -> str:
    """The socket's path; empty when `address` is none of a unix socket."""
    if not address.startswith("unix:"):
        return ""
    path = address.removeprefix("unix:")
    return path[2:] if path.startswith("///") else path


# Where packages and administrators put units of systemd.
_UNIT_PLACES = ("/etc", "/usr/local/lib", "/usr/lib", "/lib")


def _how_to_start(address: str, root: str = "") -> str:
    if address != DEFAULT_ADDRESS:
        return f"start one with: sudo sandglassd --listen {address}"
    if os.path.exists(f"{root}/run/systemd/system") and any(
        os.path.exists(f"{root}{place}/systemd/system/sandglassd.service")
        for place in _UNIT_PLACES
    ):
        return "start the service with: sudo systemctl start sandglassd"
    return "start one with: sandglass up, or with more rights: sudo sandglass up"


def explain(address: str, words: str) -> str:
    """Why nothing answers at `address`; `words` are gRPC's."""
    path = unix_path(address)
    start = _how_to_start(address)
    if not path:
        return f"no daemon at {address} ({words}); {start}"
    try:
        kind = os.stat(path).st_mode
    except PermissionError:
        return _denied(address, "may not look into the socket's directory")
    except OSError:
        return f"no daemon at {address} (no such socket); {start}"
    if not stat.S_ISSOCK(kind):
        return f"no daemon at {address} (that is not a socket); {start}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        error = probe.connect_ex(path)
    if error in (errno.EACCES, errno.EPERM):
        return _denied(
            address,
            "are not in the socket's group; ask for it, or start the daemon with "
            '{"socket": {"group": "YOUR_GROUP"}} in its configuration',
        )
    if error == errno.ECONNREFUSED:
        return f"no daemon at {address} (nobody listens on the socket); {start}"
    return f"the connection to the daemon at {address} broke ({words})"


def _denied(address: str, why: str) -> str:
    return f"permission denied at {address}: you are uid {os.geteuid()} and {why}"


def is_loopback(host: str) -> bool:
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
