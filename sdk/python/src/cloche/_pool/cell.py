# SPDX-License-Identifier: Apache-2.0
"""A cell as a process has it that uses its sandboxes: connections, leases, and what of all that is lost.

It is a server to sandboxes as the one of this process is. What it adds is a rule: whatever may have been
changed by the end of a machine, a process, a connection or a session comes as `SandboxLost`, and never as a
result. So an answer that says that something was ended is believed only when the sandbox is still there.

Leases: a session ends some time after the last process that has it has said that it still does.
"""
from __future__ import annotations

import os
import queue
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .._errors import (CancelledError, ConnectionLostError, PoolFull, SandboxError, SandboxFileNotFoundError, SandboxLost,
                       ServerError, has_ended)
from .._progress import Progress
from .._remote import _set
from .._server import CallAnswerer, CommandListener, OutputHandler, QuestionHandler, Request, Server
from .address import Address
from .lane import SANDBOXES, Lane
from .web import UNKNOWN, Web

_PAUSES = (0.0, 0.2, 0.5, 1.0)
_TICK_SECONDS = 1.0
_ANSWER_SECONDS = 30.0
_FORKS_AT_ONCE = 100
_CERTAIN_STATUSES = frozenset({"exited", "timedOut"})
_SIGNALS = 128  # what a shell adds to the signal that has ended a program
_CERTAIN_OUTCOMES = frozenset({"ok", "error", "exited", "limit"})


