"""The licences of what is compiled into the program and its components, which ask for their texts to be passed on."""

import itertools
import json
import subprocess
from pathlib import Path

# What the components are compiled for: the extractors, and the engine that runs code.
WASM = "wasm32-wasip2"
COMPONENTS = ["extractor-html", "extractor-mail", "extractor-office", "extractor-pdf", "kitbag-engine"]
# Libraries of others inside a crate, with licences of their own.
VENDORED = {"libmimalloc-sys": "c_src/mimalloc/v3", "rquickjs-sys": "quickjs"}
# Packages of npm in `code.wasm`.
PACKAGES = ["zod"]
PREFIXES = ("license", "licence", "copying", "notice", "unlicense")


def third_parties(root: Path, triple: str) -> str:
    """Returns a text that lists all crates with their licences, and then each text once, with the crates it is for."""
    crates = {it["id"]: it for it in linked_crates(root, triple, ["kitbag"])}
    crates |= {it["id"]: it for it in linked_crates(root, WASM, COMPONENTS)}
    lines = ["Kitbag contains these crates and packages.", ""]
    texts: dict[str, list[str]] = {}
    for crate in sorted(crates.values(), key=lambda crate: (crate["name"], crate["version"])):
        name = f"{crate['name']} {crate['version']}"
        lines.append(f"{name}: {crate['license'] or 'see the text'}")
        folder = Path(crate["manifest_path"]).parent
        vendored = [folder / VENDORED[crate["name"]]] if crate["name"] in VENDORED else []
        for text in itertools.chain.from_iterable(map(licence_texts, [folder, *vendored])):
            texts.setdefault(text, []).append(name)
    for folder in (root / "guest-sdk/typescript/node_modules" / name for name in PACKAGES):
        package = json.loads((folder / "package.json").read_text())
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license']}")
        for text in licence_texts(folder):
            texts.setdefault(text, []).append(name)
    for text, names in texts.items():
        lines += ["", "-" * 100, ", ".join(names), "", text]
    return "\n".join(lines) + "\n"


def linked_crates(root: Path, triple: str, members: list[str]) -> list[dict]:
    """Returns all crates of others on which these of the workspace depend, except for building and testing them."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", triple]
    output = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    metadata = json.loads(output)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] in members and package["source"] is None]
    if len(waiting) != len(members):
        raise SystemExit(f"the workspace does not have all of {', '.join(members)}")
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return [packages[id] for id in seen if packages[id]["source"] is not None]


def licence_texts(folder: Path) -> list[str]:
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.lower().startswith(PREFIXES))
    return [file.read_text(errors="replace").strip().replace("\r\n", "\n") for file in files]
