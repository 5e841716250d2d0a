"""The example of several processes in containers. No daemon runs it here: its form, and that the names in it exist."""

import re

from support import ROOT, PackageTest, package, run

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

    def test_the_example_has_a_line_for_whatever_it_asks_for(self):
        asked = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text()))
        given = set(re.findall(r"(?m)^(\w+)=", (FOLDER / "example.env").read_text()))

        self.assertEqual(asked, given)