class Held:
    """A session as this process has it."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.users = 0
        self.shared = False  # others may have it too: it ends by its lease
        self.tied = False  # a part of it is of the connection: snapshots are
        self.loss: Optional[str] = None
        self.attaching: threading.Lock = threading.Lock()
        self.lane: Optional[Lane] = None


class Cell(Server):
    """Thread-safe. Connects when there is something to ask."""

    def __init__(self, address: Address, token: str, lease_s: int) -> None:
        self.address = address
        self.lease_s = lease_s
        self.progress: Progress = Progress()
        self.token = token
        self._loss: Optional[str] = None
        self._held: Dict[str, Held] = {}
        self._web = Web(address.url, token)
        self._begin()

    def _begin(self) -> None:
        self._guard = threading.RLock()
        self._connecting = threading.Lock()
        self._lanes: List[Lane] = []
        # What the thread has to do beside leases: sessions to end, and what nobody refers to any more. That is
        # put by finalizers, which may come in the middle of anything: this queue can be put to there.
        self._inbox: "queue.SimpleQueue[Union[str, Held, None]]" = queue.SimpleQueue()
        self._thread: Optional[threading.Thread] = None
        self._room = UNKNOWN
        self._asked_for_room = False

    def after_fork(self) -> None:
        """In a forked child: connections are the parent's, and sandboxes both's."""
        self._begin()
        self._web.after_fork()
        for held in self._held.values():
            held.shared, held.lane, held.attaching = True, None, threading.Lock()

    # --- What sandboxes ask of a server ---

    @property
    def pid(self) -> int:
        """0: its process is another machine's."""
        return 0

    @property
    def is_ready(self) -> bool:
        """It connects within a request."""
        return True

    @property
    def is_running(self) -> bool:
        """Whether it is not known to be lost."""
        return self._loss is None

    def make_ready(self) -> None:
        """Nothing."""

    def session_of(self, sandbox_id: str) -> Optional[str]:
        """The session that a sandbox is."""
        return sandbox_id[2:]

    def submit(self, method: str, params: dict[str, Any], on_output: Optional[OutputHandler] = None,
               on_question: Optional[QuestionHandler] = None,
               command: Optional[CommandListener] = None) -> Request:
        """As of any server; what is lost is `SandboxLost`."""
        held = self._find(params["sandboxId"])
        lane = self._lane_of(held)
        watched = _Watched(self, held, command) if command is not None else None
        held.tied = held.tied or method == "snapshot.create"
        try:
            request = lane.submit(method, params, on_output, on_question, watched)
        except ServerError as error:
            raise self._lost(held, str(error)) from error
        answer: "Future[Any]" = Future()
        request.future.add_done_callback(lambda done: self._judge(held, done, answer))
        request.future = answer
        return request

    def serve_commands(self, sandbox_id: str, answerer: Optional[CallAnswerer]) -> None:
        """Who answers from now on when a command of this process is called in a sandbox."""
        held = self._held.get(sandbox_id)
        if held is not None and (answerer is not None or held.lane is not None):
            self._lane_of(held).serve_commands(sandbox_id, answerer)

    def answerer_of(self, sandbox_id: str) -> Optional[CallAnswerer]:
        """None: there is none."""
        held = self._held.get(sandbox_id)
        return held.lane.answerer_of(sandbox_id) if held is not None and held.lane is not None else None

    # --- Sandboxes ---

    def create(self, wish: Dict[str, Any], metadata: Dict[str, Any], timeout_s: float) -> str:
        """A new session. Asked again with the same key where the answer is lost, so that it is made once.

        Raises:
            PoolFull: there is no room; nothing was made.
            ConnectionLostError: it does not answer; what it may have made ends by its lease.
            SandboxError: the wish is refused.
        """
        self._start_thread()
        try:
            made = self._web.create({"ttl": self.lease_s, "metadata": metadata, "sandbox": wish}, timeout_s)
            self._room = self._room.with_one_more()
            return made
        except ConnectionLostError as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                self.lose(str(error))
            raise
        except ServerError as error:
            if error.errno_name == "EACCES":  # the token is of another server, which is there now
                self.lose(str(error))
                raise ConnectionLostError(str(error)) from error
            raise

    def hold(self, session_id: str, shared: bool) -> Held:
        """One more user in this process of a session, whose lease is renewed from now on."""
        self._start_thread()
        with self._guard:
            held = self._held.setdefault("r-" + session_id, Held(session_id))
            held.users += 1
            held.shared = held.shared or shared
            return held

    def let_go(self, held: Held) -> None:
        """One user less. Without any it is ended, or where others may have it left to its lease. For a finalizer."""
        if self._loss is None:
            self._inbox.put(held)

    def _let_go(self, held: Held) -> None:
        with self._guard:
            held.users -= 1
            if held.users > 0 or self._held.get("r-" + held.session_id) is not held:
                return
        self._forget(held)
        if not held.shared and held.loss is None:
            self._end_session(held.session_id)

    def kill(self, held: Held) -> None:
        """Ends a session, whoever has it, and waits for that. Of a cell that is lost it has ended already."""
        if held.loss is None:
            held.loss = "it was ended by kill()"
        self._forget(held)
        try:
            self._question("session.delete", {"sessionId": held.session_id})
        except SandboxError:
            pass

    def fork(self, held: Held, count: int, timeout_s: float) -> List[str]:
        """So many sessions that go on from that one; all of them or none.

        Raises:
            PoolFull: there is no room.
            SandboxLost: the one that is forked is lost.
        """
        deadline = time.monotonic() + timeout_s
        made: List[str] = []
        pause_s = 0.05
        try:
            while len(made) < count:
                wanted = min(_FORKS_AT_ONCE, count - len(made))
                params = {"sandboxId": "r-" + held.session_id, "sessionId": held.session_id, "count": wanted}
                try:
                    reply = self.submit("session.fork", params).result()
                except SandboxError as error:
                    if error.errno_name != "EAGAIN":
                        raise
                    if not self._is_there(held):
                        raise self._lost(held, "the sandbox has ended") from error
                    left_s = deadline - time.monotonic()
                    if left_s <= 0:
                        raise PoolFull(f"node {self.address.node_id} had no room for {count} forks in {timeout_s:g} s: {error}") from error
                    time.sleep(min(pause_s, left_s))
                    pause_s = min(1.0, 2 * pause_s)
                else:
                    made += [one["sessionId"] for one in reply["sessions"]]
            return made
        except BaseException:
            for session in made:
                self._inbox.put(session)
            raise

    @property
    def room(self) -> float:
        """How much there is, from 0 to 1, as it was a moment ago."""
        self._asked_for_room = True
        self._start_thread()
        return self._room.headroom

    # --- What is lost ---

    def lose(self, why: str) -> None:
        """It does not answer any more: all calls of it that are on their way, and all later ones, say so."""
        with self._guard:
            if self._loss is not None:
                return
            self._loss = why
            lanes = list(self._lanes)
        for lane in lanes:
            lane.end(why)
        self._web.close()
        self._inbox.put(None)

    def lose_sandbox(self, name: str, why: str) -> None:
        """It has ended, by its lease or by another process."""
        held = self._held.get(name)
        if held is not None:
            self._lost(held, why)

    def connected_again(self, names: Sequence[str]) -> None:
        """What these sandboxes had of a connection is gone."""
        for name in names:
            held = self._held.get(name)
            if held is not None and held.tied:
                self._lost(held, "the connection was lost, and with it snapshots")

    def _lost(self, held: Held, why: str) -> SandboxLost:
        """From now on it is; what of it may be left is ended."""
        with self._guard:
            if held.loss is None:
                held.loss = self._loss or why
                if self._loss is None:
                    self._inbox.put(held.session_id)
        return self._loss_of(held)

    def _loss_of(self, held: Held) -> SandboxLost:
        return SandboxLost(f"sandbox {held.session_id} of node {self.address.node_id} is lost: {held.loss or self._loss}",
                           session_id=held.session_id, node_id=self.address.node_id)

    def _judge(self, held: Held, done: "Future[Any]", answer: "Future[Any]") -> None:
        """On the thread that reads."""
        error = done.exception()
        if held.loss is not None:
            _set(answer, error=self._loss_of(held))
        elif isinstance(error, ServerError) and (isinstance(error, ConnectionLostError) or self._loss is not None):
            _set(answer, error=self._lost(held, str(error)))
        elif error is not None and not _is_doubtful(error, held.session_id):
            _set(answer, error=error)
        elif error is None and _is_certain(done.result()):
            _set(answer, done.result())
        else:
            self.when_known(held, lambda loss: _set(answer, error=loss or error) if loss or error else _set(answer, done.result()))

    def when_known(self, held: Held, then: Callable[[Optional[SandboxLost]], object]) -> None:
        """Asks whether the sandbox is still there. Does not wait: the thread that asks reads the answers."""
        def look() -> None:
            then(None if self._is_there(held) else self._lost(held, "the sandbox has ended"))

        threading.Thread(target=look, name="cloche looks", daemon=True).start()

    def _is_there(self, held: Held) -> bool:
        if held.loss is not None:
            return False
        try:
            self._question("session.extend", {"sessionId": held.session_id, "ttl": self.lease_s})
        except SandboxError:
            return False
        return self._web.is_ready()  # where its machine is about to end programs are told so as well

    # --- Connections ---

    def _find(self, name: str) -> Held:
        held = self._held.get(name)
        if held is None:
            raise SandboxLost(f"sandbox {name[2:]} has ended", session_id=name[2:], node_id=self.address.node_id)
        return held

    def _lane_of(self, held: Held) -> Lane:
        """The connection that has the sandbox; attaches one to it."""
        with held.attaching:
            if held.loss is not None or self._loss is not None:
                raise self._loss_of(held)
            if held.lane is not None:
                return held.lane
            self._start_thread()
            lane: Optional[Lane] = None
            try:
                lane = self._lane_with_room()
                lane.call("sandbox.create", {"sessionId": held.session_id})
            except (ServerError, SandboxFileNotFoundError) as error:
                self._give_place_back(lane)
                raise self._lost(held, str(error)) from error
            except BaseException:
                self._give_place_back(lane)
                raise
            held.lane = lane
            return lane

    def _lane_with_room(self) -> Lane:
        with self._connecting:
            with self._guard:
                for lane in self._lanes:
                    if lane.count < SANDBOXES:
                        lane.count += 1
                        return lane
            lane = self._new_lane()
            lane.count = 1
            with self._guard:
                if self._loss is None:
                    self._lanes.append(lane)
                    return lane
            lane.end(self._loss)
            raise ServerError(self._loss)

    def _new_lane(self) -> Lane:
        problem = ServerError(self._loss or "the cell is lost")
        for pause in _PAUSES:
            if self._loss is not None:
                raise ServerError(self._loss)
            time.sleep(pause)
            try:
                return Lane(self.address.url, self.token, self)
            except ServerError as error:
                problem = error
        self.lose(str(problem))
        raise problem

    def _give_place_back(self, lane: Optional[Lane]) -> None:
        with self._guard:
            if lane is not None:
                lane.count -= 1

    def _any_lane(self) -> Lane:
        with self._guard:
            if self._lanes:
                return self._lanes[0]
        lane = self._lane_with_room()
        self._give_place_back(lane)
        return lane

    def _question(self, method: str, params: Dict[str, Any]) -> Any:
        try:
            return self._any_lane().submit(method, params).future.result(_ANSWER_SECONDS)
        except NoAnswer:
            raise ConnectionLostError(f"{self.address.url} has not answered in {_ANSWER_SECONDS:g} s") from None

    def _forget(self, held: Held) -> None:
        """It is no sandbox of this process any more."""
        name = "r-" + held.session_id
        with self._guard:
            if self._held.get(name) is held:
                del self._held[name]
            lane, held.lane = held.lane, None
        if lane is None or self._loss is not None:
            return
        lane.serve_commands(name, None)
        try:
            lane.submit("sandbox.destroy", {"sandboxId": name}).future.add_done_callback(
                lambda _: self._give_place_back(lane))
        except ServerError:
            pass

    # --- Leases ---

    def _start_thread(self) -> None:
        with self._guard:
            if self._thread is None and self._loss is None:
                self._thread = threading.Thread(target=self._keep, name="cloche leases", daemon=True)
                self._thread.start()

    def _keep(self) -> None:
        inbox, renewed = self._inbox, time.monotonic()
        while self._loss is None:
            try:
                self._do(inbox)
                if self._asked_for_room:
                    self._asked_for_room = False
                    self._room = self._web.room(self._room)
                if time.monotonic() - renewed >= self.lease_s / 4:
                    renewed = time.monotonic()
                    self._renew()
            except ServerError:
                pass  # the next round connects again, or the cell is lost

    def _do(self, inbox: "queue.SimpleQueue[Union[str, Held, None]]") -> None:
        """What there is to do for a while."""
        until = time.monotonic() + _TICK_SECONDS
        while self._loss is None and (left_s := until - time.monotonic()) > 0:
            try:
                what = inbox.get(timeout=left_s)
            except queue.Empty:
                return
            if isinstance(what, Held):
                self._let_go(what)
            elif what is not None:
                self._end_session(what)

    def _end_session(self, session_id: str) -> None:
        self._any_lane().submit("session.delete", {"sessionId": session_id}).future.add_done_callback(
            lambda done: done.exception())

    def _renew(self) -> None:
        with self._guard:
            all_held = [held for held in self._held.values() if held.loss is None]
        for held in all_held:
            request = self._any_lane().submit("session.extend", {"sessionId": held.session_id, "ttl": self.lease_s})
            request.future.add_done_callback(partial(self._renewed, held))

    def _renewed(self, held: Held, done: "Future[Any]") -> None:
        error = done.exception()
        if isinstance(error, SandboxError) and not isinstance(error, ServerError) and error.errno_name in ("ENOENT", "EINVAL"):
            self._lost(held, "the sandbox has ended")

    def close(self) -> None:
        """Ends the connections."""
        self.lose("the cell was closed")

    close_later = close


