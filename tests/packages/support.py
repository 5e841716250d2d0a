"""Helpers of the tests: where the packages are, and the first call of an installed program."""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = """<html><head><title>Larch</title></head>
<body><article><p>The larch drops its needles in winter.</p></article></body></html>"""
IS_LINUX = sys.platform == "linux"
# This platform, by npm's names.
PLATFORM = f"{sys.platform}-{'x64' if platform.machine() == 'x86_64' else 'arm64'}"
# Nothing that is tested here takes nearly as long, also where other programs run.
TIMEOUT = 180


def package(pattern: str) -> Path:
    """Returns the one package whose name matches."""
    found = sorted(Path(os.environ["TEST_PACKAGES"]).glob(pattern))
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def run(*command, **options) -> str:
    """Runs a command to its end, and returns its standard output."""
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=TIMEOUT, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment() -> dict:
    """The variables of these tests without settings, sessions and tools of the account that runs them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KITBAG_", "npm_", "PYTHON"))}
    return kept | {"XDG_STATE_HOME": "/nonexistent", "NO_COLOR": "1"}


class PackageTest(unittest.TestCase):
    """A test with an empty folder."""

    def setUp(self):
        self.place = Path(tempfile.mkdtemp(prefix="kitbag-package-")).resolve()
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    @contextmanager
    def server(self, command: list, data: Path, directory: Path | None = None):
        """Runs a server on a data directory until the block ends, and checks that SIGTERM ends it well."""
        with tempfile.TemporaryFile("w+") as log:
            arguments = ["serve", "--data", str(data), "--listen", "127.0.0.1:0"]
            process = subprocess.Popen(
                [*command, *arguments], cwd=directory, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True,
                start_new_session=True,
            )
            try:
                line = process.stdout.readline()
                log.seek(0)
                self.assertTrue(line.startswith("Kitbag serves http://127.0.0.1:"), f"{line}{log.read()}")
                yield
                os.kill(self.server_process(process.pid), signal.SIGTERM)
                self.assertEqual(process.wait(TIMEOUT), 0)
            finally:
                # Also what it has started, if something went wrong.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                process.stdout.close()

    def server_process(self, started: int) -> int:
        """Returns the process that is asked to end."""
        return started

    def assert_serves(self, command: list):
        """The first call: a server reads a page with an installed extractor, and finds its text."""
        data, page = self.place / "data", self.place / "larch.html"
        page.write_text(PAGE)
        with self.server(command, data):
            self.assert_reads(command, data, page)

    def assert_reads(self, command: list, data: Path, page: Path):
        run(*command, "ingest", str(page), "--wait", "--data", str(data))
        found = json.loads(run(*command, "search", "needles", "--data", str(data), "--output", "json"))
        self.assertEqual([it["snippet"] for it in found["results"]], ["The larch drops its needles in winter."], found)
