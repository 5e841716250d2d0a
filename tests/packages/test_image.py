"""The container image: built without a daemon, and run as the system would, without anything else in sight."""

import json
import os
import re
import subprocess
import tarfile
import unittest
from pathlib import Path

from support import IS_LINUX, PAGE, ROOT, PackageTest, package, run

# Packaging says why not.
IS_BUILT = any(Path(os.environ["TEST_PACKAGES"]).glob("*.oci.tar"))
# Its own root, processes and mounts; the network is this machine's loopback.
CONFINE = ["unshare", "--mount", "--pid", "--fork"]
CAN_CONFINE = IS_LINUX and os.geteuid() == 0 and subprocess.run([*CONFINE, "true"], capture_output=True).returncode == 0
USER = 65532


@unittest.skipUnless(IS_LINUX, "images are for Linux")
class Image(PackageTest):
    @unittest.skipUnless(IS_BUILT, "the image could not be built here")
    def test_the_image_starts_the_program_as_a_user_without_rights(self):
        settings, _ = self.unpacked()

        self.assertEqual(settings["User"], "65532:65532")
        self.assertEqual((settings["Entrypoint"], settings["Cmd"]), (["/usr/bin/kitbag"], ["serve"]))
        self.assertEqual(list(settings["Volumes"]), ["/var/lib/kitbag"])
        self.assertIn("KITBAG_DATA=/var/lib/kitbag", settings["Env"])

    @unittest.skipUnless(IS_BUILT and CAN_CONFINE, "needs the image, and root for a root directory of its own")
    def test_the_built_image_serves_with_its_extractors(self):
        _, root = self.unpacked()
        page = root / "larch.html"
        page.write_text(PAGE)
        page.chmod(0o644)
        confined = [*CONFINE, f"--root={root}", "--mount-proc=/proc", f"--setuid={USER}", f"--setgid={USER}"]
        kitbag, data = [*confined, "--wd=/", "/usr/bin/kitbag"], Path("/var/lib/kitbag")

        with self.server_in(kitbag, data, root):
            self.assert_reads(kitbag, data, Path("/larch.html"))

    def test_it_has_no_shell_and_nothing_that_changes_rights(self):
        with tarfile.open(package("image") / "root.tar") as archive:
            members = archive.getmembers()

        programs = {it.name for it in members if it.isfile() and it.mode & 0o111 and not re.search(r"\.so(\.\d+)?$", it.name)}
        self.assertEqual(programs, {"usr/bin/kitbag"})
        self.assertEqual([it.name for it in members if it.mode & 0o6000 or it.issym() or it.islnk()], [])
        writable = {it.name for it in members if it.mode & 0o002 or it.uid == USER}
        self.assertEqual(writable, {"tmp", "var/lib/kitbag"})
        self.assertLess(len(members), 60)

    def test_nothing_is_downloaded_when_it_is_built(self):
        lines = (package("image") / "Containerfile").read_text().splitlines()
        instructions = [line.split()[:2] for line in lines if line and not line.startswith("#")]

        self.assertEqual(instructions[:2], [["FROM", "scratch"], ["ADD", "root.tar"]])
        self.assertEqual({"RUN", "COPY", "ARG"} & {words[0] for words in instructions}, set())
        self.assertEqual((ROOT / "packaging/Containerfile").read_text().splitlines(), lines)

    def unpacked(self) -> tuple[dict, Path]:
        """Returns the settings of the built image, and a folder with its files."""
        layout, root = self.place / "layout", self.place / "root"
        for folder in layout, root:
            folder.mkdir()
        run("tar", "-xf", package("*.oci.tar"), "-C", layout)

        def blob(description):
            return layout / "blobs" / description["digest"].replace(":", "/")

        index = json.loads((layout / "index.json").read_text())
        manifest = json.loads(blob(index["manifests"][0]).read_text())
        settings = json.loads(blob(manifest["config"]).read_text())["config"]
        for layer in manifest["layers"]:
            run("tar", "-xf", blob(layer), "-C", root)
        # A program of another user enters it.
        self.place.chmod(0o755)
        # Runtimes make it if it is missing.
        (root / "proc").mkdir(exist_ok=True)
        return settings, root

    def server_process(self, started: int) -> int:
        # `unshare` ignores SIGTERM while its child runs.
        return int(Path(f"/proc/{started}/task/{started}/children").read_text())

    def server_in(self, kitbag: list, data: Path, root: Path):
        self.assertEqual((root / data.relative_to("/")).stat().st_mode & 0o777, 0o700)
        return self.server(kitbag, data)
