"""Archives whose bytes depend on nothing but their content: sorted, without times, names of users or this machine."""

import gzip
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

# Of zip archives, which have no earlier year.
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Entry:
    """A file or folder of an archive. A folder has no content."""

    content: bytes | None
    mode: int = 0o644
    owner: int = 0


Tree = dict[str, Entry]


def folder(mode: int = 0o755, owner: int = 0) -> Entry:
    return Entry(None, mode, owner)


def below(prefix: str, tree: Tree) -> Tree:
    """Returns a tree in a folder."""
    return {f"{prefix}/{path}": entry for path, entry in tree.items()}


def with_parents(tree: Tree) -> Tree:
    """Returns a tree with the folders that it does not list, open to all."""
    parents = {
        str(parent): folder() for path in tree for parent in Path(path).parents if str(parent) not in {".", "/"}
    }
    return parents | tree


def write_tar(target: Path, tree: Tree) -> None:
    """Writes a tar archive, compressed if its name ends with `gz`."""
    with open(target, "wb") as file:
        if target.suffix in {".gz", ".tgz"}:
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as compressed:
                fill(compressed, tree)
        else:
            fill(file, tree)


def fill(file, tree: Tree) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, entry in sorted(with_parents(tree).items()):
            member = tarfile.TarInfo(path)
            member.mode, member.uid, member.gid = entry.mode, entry.owner, entry.owner
            if entry.content is None:
                member.type = tarfile.DIRTYPE
                tar.addfile(member)
            else:
                member.size = len(entry.content)
                tar.addfile(member, io.BytesIO(entry.content))


def write_files(target: Path, tree: Tree) -> None:
    """Writes a tree into a folder, with modes but without owners."""
    for path, entry in sorted(with_parents(tree).items()):
        place = target / path
        if entry.content is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(entry.content)
        place.chmod(entry.mode)
