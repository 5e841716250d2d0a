"""The Debian package, made by cargo-deb, which knows the rules of Debian: `[package.metadata.deb]` of host/kitbag/Cargo.toml."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

from archive import Entry, below, write_files
from contents import ROOT, Contents

# Where `assets` of the metadata has its files.
STAGE = ROOT / "target-package/deb"


def write_deb(target: Path, contents: Contents) -> Path:
    shutil.rmtree(STAGE, ignore_errors=True)
    # cargo-deb compresses the manual, and writes the file of copyrights.
    tree = contents.all
    # Where Debian's zsh looks for the completions of packages.
    tree["share/zsh/vendor-completions/_kitbag"] = tree.pop("share/zsh/site-functions/_kitbag")
    tree["share/doc/kitbag/THIRD-PARTY.txt.gz"] = compressed(tree.pop("share/doc/kitbag/THIRD-PARTY.txt"))
    write_files(STAGE, below("usr", tree) | {"etc/kitbag/kitbag.toml": Entry(settings(), 0o640)})
    package = target / f"kitbag_{contents.version}_{contents.platform.deb}.deb"
    command = [tool(), "deb", "--manifest-path", "host/kitbag/Cargo.toml", "--no-build", "--no-strip"]
    # As the other packages: xz takes a minute, and saves a third. By gzip, as the tool is built without optimisation.
    command += ["--compress-type", "gz", "--compress-system", "--output", str(package)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "315532800"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return package


def tool() -> str:
    own = ROOT / ".tools/cargo-deb/bin/cargo-deb"
    found = str(own) if own.is_file() else shutil.which("cargo-deb")
    if found is None:
        raise SystemExit("cargo-deb is missing: run scripts/install-cargo-deb")
    return found


def compressed(entry: Entry) -> Entry:
    return Entry(gzip.compress(entry.content, 9, mtime=0))


def settings() -> bytes:
    return (ROOT / "packaging/kitbag.toml").read_bytes()
