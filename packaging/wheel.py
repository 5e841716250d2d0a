"""The Python wheel: the program in the environment's `bin`, and what belongs to it beside that. There is no module."""

import base64
import hashlib
import stat
import zipfile
from pathlib import Path

from archive import EPOCH, Entry, Tree, below
from contents import Contents, licence

DESCRIPTION = """A knowledge base whose toolkits are sandboxed WebAssembly components. This wheel has the program:

    kitbag serve
"""


def write_wheel(target: Path, contents: Contents) -> Path:
    name, tag = f"kitbag-{contents.version}", f"py3-none-{contents.platform.wheel}"
    metadata = f"""Metadata-Version: 2.4
Name: kitbag
Version: {contents.version}
Summary: A knowledge base whose toolkits are sandboxed WebAssembly components
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD-PARTY.txt
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{DESCRIPTION}"""
    tree: Tree = below(f"{name}.data/data", contents.extractors | contents.manual | contents.completions)
    tree |= {
        f"{name}.data/scripts/kitbag": contents.program["bin/kitbag"],
        f"{name}.dist-info/METADATA": Entry(metadata.encode()),
        f"{name}.dist-info/WHEEL": Entry(
            f"Wheel-Version: 1.0\nGenerator: kitbag\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
        ),
        f"{name}.dist-info/licenses/LICENSE": licence(),
        f"{name}.dist-info/licenses/THIRD-PARTY.txt": contents.documents["share/doc/kitbag/THIRD-PARTY.txt"],
    }
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},sha256={digest(entry.content)},{len(entry.content)}\n" for path, entry in sorted(tree.items())]
    # Installers expect the list of files last.
    tree[record] = Entry("".join([*lines, f"{record},,\n"]).encode())
    wheel = target / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, entry in sorted(tree.items(), key=lambda it: (it[0] == record, it[0])):
            member = zipfile.ZipInfo(path, EPOCH)
            member.create_system = 3
            member.external_attr = (stat.S_IFREG | entry.mode) << 16
            archive.writestr(member, entry.content, zipfile.ZIP_DEFLATED, compresslevel=6)
    return wheel


def digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
