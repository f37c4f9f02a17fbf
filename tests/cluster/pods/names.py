# SPDX-License-Identifier: Apache-2.0
"""What a cluster has besides its control plane: names of Services by DNS, and a Service's way to its Pods.

Both are given `pieces`, whose `all` has the EndpointSlices as they are now, by their uid; `services` is the same of Services.
"""
import asyncio
import random
import socket
import struct
import threading
import time

ZONE = "cluster.local"
CACHED_S = 5  # what CoreDNS tells again without a look, also that a name is not there: `ttl 5` and `cache` of its usual setup
A, ANY_CLASS = 1, 1


def service_of(piece):
    return piece["metadata"]["namespace"], piece["metadata"]["labels"]["kubernetes.io/service-name"]


def address_of(service):
    """That it has by itself, or None."""
    address = service["spec"].get("clusterIP")
    return None if address in (None, "None") else address


def addresses_of_its_own(pod, services) -> list:
    """Of Services that lead to this Pod alone, whatever it does: it has them itself, where a node would lead there."""
    return [address_of(one) for one in services if one["spec"].get("publishNotReadyAddresses") and address_of(one) and
            one["spec"]["selector"].items() <= pod["metadata"]["labels"].items()]


class Names:
    """Answers by UDP for the zone of the cluster, and says NXDOMAIN to the rest."""

    def __init__(self, pieces, services, address: str):
        self.pieces, self.services = pieces, services
        self.cache = {}  # name: (until, addresses or None)
        self.asked = {}  # name: how often
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                question, client = self.socket.recvfrom(4096)
                if answer := self.answer(question):
                    self.socket.sendto(answer, client)
            except (struct.error, IndexError, UnicodeDecodeError):
                continue  # no question
            except OSError:
                return

    def answer(self, question):
        number, flags, questions = struct.unpack("!HHH", question[:6])
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode().lower())
            at += 1 + question[at]
        kind, _ = struct.unpack("!HH", question[at + 1:at + 5])
        if questions != 1 or flags & 0x8000:
            return None
        addresses = self.look_up(".".join(labels))
        found = [] if addresses is None or kind != A else random.sample(addresses, len(addresses))
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", A, ANY_CLASS, CACHED_S, 4) + socket.inet_aton(one) for one in found)
        code = 3 if addresses is None else 0
        return struct.pack("!HHHHHH", number, 0x8400 | (flags & 0x0100) | code, 1, len(found), 0, 0) + question[12:at + 5] + records

    def look_up(self, name):
        """Its addresses; None where there is no such name."""
        self.asked[name] = self.asked.get(name, 0) + 1
        until, addresses = self.cache.get(name, (0, None))
        if time.monotonic() >= until:
            addresses = self.fresh(name)
            self.cache[name] = (time.monotonic() + CACHED_S, addresses)
        return addresses

    def fresh(self, name):
        if not name.endswith(f".svc.{ZONE}"):
            return None
        *host, service, namespace = name[:-len(f".svc.{ZONE}")].split(".")
        if len(host) > 1:
            return None
        own = [address_of(one) for one in self.services.all.values()
               if (one["metadata"]["namespace"], one["metadata"]["name"]) == (namespace, service) and address_of(one)]
        if own and not host:
            return own
        found = []
        for piece in self.pieces.all.values():
            if service_of(piece) != (namespace, service):
                continue
            for end in piece.get("endpoints") or []:
                if end["conditions"].get("ready") is not False and (not host or end.get("hostname") == host[0]):
                    found += end["addresses"]
        return found or None

    def stop(self):
        self.socket.close()


class Door:
    """A Service at a port of the loopback: each connection to one of its Pods that are ready, drawn by lot, as kube-proxy does."""

    def __init__(self, pieces, namespace: str, service: str, port: int):
        self.wanted, self.port = (namespace, service), port
        self.pieces = pieces
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def places(self):
        ready, ending = [], []
        for piece in self.pieces.all.values():
            if service_of(piece) != self.wanted:
                continue
            for end in piece.get("endpoints") or []:
                for address in end["addresses"]:
                    if end["conditions"].get("ready"):
                        ready.append((address, piece["ports"][0]["port"]))
                    elif end["conditions"].get("serving"):
                        ending.append((address, piece["ports"][0]["port"]))
        return ready or ending

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", self.port))
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            places = self.places()
            if not places:
                return
            to_reader, to_writer = await asyncio.open_connection(*random.choice(places))
            await asyncio.gather(self.pump(reader, to_writer), self.pump(to_reader, writer))
        except OSError:
            pass
        finally:
            writer.close()

    @staticmethod
    async def pump(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.server.close()
        self.loop.run_until_complete(self.server.wait_closed())
        self.loop.close()
