"""Names to addresses: /etc/hosts, then a query to port 53 of the sandbox's loopback, which the host answers by its network policy."""
import struct

from .addresses import AF_INET, AF_INET6, inet_ntop, literal

EAI_BADFLAGS, EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_NODATA, EAI_FAMILY, EAI_SOCKTYPE, EAI_SERVICE = -1, -2, -3, -4, -5, -6, -7, -8
EAI_ADDRFAMILY, EAI_MEMORY, EAI_SYSTEM = -9, -10, -11
_GAI_TEXTS = {
    EAI_BADFLAGS: "Bad value for ai_flags", EAI_NONAME: "Name or service not known",
    EAI_AGAIN: "Temporary failure in name resolution", EAI_FAIL: "Non-recoverable failure in name resolution",
    EAI_NODATA: "No address associated with hostname", EAI_FAMILY: "ai_family not supported",
    EAI_SOCKTYPE: "ai_socktype not supported", EAI_SERVICE: "Servname not supported for ai_socktype",
    EAI_ADDRFAMILY: "Address family for hostname not supported",
}


class gaierror(OSError):
    """A name has no address."""

    __module__ = "socket"


def name_error(code, text=None):
    return gaierror(code, text or _GAI_TEXTS[code])


def _hosts_file(name):
    found = []
    try:
        with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.partition("#")[0].split()
                if name in words[1:] and (address := literal(words[0])):
                    found.append(address)
    except OSError:
        pass
    return found


def _query(name, kind, number):
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".")]
    if any(not 1 <= len(label) <= 63 for label in labels):
        raise name_error(EAI_NONAME)
    question = b"".join(bytes([len(label)]) + label for label in labels) + struct.pack(">xHH", kind, 1)
    return struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + question


_SOCK_DGRAM = 2
_NOT_PERMITTED, _NO_NETWORK = 0x40, 0x10  # why there is no such name: DnsAnswer of src/net/dns.h


def _read_answer(packet, kind):
    """The code of the answer and its addresses."""
    flags, _, count = struct.unpack_from(">HHH", packet, 2)
    at = 12
    while packet[at]:
        at += packet[at] + 1
    at += 5
    found = []
    for _ in range(count):
        at += 2
        got, _, _, length = struct.unpack_from(">HHIH", packet, at)
        at += 10
        if got == kind:
            found.append(packet[at:at + length])
        at += length
    return flags & (15 | _NOT_PERMITTED | _NO_NETWORK), found


def resolve(name, families, socket):
    """Addresses of a name: [(family, text)]. `socket`: the class whose datagrams ask."""
    if found := [entry for entry in _hosts_file(name) if entry[0] in families]:
        return found
    if name == "localhost":
        return [(family, "127.0.0.1" if family == AF_INET else "::1") for family in families]
    kinds = {AF_INET: 1, AF_INET6: 28}
    asker = socket(AF_INET, _SOCK_DGRAM)
    try:
        asker.settimeout(30)
        try:
            asker.connect(("127.0.0.1", 53))
            wanted = {}
            for i, family in enumerate(families):
                wanted[i + 1] = family
                asker.send(_query(name, kinds[family], i + 1))
            results, codes = {}, set()
            while len(results) < len(wanted):
                packet = asker.recv(4096)
                number = int.from_bytes(packet[:2], "big")
                family = wanted.get(number)
                if family is not None and family not in results:
                    code, addresses = _read_answer(packet, kinds[family])
                    results[family] = [(family, inet_ntop(family, address)) for address in addresses]
                    codes.add(code)
        except UnicodeError:
            raise name_error(EAI_NONAME) from None
        except TimeoutError:
            raise name_error(EAI_AGAIN) from None
        except ConnectionRefusedError:
            raise name_error(EAI_AGAIN, "Temporary failure in name resolution: this sandbox has no network") from None
    finally:
        asker.close()
    found = [entry for family in families for entry in results[family]]
    if found:
        return found
    code = max(codes)
    if code & _NO_NETWORK:
        raise name_error(EAI_AGAIN, "Temporary failure in name resolution: this sandbox has no network")
    if code & _NOT_PERMITTED:
        raise name_error(EAI_FAIL, f"{name} is not permitted by the network policy of this sandbox")
    raise name_error(EAI_NONAME if 3 in codes else EAI_AGAIN if 2 in codes else EAI_NODATA)
