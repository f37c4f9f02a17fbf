# SPDX-License-Identifier: Apache-2.0
"""Cells that speak TLS to each other (--peer-ca), and certificates that are renewed while a server runs."""
import http.client
import json
import os
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from http2 import make_certificates
from peers_test import SECRET, TOKENS, Cells
from server import PATIENCE_S, PROGRAM, Server, until


class TlsCell(Server):
    """By name: a certificate is for one."""
    authority = ""

    @property
    def url(self):
        return f"https://localhost:{self.port}"

    def connection(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE_S,
                                           context=ssl.create_default_context(cafile=self.authority))


class TlsCells(Cells):
    def __init__(self, *words, **more):
        self.certificates = tempfile.TemporaryDirectory()
        self.authority, self.certificate, self.key = make_certificates(self.certificates.name)
        super().__init__(*words, **more)

    def make_server(self, *words, **more):
        TlsCell.authority = self.authority
        return TlsCell(*words, "--tls-cert", self.certificate, "--tls-key", self.key, "--peer-ca", self.authority, **more)

    def place_of(self, server):
        return f"localhost:{server.port}"

    def __exit__(self, *words):
        super().__exit__(*words)
        self.certificates.cleanup()


class PeersByTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.state = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.state.cleanup)
        cls.cells = TlsCells("--max-token-sessions", "20", "--state-dir", cls.state.name, "--take-keys", ssh=True)
        cls.addClassCleanup(cls.cells.__exit__)

    def ask(self, key, *words, **more):
        return self.cells[key].ask(*words, token=TOKENS[0], **more)

    def test_a_session_is_there_by_every_cell(self):
        path = "/sessions/" + self.cells.create(1)
        large = os.urandom(5_000_000)
        self.assertEqual(self.ask(2, "POST", path + "/files?path=large&overwrite=true", large)[0], 201)
        self.assertEqual(self.ask(3, "GET", path + "/files?filePath=large")[2], large)
        status, _, body = self.ask(3, "POST", path + "/commands", {"command": "wc -c < large; exit 3"})
        self.assertEqual((status, json.loads(body)["stdout"], json.loads(body)["exitCode"]), (200, "5000000\n", 3))
        for key in (1, 2, 3):
            self.assertIn(path.rpartition("/")[2], self.ask(key, "GET", "/sessions")[2].decode())
        self.assertEqual(self.ask(2, "DELETE", path)[0], 200)
        self.assertEqual([self.ask(key, "GET", path)[0] for key in (1, 2, 3)], [404] * 3)

    def test_many_at_a_time(self):
        path = "/sessions/" + self.cells.create(1)
        answers = []

        def run(number):
            told = json.loads(self.ask(2 + number % 2, "POST", path + "/commands", {"command": f"seq {number}000 | tail -1"})[2])
            answers.append((number, told["stdout"]))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 17)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [(number, f"{number}000\n") for number in range(1, 17)])

    def test_an_owner_has_a_limit_over_all_cells(self):
        ids = [self.cells.create(1 + number % 3, TOKENS[1]) for number in range(20)]
        for key in (1, 2, 3):
            self.assertEqual(self.cells[key].ask("POST", "/sessions", token=TOKENS[1])[0], 429)
        for session in ids:
            self.assertEqual(self.cells[2].ask("DELETE", f"/sessions/{session}", token=TOKENS[1])[0], 200)

    def test_ssh_comes_through(self):
        import paramiko
        session = self.cells.create(1)
        for key in (1, 2, 3):
            transport = paramiko.Transport(socket.create_connection(("127.0.0.1", self.cells[key].ssh_port), PATIENCE_S))
            self.addCleanup(transport.close)
            transport.connect(username="sandbox+" + session, password=TOKENS[0])
            channel = transport.open_session()
            channel.exec_command("wc -c; exit 5")
            channel.sendall(b"x" * 3_000_000)
            channel.shutdown_write()
            self.assertEqual((channel.makefile().read(), channel.recv_exit_status()), (b"3000000\n", 5))

    def test_keys_move(self):
        session = self.cells.create(3)
        path = f"/sessions/{session}/commands"
        words = [PROGRAM, "cells", "--peers", f"file:{self.cells.peers}", "--peer-token-file", str(self.cells.secret),
                 "--peer-ca", self.cells.authority]
        listed = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
        self.assertEqual([line.split()[1] for line in listed.splitlines()], ["1", "2", "3"], listed)
        for to in ("1", "3"):
            subprocess.run([*words[:2], "move", "3", to, *words[2:]], capture_output=True, timeout=PATIENCE_S, check=True)
            self.assertEqual(self.ask(2, "POST", path, {"command": "true"})[0], 200)
        without = subprocess.run(words[:-2], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((without.returncode, without.stdout), (1, ""))
        self.assertEqual(without.stderr.count("does not answer: where cells speak TLS, say --peer-ca\n"), 3, without.stderr)

    def test_one_without_tls_is_none_of_them(self):
        with socket.create_connection(("127.0.0.1", self.cells[1].port), PATIENCE_S) as sock:
            sock.sendall(f"GET /cell HTTP/1.1\r\nHost: localhost\r\nX-Cloche-Hop: {SECRET}\r\n\r\n".encode())
            self.assertNotIn(b"200", sock.recv(1000)[:20])


class Impostors(unittest.TestCase):
    def test_who_is_not_vouched_for_is_told_nothing(self):
        """It has the address of a peer: not even the cells' secret is said to it."""
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as named:
            _, strange, strange_key = make_certificates(folder)
            with TlsCells(keys=(1,)) as cells:
                # Of the right authority, for another name.
                other = f"{named}/cert.pem"
                subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=elsewhere",
                                "-addext", "subjectAltName=DNS:elsewhere", "-addext", "basicConstraints=critical,CA:FALSE",
                                "-CA", cells.authority, "-CAkey", f"{cells.certificates.name}/authority-key.pem",
                                "-keyout", f"{named}/key.pem", "-out", other], check=True, capture_output=True)
                for certificate, key in [(strange, strange_key), (other, f"{named}/key.pem")]:
                    heard, met = [], threading.Event()
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(certificate, key)
                    with socket.create_server(("127.0.0.1", 0)) as listener:
                        def serve(listener=listener, context=context, heard=heard, met=met):
                            try:
                                while True:
                                    raw, _ = listener.accept()
                                    try:
                                        with context.wrap_socket(raw, server_side=True) as sock:
                                            heard.append(sock.recv(1000))
                                    except OSError:
                                        pass
                                    met.set()
                            except OSError:
                                pass

                        thread = threading.Thread(target=serve)
                        thread.start()
                        cells.peers.write_text(f"localhost:{cells[1].port}\nlocalhost:{listener.getsockname()[1]}\n")
                        self.assertTrue(met.wait(PATIENCE_S))
                        listener.shutdown(socket.SHUT_RDWR)
                        thread.join()
                    self.assertEqual([text for text in heard if text], [])
                self.assertEqual(cells[1].ask("GET", "/sessions", token=TOKENS[0])[0], 200)


