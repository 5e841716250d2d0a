"""The Python wheel."""

import re
import subprocess
import sys
import unittest

from support import IS_LINUX, ROOT, PackageTest, package, run


def python_with_pip() -> str:
    """Returns this Python, or that of the tests' own environment: one of them has installed the other's packages."""
    own = str(ROOT / "tests/packages/.venv/bin/python")
    has_pip = subprocess.run([own, "-m", "pip", "--version"], capture_output=True).returncode == 0
    return own if has_pip else sys.executable


class Wheel(PackageTest):
    def test_installed_into_an_empty_environment_it_serves_with_its_extractors(self):
        environment = self.place / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", environment)
        pip = [python_with_pip(), "-m", "pip", "--python", environment / "bin/python"]

        # Fails if the tag does not fit this machine, or if the list of files is wrong.
        run(*pip, "install", "--no-index", "--disable-pip-version-check", "--quiet", package("*.whl"))

        self.assert_serves([environment / "bin/kitbag"])
        self.assertTrue((environment / "lib/kitbag/extractors/pdf.wasm").is_file())
        run(*pip, "uninstall", "--yes", "--disable-pip-version-check", "kitbag")
        left = [file for file in environment.rglob("*kitbag*") if file.is_file()]
        self.assertEqual(left, [])

    @unittest.skipUnless(IS_LINUX, "there is glibc on Linux only")
    def test_its_tag_is_the_glibc_that_the_program_needs(self):
        name = re.fullmatch(r"kitbag-[\d.]+-py3-none-manylinux_2_(\d+)_(x86_64|aarch64)\.whl", package("*.whl").name)
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")

        needed = re.findall(r"GLIBC_2\.(\d+)", run("readelf", "--version-info", "--wide", self.place / "bin/kitbag"))

        self.assertEqual(int(name[1]), max(map(int, needed)))
