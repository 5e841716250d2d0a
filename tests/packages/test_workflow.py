"""The workflows that test and that make a release: GitHub can read them, and the tasks that they run are there."""

import re
import unittest

from support import ROOT, run

WORKFLOW = ROOT / ".github/workflows/release.yml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CHECKER = ROOT / "tests/packages/.venv/bin/check-jsonschema"


class Workflow(unittest.TestCase):
    def test_github_can_read_it(self):
        run(CHECKER, "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
        run(CHECKER, "--builtin-schema", "vendor.dependabot", ROOT / ".github/dependabot.yml")

    def test_the_tasks_that_it_runs_are_there(self):
        tasks = {task for workflow in WORKFLOWS for task in re.findall(r"rust-just ([\w-]+)", workflow.read_text())}
        known = set(re.findall(r"(?m)^([\w-]+)(?: [^:\n]*)?:(?!=)", (ROOT / "justfile").read_text()))

        self.assertEqual(tasks - known, set())
        self.assertLessEqual({"deny", "test-packages", "package", "package-crates"}, tasks)

    def test_only_the_draft_may_write(self):
        text = WORKFLOW.read_text()

        self.assertRegex(text, r"(?m)^permissions:\n  contents: read$")
        self.assertEqual(re.findall(r"(?m)^ +([\w-]+): write$", text), ["contents"])
        self.assertNotIn("secrets.", text)
