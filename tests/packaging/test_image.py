# SPDX-License-Identifier: Apache-2.0
"""`make image`: a layout that its digests hold, and a container of it that runs sandboxes as an ordinary user, with a root that
cannot be written, no capability and the filter of system calls that container engines have by default."""
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from installed import BUILD, SOURCE, VERSION, run

PROFILE = Path("/usr/share/containers/seccomp.json")
UID = 65532


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def matches(rule: dict) -> bool:
    """Whether a rule of the profile holds for a container without capabilities."""
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    arches = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    if includes.get("caps") or (includes.get("arches") and arches not in includes["arches"]):
        return False
    return arches not in (excludes.get("arches") or ())


def default_filter() -> dict | None:
    """The profile as a runtime takes it; None where it is not installed."""
    if not PROFILE.exists():
        return None
    profile = json.loads(PROFILE.read_text())
    rules = [{key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key) not in (None, [])}
             for rule in profile["syscalls"] if matches(rule)]
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 1), "syscalls": rules}


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cloche-image-", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.folder.chmod(0o755)
        done = run(SOURCE / "packaging/oci/build.py", BUILD, cls.folder / "dist",
                   env={**os.environ, "CLOCHE_CODE": "none", "CLOCHE_IMAGE_LEVEL": "0"})
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        cls.layout = cls.folder / "dist/image"

    def blob(self, part: dict) -> bytes:
        data = (self.layout / "blobs/sha256" / part["digest"].partition(":")[2]).read_bytes()
        self.assertEqual((digest_of(data), len(data)), (part["digest"], part["size"]))
        return data

    def parts(self) -> tuple[dict, dict, list[bytes]]:
        """Manifest, configuration and the layers unpacked to tars."""
        index = json.loads((self.layout / "index.json").read_text())
        manifest = json.loads(self.blob(index["manifests"][0]))
        config = json.loads(self.blob(manifest["config"]))
        return manifest, config, [gzip.decompress(self.blob(layer)) for layer in manifest["layers"]]

    def test_each_digest_holds_and_nothing_else_is_there(self) -> None:
        manifest, config, layers = self.parts()
        self.assertEqual([digest_of(layer) for layer in layers], config["rootfs"]["diff_ids"])
        index = json.loads((self.layout / "index.json").read_text())
        named = {part["digest"].partition(":")[2] for part in (index["manifests"][0], manifest["config"], *manifest["layers"])}
        self.assertEqual({path.name for path in (self.layout / "blobs/sha256").iterdir()}, named)

    def test_the_configuration_names_an_ordinary_user_and_the_version(self) -> None:
        _, config, _ = self.parts()
        self.assertEqual(config["config"]["User"], f"{UID}:{UID}")
        self.assertEqual(config["config"]["Labels"]["org.opencontainers.image.version"], VERSION)

    def test_no_file_is_writable_by_all_or_sets_an_id_and_no_shell_is_there(self) -> None:
        names = set()
        for layer in self.parts()[2]:
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                for entry in tar:
                    names.add(entry.name)
                    if entry.isreg():
                        self.assertEqual(entry.mode & 0o6022, 0, entry.name)
        self.assertFalse(names & {"bin/sh", "usr/bin/sh", "usr/bin/bash"})
        self.assertIn("usr/bin/cloche", names)

    def test_the_archive_has_the_layout_and_what_docker_load_reads(self) -> None:
        archive = next((self.folder / "dist").glob(f"cloche-{VERSION}-image-*.tar"))
        with tarfile.open(archive) as tar:
            names = {entry.name for entry in tar if entry.isreg()}
            manifest = json.loads(tar.extractfile("manifest.json").read())[0]
        self.assertTrue({"oci-layout", "index.json", manifest["Config"], *manifest["Layers"]} <= names)

    def bundle(self, config: dict, layers: list[bytes], arguments: list[str]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix="bundle-"))
        folder.chmod(0o755)
        for layer in layers:
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                tar.extractall(folder / "rootfs", numeric_owner=True)
        about = config["config"]
        namespaces = [{"type": name} for name in ("pid", "mount", "ipc", "uts", "network")]
        options: dict = {"namespaces": namespaces, "maskedPaths": ["/proc/kcore", "/proc/keys"], "readonlyPaths": ["/proc/sys"]}
        if os.getuid() != 0:
            namespaces.append({"type": "user"})
            options |= {"uidMappings": [{"containerID": UID, "hostID": os.getuid(), "size": 1}],
                        "gidMappings": [{"containerID": UID, "hostID": os.getgid(), "size": 1}]}
        if (seccomp := default_filter()) is not None:
            options["seccomp"] = seccomp
        (folder / "config.json").write_text(json.dumps({
            "ociVersion": "1.0.2", "hostname": "box", "root": {"path": "rootfs", "readonly": True},
            "process": {"user": {"uid": UID, "gid": UID}, "cwd": about["WorkingDir"], "env": about["Env"], "noNewPrivileges": True,
                        "args": about["Entrypoint"] + arguments, "capabilities": {},
                        "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}]},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
                       {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]}],
            "linux": options}))
        return folder

    @unittest.skipUnless(shutil.which("crun"), "crun is not installed")
    def test_a_container_of_it_runs_a_sandbox(self) -> None:
        _, config, layers = self.parts()
        folder = self.bundle(config, layers, ["run", "cat; echo $((6 * 7)); exit 3"])
        state = self.folder / "state"
        command = ["crun", "--root", state, "--cgroup-manager=disabled", "run", "--bundle", folder, f"cloche-{os.getpid()}"]
        if os.getuid() == 0:
            # crun refuses a machine with cgroups of both kinds, also where it is to use none: it sees the newer kind alone.
            command = ["unshare", "--mount", "sh", "-c", 'mount -t cgroup2 none /sys/fs/cgroup; exec "$@"', "sh", *command]
        done = subprocess.run(command, input="hello\n", capture_output=True, text=True, check=False, timeout=300)
        if not done.stdout and "Operation not permitted" in done.stderr:
            self.skipTest(f"this machine lets nobody make containers: {done.stderr.strip()}")
        self.assertEqual((done.returncode, done.stdout), (3, "hello\n42\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
