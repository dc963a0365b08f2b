"""How the asynchronous client makes calls."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar, Unpack

import grpc
import grpc.aio

from sandglass import _endpoint, _errors
from sandglass._op import CHANNEL_OPTIONS, Op, Retries, Steps, Stubs

T = TypeVar("T")


class AioConnection:
    """The daemon's address, and a channel to it for each event loop that calls: a
    channel of grpc.aio belongs to the loop in which it was made."""

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
        self._channels: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[int, grpc.aio.Channel, Stubs]
        ] = weakref.WeakKeyDictionary()
        self._closed = False

    def stubs(self) -> Stubs:
        if self._closed:
            raise RuntimeError("the client is closed")
        loop = asyncio.get_running_loop()
        known = self._channels.get(loop)
        if known is not None and known[0] == os.getpid():
            return known[2]
        channel = self.endpoint.channel(grpc.aio, list(CHANNEL_OPTIONS))
        stubs = Stubs(channel)
        self._channels[loop] = (os.getpid(), channel, stubs)
        return stubs

    async def close(self) -> None:
        """Closes the running loop's channel; nothing can be called afterwards."""
        self._closed = True
        known = self._channels.pop(asyncio.get_running_loop(), None)
        if known is not None and known[0] == os.getpid():
            await known[1].close(None)

    def retries(self, deadline: float | None) -> Retries:
        return Retries(self.retry_for, self.retry_busy_for, deadline)

    async def call(self, op: Op[T], deadline: float | None = None) -> T:
        retries = self.retries(deadline)
        while True:
            call = op.begin(self.stubs(), retries.left())
            ending = Ending(call)
            try:
                if op.stream:
                    return op.convert([answer async for answer in call])
                return op.convert(await call)
            except grpc.RpcError as broken:
                error = await ending.error(broken) or broken
                await self.pause_or_raise(
                    error, retries, op.repeatable, op.spent()
                )

    async def drive(self, steps: Steps[T]) -> T:
        """Makes each call of `steps`, and throws its errors there."""
        try:
            op = next(steps)
            while True:
                try:
                    answer = await self.call(op)
                except _errors.SandglassError as error:
                    op = steps.throw(error)
                else:
                    op = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def pause_or_raise(
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
        await asyncio.sleep(pause)


class Ending:
    """How the daemon ended a call of this connection. A message that grpc.aio sends
    just as a call ends makes it replace the call's status by an error of its own, so
    a status is read here as it arrives (seen with grpcio 1.85.3)."""

    def __init__(self, call: Any) -> None:
        self._status: grpc.aio.AioRpcError | None = None
        self._arrived = asyncio.Event()
        call.add_done_callback(self._note)

    def _note(self, call: Any) -> None:
        details = _value(call.details())
        if details == _REPLACED:
            return
        self._status = grpc.aio.AioRpcError(
            _value(call.code()),
            _value(call.initial_metadata()),
            _value(call.trailing_metadata()),
            details,
        )
        self._arrived.set()

    async def error(self, raised: grpc.RpcError) -> grpc.RpcError | None:
        """The daemon's error where gRPC raised `raised`; None if the call succeeded."""
        if raised.details() != _REPLACED:
            return raised
        try:
            await asyncio.wait_for(self._arrived.wait(), _STATUS_WAIT)
        except asyncio.TimeoutError:
            return raised  # gRPC could not even begin to send
        assert self._status is not None
        return None if self._status.code() is grpc.StatusCode.OK else self._status


_REPLACED = "Internal error from Core"
_STATUS_WAIT = 2.0  # seconds, for a status that gRPC has on its way


def _value(coroutine: Coroutine[Any, Any, T]) -> T:
    """Of a coroutine that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("a call that has ended has no status")


class Late(Awaitable[T]):
    """What a property is that has to be awaited: `await stream.result`. May also be
    called, as what once was a method."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._make = make

    def __await__(self) -> Generator[Any, None, T]:
        return self._make().__await__()

    def __call__(self) -> Coroutine[Any, Any, T]:
        return self._make()


def cancel_quietly(call: Any) -> None:
    """Ends a stream that nobody reads on; one that has ended doesn't mind."""
    if call is not None:
        call.cancel()
