# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster, a driver with a pool, rollouts by tasks on all nodes: ray_program.py

A node is killed in the middle of them, another one joins, a worker and at last the driver are killed. To be run in
namespaces of the network and of processes that are its own.
"""
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import ray

from cloche.ray import PoolFull, SandboxLost, SandboxPool

ROLLOUTS = int(os.environ.get("RAY_ROLLOUTS", "5000"))
FORKS, GROUPS_OF_A_TASK = 8, 5
NODES = 4
PATIENCE_S = 240
LEASE_S = 60
ADDRESSES = [f"10.99.1.{n}" for n in range(1, NODES + 2)]
OBJECT_STORE_BYTES = 80 << 20
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/ray_rollouts.py"


def until(holds, what: str, patience_s: float = PATIENCE_S) -> float:
    """Waits until it holds; how long that took."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > patience_s:
            raise AssertionError("still not: " + what)
        time.sleep(0.05)
    return time.monotonic() - begun


def cells() -> dict:
    """Processes of this namespace that are cells, and at which address each of them listens."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", process, "cmdline").read_text().split("\0")
            state = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and words[1:2] == ["serve"] and "--tokens-file" in words:
            found[int(process)] = words[words.index("--host") + 1]
    return found


# --- The driver -----------------------------------------------------------------------------------


def rollouts_of(pool: SandboxPool, seed: int) -> Counter:
    """A group: a sandbox that is prepared, and forks of it that go on, each in its own way."""
    counted: Counter = Counter()
    try:
        with pool.create(metadata={"seed": seed}) as base:
            with_python = seed % 10 == 0
            base.commands.run(f"S={seed}; echo {seed * 7} >f", check=True)
            if with_python:
                base.python.execute(f"y = {seed}", check=True)
            for k, sandbox in enumerate(pool.fork(base, FORKS)):
                try:
                    with sandbox:
                        told = sandbox.commands.run(f"read x <f; echo {k} >f; echo $((x * {k} + S))")
                        good = (told.stdout, told.exit_code) == (f"{seed * 7 * k + seed}\n", 0)
                        if with_python:
                            good = good and sandbox.python.execute(f"y * {k}").result == str(seed * k)
                        counted["right" if good else "wrong"] += 1
                        counted[f"on {sandbox.node_id}"] += 1
                except SandboxLost:
                    counted["lost"] += 1
    except SandboxLost:
        counted["lost"] += FORKS - counted["right"] - counted["wrong"] - counted["lost"]
    return counted


@ray.remote(num_cpus=1, max_retries=0)
def groups(pool: SandboxPool, seeds: list) -> Counter:
    counted: Counter = Counter()
    for seed in seeds:
        counted += rollouts_of(pool, seed)
    return counted


@ray.remote(num_cpus=0, max_retries=0)
def use(sandbox, pool: SandboxPool) -> tuple:
    """What a task does with a sandbox that it is given."""
    told = sandbox.commands.run("echo $V; echo task >f").stdout
    with pool.fork(sandbox, 1)[0] as twin:
        told += twin.commands.run("cat f").stdout
    with pool.create(node="here") as near:
        return told, near.node_id, ray.get_runtime_context().get_node_id()


@ray.remote(num_cpus=0)
class Holder:
    """Has sandboxes until it is killed."""

    def hold(self, pool: SandboxPool, count: int) -> list:
        self.sandboxes = [pool.create(metadata={"holder": 1}) for _ in range(count)]
        self.sandboxes += pool.fork(self.sandboxes[0], 2)
        return [sandbox.session_id for sandbox in self.sandboxes]


def sessions_of(pool: SandboxPool) -> set:
    """All that there are, as the cells say."""
    from cloche._pool.cell import cell_at
    found = set()
    for address in pool._nodes.cells().values():
        found |= {one["sessionId"] for one in
                  cell_at(address, pool._token, LEASE_S)._question("session.list", {"limit": 1000})["sessions"]}
    return found


def lost_with_its_actor(pool: SandboxPool, node: str) -> None:
    """Ray starts the actor of a node anew, and there is another cell."""
    sandbox = pool.create(node=node)
    old = pool._nodes.cells()[node]
    cell = next(process for process, host in cells().items() if host in old.url)
    actor = int(Path("/proc", str(cell), "stat").read_text().rpartition(")")[2].split()[1])
    os.kill(actor, signal.SIGKILL)
    until(lambda: cell not in cells(), "its cell has ended with it", 60)
    try:
        sandbox.commands.run("true")
    except SandboxLost as error:
        assert (error.session_id, error.node_id) == (sandbox.session_id, node), error
    else:
        raise AssertionError("it was not lost")
    until(lambda: pool._nodes.cells().get(node, old) != old, "there is another cell on its node")
    with pool.create(node=node) as sandbox:
        assert sandbox.commands.run("echo x").stdout == "x\n"


def tell(**what) -> None:
    print(json.dumps(what), flush=True)


def drive(address: str, victim: str) -> None:
    ray.init(address=address, _node_ip_address=ADDRESSES[0], log_to_driver=False)
    pool = SandboxPool(sandboxes=300, lease_s=LEASE_S, starts=8)
    there = pool.wait_for(NODES, timeout=PATIENCE_S)
    assert len(there) == NODES and victim in there, (there, victim)

    base = pool.create()
    base.commands.run("V=driver")
    told, near, node = ray.get(use.remote(base, pool))
    assert (told, near) == ("driver\ntask\n", node), (told, near, node)
    assert base.files.read("f") == b"task\n"
    base.kill()
    try:
        ray.get(use.remote(base, pool))
    except SandboxLost as error:  # Ray's own error of the task is one too
        assert error.session_id == base.session_id, error
    else:
        raise AssertionError("a sandbox that has ended was used")

    holder = Holder.remote()
    held = set(ray.get(holder.hold.remote(pool, 3)))
    assert held <= sessions_of(pool)
    ray.kill(holder)
    killed_at = time.monotonic()

    lost_with_its_actor(pool, next(node for node in there if node != victim))

    first = pool.create(node=victim)
    doomed = [first, *pool.fork(first, FORKS - 1)]
    outcomes: list = []

    def wait_for_ever(sandbox) -> None:
        try:
            outcomes.append(sandbox.commands.run("sleep 10000; echo wrong", timeout_ms=0))
        except BaseException as error:
            outcomes.append(error)

    waiting = [threading.Thread(target=wait_for_ever, args=(sandbox,)) for sandbox in doomed]
    for thread in waiting:
        thread.start()

    seeds = list(range(ROLLOUTS // FORKS))
    random.Random(7).shuffle(seeds)
    parts = [seeds[at:at + GROUPS_OF_A_TASK] for at in range(0, len(seeds), GROUPS_OF_A_TASK)]
    begun = time.monotonic()
    going = {groups.remote(pool, part): part for part in parts}
    counted: Counter = Counter()
    asked = False
    while going:
        for done in ray.wait(list(going), num_returns=1)[0]:
            part = going.pop(done)
            try:
                counted += ray.get(done)
            except ray.exceptions.RayTaskError:
                raise  # what it has raised itself
            except ray.exceptions.RayError:
                counted["lost with their task"] += FORKS * len(part)
        if not asked and len(going) < len(parts) * 2 / 3:
            asked = True
            tell(now="half")
    took_s = time.monotonic() - begun
    for thread in waiting:
        thread.join(PATIENCE_S)
    assert [type(one) for one in outcomes] == [SandboxLost] * FORKS, outcomes
    assert {(one.node_id, one.session_id) for one in outcomes} == {(victim, one.session_id) for one in doomed}, outcomes
    until(lambda: not sessions_of(pool) & held, "what a killed worker had has ended", LEASE_S + 30)
    assert time.monotonic() - killed_at > 20, "leases were not what ended them"

    until(lambda: len(pool.nodes()) == NODES and victim not in pool.nodes(), "there is another node, and not the lost one")
    new = (set(pool.nodes()) - set(there)).pop()
    with pool.create(node=new) as sandbox:
        assert sandbox.commands.run("echo x").stdout == "x\n"
    until(lambda: not sessions_of(pool), "nothing is left of rollouts", LEASE_S + 30)

    kept = [pool.create(node=node) for node in pool.nodes() for _ in range(5)]
    for sandbox in kept:
        sandbox.commands.start("sleep 10000")
    kept += pool.fork(kept[0], 5)
    try:
        pool.create(node=new, timeout=0, packages=["no-such-package"])
        raise AssertionError("it was made")
    except ValueError:
        pass
    assert issubclass(PoolFull, TimeoutError)
    tell(now="holding", sandboxes=len(sessions_of(pool)), took_s=round(took_s, 1), **counted)
    threading.Event().wait()


# --- The cluster ----------------------------------------------------------------------------------


def resident_mb() -> int:
    """Of all processes of this namespace, what they share counted by halves, thirds, ..."""
    total = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines = Path("/proc", process, "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total >> 10


def children_of(parent: int) -> list:
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[1]) == parent:
            found.append(int(process))
    return found


def end_node(address: str, workers: list, ended: list) -> None:
    """Of a node whose raylet is gone: its cell ends by itself, before its workers do."""
    ended.append(until(lambda: address not in cells().values(), "the cell of the lost node has ended", 60))
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def watch(driver, cluster, common: dict, victim) -> None:
    """What the driver tells, and what is done to it."""
    ended: list = []
    for line in driver.stdout:
        if not line.startswith("{"):
            print(line, end="")
            continue
        told = json.loads(line)
        if told["now"] == "half":
            print(f"{len(cells())} cells, {resident_mb()} MiB in all processes; now a node is lost", flush=True)
            raylet = victim.all_processes["raylet"][0].process.pid
            workers = children_of(raylet)
            os.kill(raylet, signal.SIGKILL)
            ending = threading.Thread(target=end_node, args=(victim.node_ip_address, workers, ended))
            ending.start()
            cluster.add_node(**common, node_ip_address=ADDRESSES[NODES])
        if told["now"] == "holding":
            break
    else:
        raise AssertionError(f"the driver has ended with {driver.wait()}")
    print(told)
    ending.join()
    assert ended, cells()
    print(f"the cell of the lost node ended after {ended[0]:.1f} s")
    there = len(cells())
    assert told.get("wrong", 0) == 0, told
    assert told["right"] + told.get("lost", 0) + told.get("lost with their task", 0) == ROLLOUTS // FORKS * FORKS, told
    assert told["right"] > ROLLOUTS * 0.8, told
    assert told["sandboxes"] == NODES * 5 + 5 and there == NODES, (told, cells())
    driver.send_signal(signal.SIGKILL)
    took_s = until(lambda: not cells(), "no cell is left", 60)
    print(f"the driver was killed: {there} cells ended in {took_s:.1f} s")


def main() -> None:
    assert os.getpid() < 10, "this is for namespaces of its own"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in ADDRESSES:
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], str(Path(__file__).parent)])
    from ray.cluster_utils import Cluster

    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["RAY_TMPDIR"] = folder
        common = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args={**common, "node_ip_address": ADDRESSES[0]})
        nodes = [cluster.head_node] + [cluster.add_node(**common, node_ip_address=address) for address in ADDRESSES[1:NODES]]
        cluster.wait_for_nodes()
        example = subprocess.run([sys.executable, "-B", EXAMPLE, "3"], env={**os.environ, "RAY_ADDRESS": cluster.address},
                                 capture_output=True, text=True, timeout=PATIENCE_S)
        assert example.stdout == "3 groups of 4 answers: the mean reward is 0.50; 0 of 12 are not known\n", example
        until(lambda: not cells(), "the example's cells have ended", 60)
        victim = nodes[2]
        with subprocess.Popen([sys.executable, "-B", __file__, cluster.address, victim.node_id], stdout=subprocess.PIPE,
                              text=True) as driver:
            try:
                watch(driver, cluster, common, victim)
            finally:
                driver.kill()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        drive(*sys.argv[1:])
    else:
        main()
        # What is left of Ray ends with this process, which is the first one of its namespace.
