"""A Ray cluster: tasks run on its nodes, which need the same version of quiclab.

Addresses: `ray` is the cluster that this machine belongs to (or that `RAY_ADDRESS` names), or a new one of this machine
alone; `ray:HOST:PORT` one whose node this machine is; `ray://HOST:PORT` one reached through its Ray client server.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from concurrent.futures import Future
from contextlib import redirect_stdout
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import urlsplit

from quiclab._base.native import build_id, extension
from quiclab.errors import QuiclabError, RequestError, unexpected
from quiclab.experiment.executors.processes import WorkerDiedError
from quiclab.stacks.registry import register, registered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from quiclab.stacks.protocol import PythonStack

Result = TypeVar("Result")

#: Time in which a cluster must answer, twice [s].
REACH_S: Final = 1.5
#: What every cluster answers, at the port of its head and at that of its client server.
HEAD_METHOD, CLIENT_METHOD = "/ray.rpc.NodeInfoGcsService/CheckAlive", "/ray.rpc.RayletDriver/ClusterInfo"


class OtherVersionError(QuiclabError):
    """A node has another version of quiclab, whose results would not be the same."""


def own_version() -> str:
    """Return what nodes must have in common."""
    return f"quiclab {extension().version()}, build {build_id()}"


def checked(version: str, stacks: Sequence[PythonStack], function: Callable[..., Result], *arguments: Any) -> Result:
    """Run a task on a node, with stacks that a script has registered, if it has the version that sent it.

    Raises
    ------
    OtherVersionError
        If it has not.
    """
    if (found := own_version()) != version:
        node = os.uname().nodename
        raise OtherVersionError(f"node {node} has {found}, and this machine has {version}; install the same on both", 2)
    for stack in stacks:
        register(stack)
    return function(*arguments)


def place_of(address: str) -> tuple[str, int] | None:
    """Return host and port of a cluster; `None` for that of this machine.

    Raises
    ------
    RequestError
        If the address has another form.
    """
    named = os.environ.get("RAY_ADDRESS", "auto") if address == "ray" else address
    if address == "ray" and named in ("auto", "local"):
        return None
    text = named if "://" in named else f"ray://{named.removeprefix('ray:')}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port:
        field = "RAY_ADDRESS" if address == "ray" else "--executor"
        raise unexpected(field, "`ray:HOST:PORT` or `ray://HOST:PORT`", named)
    return host, port


def split(address: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def check_reachable(address: str, host: str, port: int) -> None:
    """Check that a server of Ray answers: Ray itself tries for minutes.

    Raises
    ------
    RequestError
        If nothing listens there, or it does not answer as Ray does.
    """
    import grpc  # noqa: PLC0415 - of the extra

    try:
        socket.create_connection((host, port), timeout=REACH_S).close()
    except OSError as error:
        reason = error.strerror or "no answer"
        raise RequestError(f"--executor {address}: the cluster cannot be reached: {reason}") from error
    if os.environ.get("RAY_USE_TLS", "0") != "0":
        return
    method = CLIENT_METHOD if "://" in address else HEAD_METHOD
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        try:
            channel.unary_unary(method)(b"", timeout=REACH_S)
        except grpc.RpcError as error:
            if error.code() in (
                grpc.StatusCode.UNIMPLEMENTED,
                grpc.StatusCode.UNAVAILABLE,
                grpc.StatusCode.DEADLINE_EXCEEDED,
            ):
                kind = "server of Ray clients (port 10001 by default)" if "://" in address else "head of a Ray cluster"
                raise RequestError(f"--executor {address}: what answers there is not the {kind}") from error


class Ray:
    """The nodes of a Ray cluster.

    Parameters
    ----------
    address
        As in the text above.

    Raises
    ------
    RequestError
        If Ray is not installed, or nothing answers at the address.
    """

    def __init__(self, address: str = "ray") -> None:
        if find_spec("ray") is None:
            raise RequestError("--executor ray needs Ray: `pip install quiclab[ray]`", kind="Unsupported")
        self._ray: Any = None
        self.address = address
        if (found := place_of(address)) is not None:
            check_reachable(address, *found)
        self.workers = 1
        self._task: Any = None
        self.head = ("", 0)
        # what Ray prints about nodes must not be among results
        self._messages = redirect_stdout(sys.stderr)

    def __enter__(self) -> Self:
        """Connect.

        Raises
        ------
        RequestError
            If the cluster cannot be reached.
        """
        import ray  # noqa: PLC0415 - an extra of the package, which takes seconds to load

        self._ray = ray
        options = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
        try:
            self._ray.init(**self._place(), **options)
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RequestError(f"--executor {self.address}: the cluster cannot be reached: {reason}") from error
        self.head = place_of(self.address) or split(self._ray.get_runtime_context().gcs_address)
        self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._messages.__enter__()
        # deaths are handled where batches are, with those of other executors
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(checked)
        return self

    def _place(self) -> dict[str, Any]:
        if self.address == "ray":
            return {"address": os.environ.get("RAY_ADDRESS")}
        address = self.address if self.address.startswith("ray://") else self.address.removeprefix("ray:")
        return {"address": address}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect; a cluster that was there before stays."""
        self._ray.shutdown()
        self._messages.__exit__(None, None, None)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Start a task on a node."""
        outer: Future[Result] = Future()
        outer.set_running_or_notify_cancel()  # Ctrl-C waits for it: nothing that was computed is discarded
        inner: Future[Any] = self._task.remote(own_version(), registered(), function, *arguments).future()
        inner.add_done_callback(lambda done: self._settle(done, outer))
        return outer

    def _settle(self, done: Future[Any], outer: Future[Result]) -> None:
        """Hand a result over; the death of a worker or a node is the same as elsewhere."""
        try:
            outer.set_result(done.result())
        except self._ray.exceptions.RayTaskError as error:
            outer.set_exception(error.cause if isinstance(getattr(error, "cause", None), Exception) else error)
        except self._ray.exceptions.RayError as error:
            died = WorkerDiedError(str(error))
            outer.set_exception(died)
        except BaseException as error:
            outer.set_exception(error)

    def restart(self) -> bool:
        """Count the CPUs again: the cluster replaces workers itself, and other nodes go on.

        Raises
        ------
        QuiclabError
            If the head of the cluster has gone: Ray would wait a minute for it, and then end the process.
        """
        try:
            socket.create_connection(self.head, timeout=REACH_S).close()
        except OSError as error:
            raise QuiclabError(
                f"--executor {self.address}: the cluster has gone; completed runs are stored, repeat the command to "
                "continue"
            ) from error
        self.workers = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return False

    def abandon(self) -> None:
        """Leave tasks to the cluster, which drops them when this program disconnects."""
