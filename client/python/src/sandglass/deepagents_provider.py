"""`dcode --sandbox sandglass`: the provider that deepagents-code finds by its entry
point."""

from __future__ import annotations

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
            client = Client(address)
            if sandbox_id is not None:
                return SandglassBackend(Sandbox.connect(sandbox_id, client=client))
            # Who deletes it is `delete`, by its id.
            return SandglassBackend(Sandbox(language, client=client, **kwargs))
        except _errors.SessionGone as error:
            raise SandboxNotFoundError(str(error)) from error
        except _errors.SandglassError as error:
            raise SandboxError(str(error)) from error

    def delete(
        self, *, sandbox_id: str, address: str | None = None, **kwargs: Any
    ) -> None:
        try:
            with Client(address) as client:
                Sandbox.connect(sandbox_id, client=client).delete()
        except _errors.SessionGone:
            return  # it is not there, as was wanted
        except _errors.SandglassError as error:
            raise SandboxError(str(error)) from error
