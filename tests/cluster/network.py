# SPDX-License-Identifier: Apache-2.0
"""Machines with a network of their own, which nothing else is on: network namespaces, joined by a bridge.

A program that uses them is started anew in a namespace of its own, which has the bridge; there is nothing of this on
the machine's own network.
"""
import os
import shutil
import subprocess
import sys

INSIDE = "CLOCHE_OWN_NETWORK"
FLOATING = "10.96.0.0/24"  # of addresses that go from one machine to another
IP = shutil.which("ip", path=os.environ["PATH"] + ":/usr/sbin")


def enter(*more):
    """Goes on as the same program in a namespace of its own; `more` are words of unshare for further ones."""
    if os.environ.get(INSIDE) != "1":
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.execvpe("unshare", ["unshare", *as_root, "--net", *more, sys.executable, "-B", *sys.argv], {**os.environ, INSIDE: "1"})


def ip(*words):
    subprocess.run([IP, *words], check=True, stdout=subprocess.DEVNULL)


class Network:
    """The bridge, which is this program's too: 10.77.0.254."""

    def __init__(self):
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge")
        ip("addr", "add", "10.77.0.254/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")
        ip("route", "add", FLOATING, "dev", "bridge")
        self.machines = []

    def machine(self, floating=()):
        self.machines.append(Machine(len(self.machines) + 1, floating))
        return self.machines[-1]

    def close(self):
        for machine in self.machines:
            machine.close()
        ip("link", "del", "bridge")


class Machine:
    """One that has a network for as long as it is plugged in. `floating`: of FLOATING, addresses that are its own from now on."""

    def __init__(self, number, floating=()):
        self.number, self.floating = number, floating
        self.address = f"10.77.0.{number}"
        # Its namespace lives as long as a process in it.
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.plug_in()

    def words(self, *words):
        """What starts a program there."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *words]

    def plug_in(self):
        wire = f"wire{self.number}"
        # Who has asked where such an address is finds the one that has it next.
        own = ["address", "02:00:" + ":".join(f"{int(part):02x}" for part in self.floating[0].split("."))] if self.floating else []
        ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", *own, "netns", str(self.holder.pid))
        ip("link", "set", wire, "master", "bridge", "up")
        addresses = [["addr", "add", one, "dev", "eth0"] for one in (self.address + "/24", *(each + "/32" for each in self.floating))]
        for words in [["link", "set", "lo", "up"], *addresses, ["link", "set", "eth0", "up"], ["route", "add", FLOATING, "dev", "eth0"]]:
            subprocess.run(self.words(IP, *words), check=True)

    def pull_out(self):
        """It has no network any more, and all that runs on it goes on."""
        ip("link", "del", f"wire{self.number}")

    def close(self):
        self.holder.stdin.close()
        self.holder.stdout.close()
        self.holder.wait()
