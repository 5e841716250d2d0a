"""What every package contains: the program and what belongs to it, in the layout of a prefix such as `/usr`."""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from archive import Entry, Tree
from binary import ELF, Platform, platform_of
from licences import third_parties

ROOT = Path(__file__).resolve().parent.parent
EXTRACTORS = ("code.wasm", "html.wasm", "mail.wasm", "office.wasm", "pdf.wasm")
COMPLETIONS = {
    "bash": "share/bash-completion/completions/kitbag",
    "zsh": "share/zsh/site-functions/_kitbag",
    "fish": "share/fish/vendor_completions.d/kitbag.fish",
}


@dataclass(frozen=True)
class Contents:
    """A built program with what is packaged with it."""

    version: str
    platform: Platform
    program: Tree
    extractors: Tree
    manual: Tree
    completions: Tree
    documents: Tree
    # Units and the user of the service; empty where there is no systemd.
    service: Tree

    @property
    def minimal(self) -> Tree:
        """What the program needs to run, for systems that have a manual and a shell of their own, or none."""
        return self.program | self.extractors

    @property
    def all(self) -> Tree:
        return self.minimal | self.manual | self.completions | self.documents | self.service


def contents_of(program: Path, extractors: Path) -> Contents:
    """Collects everything, and runs the program for its manual and completions."""
    missing = [name for name in EXTRACTORS if not (extractors / name).is_file()]
    if missing:
        raise SystemExit(f"{extractors} has no {' and no '.join(missing)}: run `just build-extractors`")
    platform = platform_of(program)
    version = re.fullmatch(r"kitbag (\S+)\n", run(program, "--version"))
    if version is None:
        raise SystemExit(f"{program} is not kitbag")
    documents = {
        "share/doc/kitbag/README.md": Entry((ROOT / "README.md").read_bytes()),
        "share/doc/kitbag/LICENSE": licence(),
        "share/doc/kitbag/THIRD-PARTY.txt": Entry(third_parties(ROOT, platform.triple).encode()),
    } | {f"share/doc/kitbag/docs/{page.name}": Entry(page.read_bytes()) for page in (ROOT / "docs").glob("*.md")}
    return Contents(
        version=version[1],
        platform=platform,
        program={"bin/kitbag": Entry(stripped(program), 0o755)},
        extractors={f"lib/kitbag/extractors/{name}": Entry((extractors / name).read_bytes()) for name in EXTRACTORS},
        manual=manual(program),
        completions={path: Entry(run(program, "completions", shell).encode()) for shell, path in COMPLETIONS.items()},
        documents=documents,
        service=service() if "linux" in platform.triple else {},
    )


def licence() -> Entry:
    return Entry((ROOT / "LICENSE").read_bytes())


def service() -> Tree:
    units = sorted((ROOT / "packaging/systemd").iterdir())
    return {f"lib/systemd/system/{unit.name}": Entry(unit.read_bytes()) for unit in units} | {
        "lib/sysusers.d/kitbag.conf": Entry((ROOT / "packaging/sysusers.conf").read_bytes())
    }


def manual(program: Path) -> Tree:
    with tempfile.TemporaryDirectory() as folder:
        run(program, "man", folder)
        return {f"share/man/man1/{page.name}": Entry(page.read_bytes()) for page in Path(folder).iterdir()}


def stripped(program: Path) -> bytes:
    """Returns the program without debug information. Names of symbols stay: the backtraces of toolkits have them."""
    content = program.read_bytes()
    if not content.startswith(ELF) or shutil.which("strip") is None:
        return content
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "--strip-debug", "-o", copy.name, str(program)], check=True)
        return Path(copy.name).read_bytes()


def run(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
