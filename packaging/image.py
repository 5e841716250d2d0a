"""The container image: what the `Containerfile` adds, and the image itself where a builder is installed."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from archive import Entry, Tree, below, folder, write_tar
from binary import libraries
from contents import ROOT, Contents, licence

# Of no account: the image has no user with a name but root.
USER = 65532
PASSWD = f"root:x:0:0:root:/:/none\nkitbag:x:{USER}:{USER}:Kitbag:/var/lib/kitbag:/none\n"
GROUP = f"root:x:0:\nkitbag:x:{USER}:\n"


def write_image(target: Path, contents: Contents, program: Path) -> list[Path]:
    """Writes the folder to build the image from, and the image as an archive if it can be built here."""
    context = target / "image"
    context.mkdir(exist_ok=True)
    write_tar(context / "root.tar", root(contents, program))
    shutil.copyfile(ROOT / "packaging/Containerfile", context / "Containerfile")
    builder = next(filter(shutil.which, ("buildah", "podman")), None)
    if builder is None:
        print("no image: install buildah or podman to build it from image/Containerfile", flush=True)
        return []
    archive = target / f"kitbag-{contents.version}-{contents.platform.npm}.oci.tar"
    archive.unlink(missing_ok=True)
    try:
        build(builder, context, archive, f"kitbag:{contents.version}")
    except subprocess.CalledProcessError as error:
        # In a container, for example, that may not mount anything.
        print(f"no image: {builder} cannot build it here ({error}); image/Containerfile is what it is built from", flush=True)
        return []
    return [archive]


def root(contents: Contents, program: Path) -> Tree:
    """Returns the file system of the image, with owners."""
    documents = {"share/doc/kitbag/LICENSE": licence()} | {
        path: entry for path, entry in contents.documents.items() if path.endswith("THIRD-PARTY.txt")
    }
    return (
        below("usr", contents.minimal | documents)
        | linked_libraries(program)
        | {
            "etc/passwd": Entry(PASSWD.encode()),
            "etc/group": Entry(GROUP.encode()),
            "etc/nsswitch.conf": Entry(b"hosts: files dns\n"),
            "proc": folder(),
            "tmp": folder(0o1777),
            "var/lib/kitbag": folder(0o700, USER),
        }
    )


def linked_libraries(program: Path) -> Tree:
    """Returns the libraries of this machine that the program is linked to, with their licences."""
    output = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    places = {Path(place).name: Path(place) for place in re.findall(r"(/\S+) \(0x", output)}
    tree: Tree = {}
    for name in libraries(program.read_bytes()):
        if name not in places:
            raise SystemExit(f"{name} is not on this machine, so that the image cannot have it")
        tree[str(places[name]).lstrip("/")] = Entry(places[name].read_bytes(), 0o755)
    for package in ("libc6", "libgcc-s1"):
        copyright = Path(f"/usr/share/doc/{package}/copyright")
        if copyright.is_file():
            tree[str(copyright).lstrip("/")] = Entry(copyright.read_bytes())
    return tree


def build(builder: str, context: Path, archive: Path, name: str) -> None:
    """Builds an image without a daemon, without the network, and without a trace in the user's own storage."""
    with tempfile.TemporaryDirectory() as storage:
        options = ["--root", f"{storage}/root", "--runroot", f"{storage}/run", "--storage-driver", "vfs"]
        bud = ["bud" if builder == "buildah" else "build", "--timestamp", "0", "--format", "oci", "--isolation", "chroot"]
        subprocess.run([builder, *options, *bud, "--quiet", "-t", name, str(context)], check=True, stdout=subprocess.DEVNULL)
        push = [builder, *options, "push", "--quiet", name, f"oci-archive:{archive}:{name}"]
        subprocess.run(push, check=True, stdout=subprocess.DEVNULL)