def _is_certain(result: Any) -> bool:
    """Whether it cannot come of an end from outside."""
    if not isinstance(result, dict):
        return True
    if "outcome" in result:
        return result["outcome"] in _CERTAIN_OUTCOMES
    return result.get("status", "exited") in _CERTAIN_STATUSES and result.get("exitCode", 0) < _SIGNALS


def _is_doubtful(error: BaseException, session_id: str) -> bool:
    """Whether it may come of an end from outside."""
    if isinstance(error, CancelledError):
        return True
    return isinstance(error, SandboxError) and (error.errno_name in ("EIO", "ESRCH") or session_id in error.message
                                                or has_ended(error))


class _Watched:
    """Who listens to a command: is told of an end from outside as of a loss."""

    def __init__(self, cell: Cell, held: Held, listener: CommandListener) -> None:
        self._cell, self._held, self._listener = cell, held, listener

    def put(self, stream: str, text: str) -> None:
        self._listener.put(stream, text)

    def finish(self, end: Union[Dict[str, Any], SandboxError]) -> None:
        if isinstance(end, ServerError):
            self._listener.finish(self._cell._lost(self._held, str(end)))
        elif isinstance(end, dict) and not _is_certain(end):
            self._cell.when_known(self._held, lambda loss: self._listener.finish(loss or end))
        else:
            self._listener.finish(end)


_cells_lock = threading.Lock()
_cells: Dict[Tuple[str, str], Cell] = {}


def cell_at(address: Address, token: str, lease_s: int) -> Cell:
    """The one of this process for it."""
    with _cells_lock:
        key = (address.url, address.incarnation)
        if key not in _cells:
            _cells[key] = Cell(address, token, lease_s)
        return _cells[key]


def is_lost(address: Address) -> bool:
    """Whether this process has found out that it is."""
    with _cells_lock:
        cell = _cells.get((address.url, address.incarnation))
    return cell is not None and not cell.is_running


def lose_cells(is_lost: Callable[[Address], bool], why: str) -> None:
    """Those that are known to be gone from elsewhere."""
    with _cells_lock:
        lost = [cell for cell in _cells.values() if is_lost(cell.address)]
    for cell in lost:
        cell.lose(why)


def _after_fork() -> None:
    global _cells_lock
    _cells_lock = threading.Lock()
    for cell in _cells.values():
        cell.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
