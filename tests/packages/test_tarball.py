"""The archive to be unpacked into a prefix."""

import sys
import tarfile

from support import IS_LINUX, ROOT, PackageTest, package, run

sys.path.insert(0, str(ROOT / "packaging"))
from archive import Entry, folder, write_tar


class Tarball(PackageTest):
    def test_unpacked_into_a_prefix_it_serves_with_its_extractors(self):
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")

        self.assert_serves([self.place / "bin/kitbag"])

    def test_without_its_extractors_a_page_is_not_read(self):
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")
        (self.place / "lib/kitbag/extractors/html.wasm").unlink()

        with self.assertRaisesRegex(AssertionError, "no extractor for text/html is installed"):
            self.assert_serves([self.place / "bin/kitbag"])

    def test_it_has_the_manual_completions_licences_and_units(self):
        with tarfile.open(package("*.tar.gz")) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
            owners = {(member.uid, member.gid, member.uname, member.mtime) for member in archive}
            programs = {member.name.partition("/")[2] for member in archive if member.isfile() and member.mode & 0o111}

        expected = {
            "lib/kitbag/extractors/code.wasm",
            "share/man/man1/kitbag.1",
            "share/man/man1/kitbag-toolkit-deploy.1",
            "share/bash-completion/completions/kitbag",
            "share/zsh/site-functions/_kitbag",
            "share/fish/vendor_completions.d/kitbag.fish",
            "share/doc/kitbag/README.md",
            "share/doc/kitbag/docs/operating.md",
            "share/doc/kitbag/LICENSE",
            "share/doc/kitbag/THIRD-PARTY.txt",
        }
        if IS_LINUX:
            expected |= {f"lib/systemd/system/kitbag.{kind}" for kind in ("service", "socket")}
            expected |= {"lib/sysusers.d/kitbag.conf"}
        self.assertEqual(expected - names, set())
        self.assertEqual(owners, {(0, 0, "", 0)})
        self.assertEqual(programs, {"bin/kitbag"})

    def test_the_licences_of_what_is_compiled_in_are_passed_on(self):
        run("tar", "-xzf", package("*.tar.gz"), "-C", self.place, "--strip-components=1")
        listed = (self.place / "share/doc/kitbag/THIRD-PARTY.txt").read_text()

        for name in ("wasmtime ", "tokio ", "hayro-interpret ", "mail-parser "):
            self.assertIn(f"\n{name}", listed)
        self.assertIn("Permission is hereby granted", listed)
        # Crates that only tests use are in no package.
        self.assertNotIn("\nwat ", listed)

    def test_an_archive_depends_on_its_content_alone(self):
        tree = {"b/one": Entry(b"1", 0o755), "a": Entry(b"2"), "c": folder(0o700)}
        turned = dict(reversed(tree.items()))
        first, second = self.place / "first.tar.gz", self.place / "second.tar.gz"

        write_tar(first, tree)
        write_tar(second, turned)

        self.assertEqual(first.read_bytes(), second.read_bytes())
        write_tar(second, turned | {"a": Entry(b"2", 0o600)})
        self.assertNotEqual(first.read_bytes(), second.read_bytes())
