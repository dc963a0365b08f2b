"""How the synchronous client makes calls."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, TypeVar, Unpack

import grpc

from sandglass import _endpoint, _errors
from sandglass._op import CHANNEL_OPTIONS, Op, Retries, Steps, Stubs

T = TypeVar("T")


class Connection:
    """The daemon's address and a channel to it, opened with the first call.
    Thread-safe. A child process that was forked gets a channel of its own."""

    def __init__(
        self,
        address: str | _endpoint.Endpoint | None,
        retry_for: float,
        retry_busy_for: float = 0.0,
        **proof: Unpack[_endpoint.EndpointOptions],
    ) -> None:
        self.endpoint = _endpoint.resolve(address, **proof)
        self.address = self.endpoint.address
        self.retry_for = retry_for
        self.retry_busy_for = retry_busy_for
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._stubs: Stubs | None = None
        self._pid = 0
        self._closed = False

    def stubs(self) -> Stubs:
        stubs = self._stubs
        if stubs is not None and self._pid == os.getpid():
            return stubs
        with self._lock:
            if self._closed:
                raise RuntimeError("the client is closed")
            if self._stubs is None or self._pid != os.getpid():
                # A parent's is left as it is: it belongs to the parent.
                self._channel = self.endpoint.channel(grpc, list(CHANNEL_OPTIONS))
                self._stubs = Stubs(self._channel)
                self._pid = os.getpid()
            return self._stubs

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._channel is not None and self._pid == os.getpid():
                self._channel.close()
            self._channel = self._stubs = None

    def retries(self, deadline: float | None) -> Retries:
        return Retries(self.retry_for, self.retry_busy_for, deadline)

    def call(self, op: Op[T], deadline: float | None = None) -> T:
        retries = self.retries(deadline)
        while True:
            try:
                answer = op.begin(self.stubs(), retries.left())
                return op.convert(list(answer) if op.stream else answer)
            except grpc.RpcError as broken:
                self.pause_or_raise(
                    broken, retries, op.repeatable, op.spent()
                )

    def drive(self, steps: Steps[T]) -> T:
        """Makes each call of `steps`, and throws its errors there."""
        try:
            op = next(steps)
            while True:
                try:
                    answer = self.call(op)
                except _errors.SandglassError as error:
                    op = steps.throw(error)
                else:
                    op = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def pause_or_raise(
        self,
        broken: grpc.RpcError,
        retries: Retries,
        repeatable: bool,
        spent: bool = False,
    ) -> None:
        """Waits until the call may be made again, else raises what went wrong."""
        error = _errors.from_rpc(broken, self.endpoint)
        pause = None if spent else retries.pause(error, repeatable)
        if pause is None:
            raise error from None
        time.sleep(pause)


def cancel_quietly(call: Any) -> None:
    """Ends a stream that nobody reads on; one that has ended doesn't mind."""
    if call is not None:
        call.cancel()