class Renewal(unittest.TestCase):
    def test_a_renewed_certificate_is_seen_by_new_connections(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as second:
            authority, certificate, key = make_certificates(folder)
            new_authority, *new = make_certificates(second)
            TlsCell.authority = authority
            with TlsCell("serve", "--tls-cert", certificate, "--tls-key", key) as server:
                old = server.connection()
                self.assertEqual(server.ask("GET", "/health", connection=old)[0], 200)
                # One after the other, as they may be: they do not fit each other meanwhile.
                os.replace(new[0], certificate)
                until(lambda: "certificate_not_read" in server.log(), "it says that the two do not fit")
                self.assertEqual(server.ask("GET", "/health")[0], 200)
                os.replace(new[1], key)
                until(lambda: "certificate_read" in server.log(), "the certificate is read")
                self.assertEqual(server.ask("GET", "/health", connection=old)[0], 200)
                old.close()
                with self.assertRaises(ssl.SSLCertVerificationError):
                    server.ask("GET", "/health")
                TlsCell.authority = new_authority
                self.assertEqual(server.ask("GET", "/health")[0], 200)


class Words(unittest.TestCase):
    def test_what_makes_no_sense_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            authority, certificate, key = make_certificates(folder)
            secret = Path(folder, "secret")
            secret.write_text(SECRET)
            peers = ["--cell-key", "1", "--peers", "localhost:1", "--peer-token-file", str(secret)]
            tls = ["--tls-cert", certificate, "--tls-key", key]
            for words, sentence in [(["--peer-ca", authority], "without --peers"), (peers + tls, "belong together"),
                                    (peers + ["--peer-ca", authority], "belong together"),
                                    (peers + ["--tls-self-signed"], "not --tls-self-signed"),
                                    (peers + tls + ["--peer-ca", folder + "/none"], "no certificates to trust"),
                                    (peers + tls + ["--peer-ca", key], "no certificates to trust")]:
                with self.assertRaisesRegex(RuntimeError, sentence):
                    Server("serve", *words)


if __name__ == "__main__":
    unittest.main()
