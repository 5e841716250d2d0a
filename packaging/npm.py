"""The npm packages: `kitbag`, with the SDK, and one with the program for each platform, of which npm installs one."""

import json
import os
from pathlib import Path

from archive import Entry, Tree, below, write_tar
from contents import ROOT, Contents, licence

SDK = ROOT / "guest-sdk/typescript"
PLATFORMS = {"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"}
# What an install needs. The rest of the package's own description is for its development.
FIELDS = (
    "name", "version", "description", "license", "type", "engines", "exports", "imports", "bin", "files", "dependencies",
    "peerDependencies", "peerDependenciesMeta",
)


def write_program(target: Path, contents: Contents) -> Path:
    """Writes the package with the program for one platform."""
    platform = contents.platform.npm
    system, cpu = platform.split("-")
    description = {
        "name": f"@kitbag/{platform}",
        "version": contents.version,
        "description": f"The program of Kitbag for {platform}. Install the package kitbag instead.",
        "license": "Apache-2.0",
        "os": [system],
        "cpu": [cpu],
        # No `bin`: that of the package `kitbag` finds the program.
        "preferUnplugged": True,
    } | ({"libc": ["glibc"]} if system == "linux" else {})
    tree = contents.minimal | {
        "package.json": in_json(description),
        "README.md": Entry(f"The program of Kitbag for {platform}, which the package `kitbag` installs.\n".encode()),
        "LICENSE": licence(),
        "THIRD-PARTY.txt": contents.documents["share/doc/kitbag/THIRD-PARTY.txt"],
    }
    return written(target / f"kitbag-{platform}-{contents.version}.tgz", tree)


def write_sdk(target: Path) -> Path:
    """Writes the package `kitbag`: what toolkits import, their builder, and the command that starts the program."""
    source = json.loads((SDK / "package.json").read_text())
    version = source["version"]
    # Not in the sources: an install in a checkout would ask the registry for packages that nobody has published yet.
    programs = {f"@kitbag/{platform}": version for platform in sorted(PLATFORMS)}
    description = {field: source[field] for field in FIELDS} | {"optionalDependencies": programs}
    tree: Tree = {
        "package.json": in_json(description),
        "README.md": Entry((SDK / "README.md").read_bytes()),
        "LICENSE": licence(),
    }
    for name in source["files"]:
        files = [SDK / name] if (SDK / name).is_file() else [it for it in (SDK / name).rglob("*") if it.is_file()]
        if not files:
            raise SystemExit(f"{SDK / name} is missing: run `just build-rules build-engine`")
        for file in files:
            mode = 0o755 if os.access(file, os.X_OK) or name == "bin" else 0o644
            tree[file.relative_to(SDK).as_posix()] = Entry(file.read_bytes(), mode)
    return written(target / f"kitbag-{version}.tgz", tree)


def in_json(value: dict) -> Entry:
    return Entry((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def written(target: Path, tree: Tree) -> Path:
    write_tar(target, below("package", tree))
    return target
