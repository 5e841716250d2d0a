"""The example of several processes in containers. No daemon runs it here: its form, and that the names in it exist."""

import re
import subprocess

from support import ROOT, TIMEOUT, PackageTest, environment, package, run

FOLDER = ROOT / "packaging/compose"
CHECKER = ROOT / "tests/packages/.venv/bin/check-jsonschema"


class Compose(PackageTest):
    def test_it_has_the_form_of_a_compose_file(self):
        run(CHECKER, "--builtin-schema", "vendor.compose-spec", FOLDER / "compose.yaml")

    def test_its_settings_exist(self):
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")
        flags = set(re.findall(r"(?m)^ +--([a-z-]+)", run(self.place / "bin/kitbag", "serve", "--help")))

        variables = re.findall(r"(?m)^ +KITBAG_(\w+):", (FOLDER / "compose.yaml").read_text())

        self.assertIn("OBJECTS_SECRET", variables)
        self.assertEqual({name.lower().replace("_", "-") for name in variables} - flags, set())

    def test_a_process_reads_its_settings(self):
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")
        example = dict(re.findall(r"(?m)^(\w+)=(.*)", (FOLDER / "example.env").read_text()))
        settings = re.findall(r"(?m)^    ((?:KITBAG_|MASTER_)\w+): (.+)", (FOLDER / "compose.yaml").read_text())
        variables = {name: re.sub(r"\$\{(\w+).*?\}", lambda it: example[it[1]] or "x", value) for name, value in settings}
        # Some port that is free; and a database where nobody listens: both come after all settings were read.
        variables["KITBAG_LISTEN"] = "127.0.0.1:0"
        variables["KITBAG_DATABASE"] = variables["KITBAG_DATABASE"].replace("@database/", "@127.0.0.1:1/")

        started = subprocess.run(
            [self.place / "bin/kitbag", "serve", "--data", self.place / "data"],
            env=environment() | variables, cwd=self.place, capture_output=True, text=True, timeout=TIMEOUT,
        )

        self.assertRegex(started.stderr, "(?m)^error: cannot open the database")

    def test_the_example_has_a_line_for_whatever_it_asks_for(self):
        asked = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text()))
        given = set(re.findall(r"(?m)^(\w+)=", (FOLDER / "example.env").read_text()))

        self.assertEqual(asked, given)
