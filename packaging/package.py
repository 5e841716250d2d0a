#!/usr/bin/env python3
"""Makes the packages of Kitbag from a program that is already built. `just package` builds it first."""

import argparse
import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from archive import below, write_tar
from contents import contents_of
from deb import write_deb
from image import write_image
from npm import write_program, write_sdk
from wheel import write_wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="where the packages go")
    parser.add_argument("--program", type=Path, required=True, help="the built program")
    parser.add_argument("--extractors", type=Path, required=True, help="the folder with the extractors")
    options = parser.parse_args()
    target = options.directory.resolve()
    target.mkdir(parents=True, exist_ok=True)
    contents = contents_of(options.program.resolve(), options.extractors.resolve())

    makers = [
        lambda: [tarball(target, contents)],
        lambda: [write_program(target, contents), write_sdk(target)],
        lambda: [write_wheel(target, contents)],
    ]
    if "linux" in contents.platform.triple:
        makers += [lambda: [write_deb(target, contents)], lambda: write_image(target, contents, options.program.resolve())]
    with ThreadPoolExecutor(2) as workers:
        made = [package for packages in workers.map(lambda make: make(), makers) for package in packages]

    sums = "".join(f"{hashlib.sha256(package.read_bytes()).hexdigest()}  {package.name}\n" for package in sorted(made))
    (target / f"SHA256SUMS-{contents.platform.npm}").write_text(sums)
    print(sums, end="")


def tarball(target: Path, contents) -> Path:
    """Writes the archive to be unpacked into a prefix such as /usr/local."""
    name = f"kitbag-{contents.version}-{contents.platform.triple}"
    write_tar(target / f"{name}.tar.gz", below(name, contents.all))
    return target / f"{name}.tar.gz"


main()
