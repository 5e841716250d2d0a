"""The systemd units."""

import os
import re
import shutil
import subprocess
import unittest

from support import IS_LINUX, ROOT, PackageTest, environment, package, run

UNITS = ROOT / "packaging/systemd"
# Of 10; systemd calls what is below 2 "OK", and what has no hardening (9.6) "UNSAFE".
MOST_EXPOSURE = 2.0


@unittest.skipUnless(IS_LINUX, "systemd is for Linux")
class Service(PackageTest):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_understands_the_units(self):
        root = self.installed()

        for unit in sorted(UNITS.iterdir()):
            command = ["systemd-analyze", "verify", "--man=no", f"--root={root}", f"/usr/lib/systemd/system/{unit.name}"]
            said = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
            # Of this project's units only: others may be missing below an empty root.
            complaints = [line for line in said.stderr.splitlines() if "kitbag" in line]
            self.assertEqual(complaints, [], unit.name)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_the_server_is_hardened(self):
        for unit in UNITS.glob("*.service"):
            said = run("systemd-analyze", "security", "--offline=true", unit)
            exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", said)[1])
            self.assertLess(exposure, MOST_EXPOSURE, f"{unit.name}\n{said}")

    def test_the_documentation_has_no_unit_of_its_own(self):
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
            self.assertNotRegex(page.read_text(), r"(?m)^(ExecStart|OnCalendar)=", page.name)

    def test_their_commands_are_ones_of_the_program(self):
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")

        for unit in UNITS.glob("*.service"):
            command = re.search(r"(?m)^ExecStart=kitbag (.*)$", unit.read_text())[1].split()
            # With --help, all options before it are checked and nothing runs.
            run(self.place / "bin/kitbag", *command, "--help")

    def installed(self):
        """Unpacks the archive where a package has it, with what the units refer to."""
        root = self.place / "root"
        (root / "usr").mkdir(parents=True)
        run("tar", "-xzf", package("*.tar.gz"), "-C", root / "usr", "--strip-components=1")
        (root / "etc").mkdir()
        for program in ("usr/bin/kill",):
            shutil.copy(f"/{program}", root / program)
        for target in ("multi-user", "sockets", "timers", "network-online", "sysinit", "basic", "shutdown"):
            (root / f"usr/lib/systemd/system/{target}.target").write_text("[Unit]\nDescription=stand-in\n")
        os.symlink("usr/bin", root / "bin")
        return root
