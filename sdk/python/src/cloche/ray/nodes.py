# SPDX-License-Identifier: Apache-2.0
# pyright: reportAttributeAccessIssue=false
# Where Ray is not installed pyright takes this package for it.
"""The nodes of a Ray cluster and their cells: an actor on each, which owns one."""
from __future__ import annotations

import os
import threading
import time
from functools import partial
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

import ray

from .._pool.address import Address
from .._pool.cell import is_lost, lose_cells
from .._pool.host import CellHost

NAMESPACE = "cloche"
_OWNER_SECONDS = 1.0
_USER_SECONDS = 5.0
_ANSWER_SECONDS = 150.0
_AGAIN_SECONDS = 30.0
_LEAST_SECONDS = 0.1
_END_SECONDS = 10.0


class CellActor:
    """The actor of a node. Its cell lives while the pool's maker renews its lease, and not longer than the actor, nor
    than the raylet that has started it: an actor may outlive that, and the node is lost then."""

    def __init__(self, token: str, lease_s: float, words: Sequence[str]) -> None:
        context = ray.get_runtime_context()
        self._host = CellHost(context.get_node_id(), ray.util.get_node_ip_address(), token, lease_s, words,
                              beside=os.getppid())

    def renew(self) -> Tuple[str, str, str]:
        """Where the cell is, which lives on for a while."""
        return tuple(self._host.renew())  # type: ignore[return-value]

    def where(self) -> Optional[Tuple[str, str, str]]:
        """Where the cell is, if it runs."""
        there = self._host.where()
        return None if there is None else tuple(there)  # type: ignore[return-value]


class Nodes:
    """The cells of a pool, as this process knows them: looked at again and again, by threads. The process that has made
    the pool also starts an actor on each node that there is, and renews the leases of their cells; that asks the actors
    alone, and goes on where Ray does not say which nodes there are."""

    def __init__(self, pool_id: str, actors: "Optional[Callable[[Mapping[str, Any], str], Any]]") -> None:
        """`actors` makes the actor of a node, by a name; None: another process does."""
        self._pool_id = pool_id
        self._make = actors
        self._changed = threading.Condition()
        self._looks = 0
        self._wanted = 0
        self._ended = False
        self._actors: Dict[str, Any] = {}
        self._asked: Dict[Any, Tuple[str, float]] = {}
        self._cells: Dict[str, Address] = {}
        self._made: Dict[str, float] = {}
        self._troubles: Dict[str, str] = {}
        self._threads = [threading.Thread(target=self._repeat, args=(step,), name="cloche pool", daemon=True)
                         for step in (self._find, self._ask)]
        for thread in self._threads:
            thread.start()

    def cells(self) -> Mapping[str, Address]:
        with self._changed:
            return dict(self._cells)

    def wait(self, seconds: float) -> None:
        with self._changed:
            looks = self._looks
            self._wanted += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._looks > looks or self._ended, seconds)

    def trouble(self) -> str:
        """Why a node has no cell, where one has said why."""
        with self._changed:
            return next((f"node {name}: {why}" for name, why in self._troubles.items() if why and name not in self._cells), "")

    def here(self) -> str:
        return str(ray.get_runtime_context().get_node_id())

    def end(self) -> None:
        """Ends the actors, and so the cells, where they were made here."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(_END_SECONDS)
        if self._make is not None and ray.is_initialized():
            for actor in list(self._actors.values()):
                ray.kill(actor)
        with self._changed:
            there, self._cells = set(self._cells.values()), {}
        lose_cells(lambda address: address in there, "the pool was closed")

    def _repeat(self, step: Callable[[], None]) -> None:
        while not self._ended and ray.is_initialized():
            with self._changed:
                wanted = self._wanted
            try:
                step()
            except Exception:
                # What Ray raises of a cluster that is going, or does not answer: until it is known again
                # everything stays as it is, and each cell says for itself whether it is there.
                pass
            with self._changed:
                self._looks += 1
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._ended, _LEAST_SECONDS)  # many may ask
                self._changed.wait_for(lambda: self._ended or self._wanted != wanted,
                                       _OWNER_SECONDS if self._make else _USER_SECONDS)

    def _find(self) -> None:
        """Which nodes there are, and their actors."""
        nodes = {str(node["NodeID"]): node for node in ray.nodes() if node["Alive"]}
        with self._changed:
            known = list(self._actors)
            for gone in set(known) - set(nodes):
                del self._actors[gone]
                self._cells.pop(gone, None)
        for gone in set(known) - set(nodes):
            lose_cells(partial(_is_of, gone), "its node is lost")
        for name in set(nodes) - set(known):
            if self._ended or time.monotonic() < self._made.get(name, 0.0):
                continue
            actor = self._actor_of(name, nodes[name])
            if actor is not None:
                if self._make is not None:
                    self._made[name] = time.monotonic() + _AGAIN_SECONDS  # not before that anew
                with self._changed:
                    self._actors[name] = actor

    def _ask(self) -> None:
        """Where their cells are."""
        with self._changed:
            actors, cells = dict(self._actors), dict(self._cells)
        asked = {name for name, _ in self._asked.values()}
        for name, actor in actors.items():
            # Who does not renew leases asks again only of those that it does not know.
            known = self._make is None and name in cells and not is_lost(cells[name])
            if name not in asked and not known:
                reference = (actor.renew if self._make else actor.where).remote()
                self._asked[reference] = (name, time.monotonic())
        if self._asked:
            done, _ = ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0.2)
            for reference in done:
                self._take(self._asked.pop(reference)[0], reference)
        for reference, (name, since) in list(self._asked.items()):
            if time.monotonic() - since > _ANSWER_SECONDS or name not in actors:
                del self._asked[reference]

    def _actor_of(self, name: str, node: Mapping[str, Any]) -> Any:
        actor_name = f"{self._pool_id}-{name}"
        try:
            return self._make(node, actor_name) if self._make is not None else ray.get_actor(actor_name, namespace=NAMESPACE)
        except ValueError:
            return None  # not yet, or not any more, or the pool leaves the node out

    def _take(self, name: str, reference: Any) -> None:
        there, trouble, died = None, "", False
        try:
            there = ray.get(reference)
        except ray.exceptions.ActorDiedError as error:
            trouble, died = str(error), True  # for good: it is made again, or looked for
        except ray.exceptions.RayError as error:
            trouble = str(error)  # it is being started anew, or its cell does not start
        with self._changed:
            if died:
                self._actors.pop(name, None)
            self._troubles[name] = trouble.strip().rpartition("\n")[2]
            if there is None:
                self._cells.pop(name, None)
            elif name in self._actors:
                self._cells[name] = Address(*there)


def _is_of(node_id: str, address: Address) -> bool:
    return address.node_id == node_id
