"""The Debian package, installed below an empty folder."""

import os
import re
import shutil
import unittest

from support import ROOT, PackageTest, package, run


@unittest.skipUnless(shutil.which("dpkg-deb"), "only Debian has dpkg")
class Deb(PackageTest):
    def test_unpacked_it_serves_with_its_extractors(self):
        run("dpkg-deb", "-x", package("*.deb"), self.place)

        self.assert_serves([self.place / "usr/bin/kitbag"])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("systemd-sysusers"), "dpkg installs as root, with sysusers")
    def test_dpkg_installs_it_with_its_user_and_settings_and_removes_it(self):
        for folder in ("etc", "var/lib/dpkg/updates", "var/lib/dpkg/info"):
            (self.place / folder).mkdir(parents=True)
        for file in ("var/lib/dpkg/status", "var/lib/dpkg/available"):
            (self.place / file).touch()
        (self.place / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (self.place / "etc/group").write_text("root:x:0:\n")
        # The scripts run outside of the folder, which has no shell, and are told where it is.
        dpkg = ["dpkg", f"--root={self.place}", "--force-depends", "--force-script-chrootless"]

        run(*dpkg, "-i", package("*.deb"))

        users = (self.place / "etc/passwd").read_text()
        group = int(re.search(r"^kitbag:[^:]*:(\d+):", (self.place / "etc/group").read_text(), re.MULTILINE)[1])
        settings = (self.place / "etc/kitbag/kitbag.toml").stat()
        self.assertRegex(users, r"(?m)^kitbag:x:\d+:\d+:Kitbag knowledge base:/var/lib/kitbag:/usr/sbin/nologin$")
        self.assertEqual((settings.st_mode & 0o777, settings.st_uid, settings.st_gid), (0o640, 0, group))
        self.assertEqual(run(self.place / "usr/bin/kitbag", "--version").split()[0], "kitbag")
        run(*dpkg, "--purge", "kitbag")
        self.assertFalse((self.place / "usr/bin/kitbag").exists() or (self.place / "etc/kitbag/kitbag.toml").exists())

    def test_it_names_the_libraries_that_it_needs_and_keeps_changed_settings(self):
        described = run("dpkg-deb", "-I", package("*.deb"))
        settings = run("dpkg-deb", "--info", package("*.deb"), "conffiles")

        # Without Debian's dpkg-dev, cargo-deb warns that it cannot find out.
        if shutil.which("dpkg-shlibdeps"):
            self.assertRegex(described, r"Depends: .*libc6 \(>= 2\.\d+\)")
        self.assertEqual(settings.split(), ["/etc/kitbag/kitbag.toml"])

    def test_it_has_the_units_and_a_compressed_manual(self):
        listed = run("dpkg-deb", "-c", package("*.deb"))

        for unit in sorted((ROOT / "packaging/systemd").iterdir()):
            self.assertIn(f" ./usr/lib/systemd/system/{unit.name}\n", listed)
        for file in ("share/man/man1/kitbag.1.gz", "share/doc/kitbag/copyright", "lib/sysusers.d/kitbag.conf"):
            self.assertIn(f" ./usr/{file}\n", listed)
