"""`dcode --sandbox sandglass`: the provider that deepagents-code finds by its entry
point."""

from __future__ import annotations

import threading
from typing import Any

from deepagents_code.integrations.sandbox_provider import (
    SandboxError,
    SandboxInstallHint,
    SandboxNotFoundError,
    SandboxProvider,
    SandboxProviderMetadata,
)

from sandglass import _errors
from sandglass.client import Client, Sandbox
from sandglass.deepagents import SandglassBackend


class SandglassProvider(SandboxProvider):
    """Its parameters are those of `Sandbox`: profile, limits, env, labels,
    idle_timeout, max_age, libraries; and `language`, `address`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, Client] = {}
        # `delete` is told no more than the id.
        self._addresses: dict[str, str] = {}

    def _client(self, address: str | None) -> Client:
        client = Client(address)  # connects with its first call
        with self._lock:
            return self._clients.setdefault(client.address, client)

    @property
    def metadata(self) -> SandboxProviderMetadata:
        return SandboxProviderMetadata(
            name="sandglass",
            working_dir="/workspace",
            install=SandboxInstallHint(kind="package", name="sandglass"),
            supports_sandbox_id=True,
            supports_snapshot_name=False,
            backend_module="sandglass.deepagents",
        )

    def get_or_create(
        self,
        *,
        sandbox_id: str | None = None,
        language: str = "python",
        address: str | None = None,
        **kwargs: Any,
    ) -> SandglassBackend:
        try:
            client = self._client(address)
            if sandbox_id is not None:
                box = Sandbox.connect(sandbox_id, client=client)
            else:
                # It is `delete` that ends it.
                box = Sandbox(language, client=client, **kwargs)
        except _errors.SessionGone as error:
            raise SandboxNotFoundError(str(error)) from error
        except _errors.SandglassError as error:
            raise SandboxError(str(error)) from error
        with self._lock:
            self._addresses[box.id] = client.address
        return SandglassBackend(box)

    def delete(
        self, *, sandbox_id: str, address: str | None = None, **kwargs: Any
    ) -> None:
        with self._lock:
            address = address or self._addresses.get(sandbox_id)
        try:
            box = Sandbox.connect(sandbox_id, client=self._client(address))
            box.delete()
        except _errors.SessionGone:
            pass  # it is not there, as was wanted
        except _errors.SandglassError as error:
            raise SandboxError(str(error)) from error
        with self._lock:
            self._addresses.pop(sandbox_id, None)
