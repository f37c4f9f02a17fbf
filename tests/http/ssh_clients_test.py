# SPDX-License-Identifier: Apache-2.0
"""Other people's programs that go by SSH, against a session: rsync, git, one connection for many, a terminal."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from server import PATIENCE_S, Server, new_ssh_key


class SshClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("serve", ssh=True)
        cls.addClassCleanup(cls.server.stop)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        key = cls.folder.name + "/key"
        status, made = cls.server.json("POST", "/sessions", {"sshPublicKey": new_ssh_key(key)})
        assert status == 200, made
        cls.config = cls.folder.name + "/config"
        Path(cls.config).write_text(f"""Host box
  HostName 127.0.0.1
  Port {cls.server.ssh_port}
  User sandbox+{made["sessionId"]}
  IdentityFile {key}
  IdentitiesOnly yes
  BatchMode yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
""")

    def setUp(self):
        here = tempfile.TemporaryDirectory()
        self.addCleanup(here.cleanup)
        self.here = Path(here.name)

    def run_client(self, *words, data=None, status=0, **more):
        done = subprocess.run([str(word) for word in words], capture_output=True, timeout=PATIENCE_S, check=False, cwd=self.here,
                              env={**os.environ, "RSYNC_RSH": f"ssh -F {self.config}", "GIT_SSH_COMMAND": f"ssh -F {self.config}",
                                   "GIT_CONFIG_GLOBAL": "/dev/null", **more},
                              **({"stdin": subprocess.DEVNULL} if data is None else {"input": data}))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def ssh(self, *words, **more):
        return self.run_client("ssh", "-F", self.config, *words, **more)

    def test_who_names_no_session_is_told_how(self):
        said = self.ssh("-o", "LogLevel=INFO", "-l", "sandbox", "box", "true", status=255).stderr
        self.assertEqual(said.count(b"No session is named: log in as sandbox+ID, by the id of one."), 1, said)

    def test_rsync(self):
        tree = self.here / "tree"
        (tree / "sub" / "empty").mkdir(parents=True)
        for number in range(200):
            (tree / "sub" / f"f{number}").write_text(f"{number}\n")
        (tree / "big").write_bytes(os.urandom(5_000_000))
        for name in ("a b", "$x;`y`", "new\nline", "üñí", "-n"):
            (tree / name).write_text(name)
        (tree / "link").symlink_to("sub/f1")
        os.link(tree / "big", tree / "hard")
        os.utime(tree / "sub" / "f1", (1_000_000_000, 1_000_000_000.789))
        (tree / "sub" / "f2").chmod(0o640)
        copy = lambda *words, **more: self.run_client("rsync", *words, **more)
        same = lambda: self.run_client("diff", "-r", "--no-dereference", "tree", "back")
        copy("-aH", "tree/", "box:copy/")
        copy("-aH", "box:copy/", "back")
        same()
        self.assertEqual((self.here / "back/sub/f1").stat().st_mtime_ns, (tree / "sub/f1").stat().st_mtime_ns)
        self.assertEqual((self.here / "back/hard").stat().st_nlink, 2)
        self.assertEqual(copy("-aHi", "tree/", "box:copy/").stdout, b"")
        # Only what is another goes, and goes compressed.
        with open(tree / "big", "r+b") as file:
            file.seek(3_000_000)
            file.write(b"another")
        os.utime(tree / "big", (2_000_000_000, 2_000_000_000))  # its size is the same, and the second may be
        (tree / "sub" / "f3").unlink()
        (tree / "sub" / "new").write_text("new")
        said = copy("-azHi", "--delete", "--stats", "tree/", "box:copy/").stdout.decode()
        self.assertIn("*deleting   sub/f3\n", said)
        self.assertIn("Number of regular files transferred: 2\n", said)
        literal = next(line for line in said.splitlines() if line.startswith("Literal data:"))
        self.assertLess(int(literal.split()[2].replace(",", "")), 100_000)
        copy("-azH", "--delete", "--partial", "box:copy/", "back/")
        same()
        self.assertEqual(copy("box:none", ".", status=23).returncode, 23)
        # By rsync's own connection: what its other end writes by itself comes beside the status that ends this one.
        self.assertIn(b"Permission denied", copy("-a", "--stderr=client", "tree/", "box:/usr/x/", status=11).stderr)

    def test_git(self):
        git = lambda *words, where=".", **more: self.run_client("git", "-C", where, "-c", "user.name=n", "-c", "user.email=a@b.c", *words, **more)
        self.ssh("box", "git init -q --bare repo.git")
        git("init", "-q", "-b", "main", "a")
        for number in range(50):
            (self.here / "a" / f"f{number}").write_bytes(os.urandom(5000))
        git("add", ".", where="a")
        git("commit", "-qm", "one", where="a")
        git("push", "-q", "box:repo.git", "main", where="a")
        git("clone", "-q", "-b", "main", "ssh://box/workspace/repo.git", "b")
        self.run_client("diff", "-r", "-x", ".git", "a", "b")
        (self.here / "b" / "more").write_text("more")
        git("add", ".", where="b")
        git("commit", "-qm", "two", where="b")
        git("push", "-q", where="b")
        git("pull", "-q", "--ff-only", "box:repo.git", "main", where="a")
        self.assertEqual((self.here / "a" / "more").read_text(), "more")
        self.assertIn(b"not appear to be a git repository", git("ls-remote", "box:none.git", status=128).stderr)

    def test_one_connection_for_many(self):
        control = self.here / "control"
        self.ssh("-M", "-S", control, "-fN", "box")
        clients = [subprocess.Popen(["ssh", "-F", self.config, "-S", str(control), "box", f"cat; echo {number} >&2; exit {number}"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for number in range(1, 20)]
        for number, client in enumerate(clients, 1):
            out, err = client.communicate(b"x" * 50_000, PATIENCE_S)
            self.assertEqual((client.returncode, len(out), err), (number, 50_000, b"%d\n" % number))
        self.run_client("sftp", "-F", self.config, "-o", f"ControlPath={control}", "-b", "-", "box", data=b"pwd\n")
        self.ssh("-S", control, "-O", "exit", "box")

    def test_new_keys_while_much_is_sent(self):
        content = os.urandom(12_000_000)
        self.assertEqual(self.ssh("-o", "RekeyLimit=1M", "box", "cat", data=content).stdout, content)

    def test_a_script_on_the_standard_input(self):
        self.assertEqual(self.ssh("box", "bash -s one 'two three'", data=b'cat <<.\nhere\n.\nfor a; do echo "$a"; done; exit 3\n', status=3).stdout,
                         b"here\none\ntwo three\n")
        self.assertEqual(self.ssh("-T", "box", data=b"echo $0; exit 4\n", status=4).stdout, b"-bash\n")

    def test_a_terminal_has_a_name(self):
        said = self.ssh("-tt", "-o", "SetEnv=SSH_TTY=made-up", "box", "tty; echo $SSH_TTY; test $SSH_TTY -ef /dev/stdin; echo $?").stdout.split()
        self.assertEqual((said[0], said[2]), (said[1], b"0"))
        self.assertRegex(said[0], rb"^/dev/pts/\d+$")
        self.assertEqual(self.ssh("-T", "box", "echo no$SSH_TTY").stdout, b"no\n")

    def test_what_is_not_there_is_refused(self):
        self.assertNotEqual(self.ssh("-o", "ExitOnForwardFailure=yes", "-R", "0:localhost:9", "box", "true", status=None).returncode, 0)
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(self.here / "agent")], stdout=subprocess.DEVNULL)
        try:
            while not (self.here / "agent").exists():
                self.assertIsNone(agent.poll())
            done = self.ssh("-A", "-C", "box", "echo agent=$SSH_AUTH_SOCK", SSH_AUTH_SOCK=str(self.here / "agent"))
            self.assertEqual(done.stdout, b"agent=\n")
        finally:
            agent.terminate()
            agent.wait()


if __name__ == "__main__":
    unittest.main()
