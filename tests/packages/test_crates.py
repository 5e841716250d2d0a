"""The crates that authors of toolkits use, as cargo would publish them."""

import re
import unittest

from support import ROOT, run

CRATES = {"kitbag-manifest": ROOT / "guest-sdk/manifest", "kitbag-toolkit": ROOT / "guest-sdk/rust"}


class Crates(unittest.TestCase):
    def test_they_can_be_published_together(self):
        names = [argument for name in CRATES for argument in ("-p", name)]

        # `just package-crates` also compiles what would be published, which takes minutes.
        run("cargo", "publish", "--dry-run", "--no-verify", "--allow-dirty", *names, cwd=ROOT)

    def test_they_have_readme_licence_and_documentation(self):
        for name, folder in CRATES.items():
            files = run("cargo", "package", "--list", "--allow-dirty", "-p", name, cwd=ROOT).split()
            manifest = (folder / "Cargo.toml").read_text()

            self.assertLessEqual({"README.md", "LICENSE", "src/lib.rs"}, set(files), name)
            self.assertEqual((folder / "LICENSE").read_bytes(), (ROOT / "LICENSE").read_bytes())
            for field in ("documentation", "description", "keywords", "categories", "package.metadata.docs.rs"):
                self.assertIn(field, manifest, name)
        self.assertIn("wit/toolkit.wit", files)

    def test_their_sources_include_nothing_from_outside(self):
        for folder in CRATES.values():
            for source in (folder / "src").rglob("*.rs"):
                self.assertNotRegex(source.read_text(), r"(path: |include\w*!\()\"(\.\./)*\.\./\.\./", source)

    def test_nothing_else_of_the_workspace_is_published(self):
        for manifest in ROOT.glob("*/*/Cargo.toml"):
            if manifest.parent not in CRATES.values() and re.search(r"(?m)^\[package\]", manifest.read_text()):
                self.assertRegex(manifest.read_text(), r"(?m)^publish(\.workspace = true| = false)", manifest)
