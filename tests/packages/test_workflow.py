"""The workflow that makes a release: GitHub can read it, and the tasks that it runs are there."""

import re
import unittest

from support import ROOT, run

WORKFLOW = ROOT / ".github/workflows/release.yml"
CHECKER = ROOT / "tests/packages/.venv/bin/check-jsonschema"


class Workflow(unittest.TestCase):
    def test_github_can_read_it(self):
        run(CHECKER, "--builtin-schema", "vendor.github-workflows", WORKFLOW)

    def test_the_tasks_that_it_runs_are_there(self):
        tasks = set(re.findall(r"rust-just ([\w-]+)", WORKFLOW.read_text()))
        known = set(re.findall(r"(?m)^([\w-]+)(?: [^:\n]*)?:(?!=)", (ROOT / "justfile").read_text()))

        self.assertEqual(tasks - known, set())
        self.assertLessEqual({"test-packages", "package", "package-crates"}, tasks)

    def test_only_the_draft_may_write(self):
        text = WORKFLOW.read_text()

        self.assertRegex(text, r"(?m)^permissions:\n  contents: read$")
        self.assertEqual(re.findall(r"(?m)^ +([\w-]+): write$", text), ["contents"])
        self.assertNotIn("secrets.", text)
