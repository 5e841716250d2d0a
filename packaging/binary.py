"""What the header of a program says: for which system it is, and what it needs there."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

ELF = b"\x7fELF"
MACH_O_64 = b"\xcf\xfa\xed\xfe"
DYNAMIC, VERSIONS_NEEDED = 6, 0x6FFFFFFE
NEEDED = 1
BUILD_VERSION = 0x32


@dataclass(frozen=True)
class Platform:
    """A platform by the names that each kind of package has for it."""

    triple: str
    npm: str
    wheel: str
    deb: str | None


def platform_of(program: Path) -> Platform:
    """Returns the platform that a program was compiled for."""
    content = program.read_bytes()
    if content.startswith(ELF):
        machine, cpu, deb = {62: ("x86_64", "x64", "amd64"), 183: ("aarch64", "arm64", "arm64")}[
            struct.unpack_from("<H", content, 18)[0]
        ]
        major, minor = glibc_needed(content)
        return Platform(f"{machine}-unknown-linux-gnu", f"linux-{cpu}", f"manylinux_{major}_{minor}_{machine}", deb)
    if content.startswith(MACH_O_64):
        machine, cpu, wheel = {0x01000007: ("x86_64", "x64", "x86_64"), 0x0100000C: ("aarch64", "arm64", "arm64")}[
            struct.unpack_from("<I", content, 4)[0]
        ]
        major, minor = macos_needed(content)
        return Platform(f"{machine}-apple-darwin", f"darwin-{cpu}", f"macosx_{major}_{minor}_{wheel}", None)
    raise SystemExit(f"{program} is no program for Linux or macOS, which are the systems that Kitbag runs on")


def glibc_needed(content: bytes) -> tuple[int, int]:
    """Returns the oldest version of glibc that has all symbols which an ELF program uses."""
    versions = {
        tuple(map(int, name.split(".")[:2]))
        for _, name in version_names(content)
        if re.fullmatch(r"\d+\.\d+(\.\d+)?", name)
    }
    if not versions:
        raise SystemExit("the program is not linked to glibc, so that no wheel can name the systems it runs on")
    return max(versions)


def libraries(content: bytes) -> list[str]:
    """Returns the shared libraries that an ELF program names."""
    found = []
    for kind, offset, size, names in sections(content):
        if kind == DYNAMIC:
            for at in range(offset, offset + size, 16):
                tag, value = struct.unpack_from("<qQ", content, at)
                if tag == NEEDED:
                    found.append(text(content, names + value))
    return found


def version_names(content: bytes) -> list[tuple[str, str]]:
    """Returns each (`GLIBC`, `2.34`) that an ELF program needs."""
    found = []
    for kind, offset, _, names in sections(content):
        if kind != VERSIONS_NEEDED:
            continue
        while True:
            _, count, _, first, following = struct.unpack_from("<HHIII", content, offset)
            entry = offset + first
            for _ in range(count):
                _, _, _, name, step = struct.unpack_from("<IHHII", content, entry)
                library, _, version = text(content, names + name).partition("_")
                if library == "GLIBC":
                    found.append((library, version))
                entry += step
            if following == 0:
                break
            offset += following
    return found


def sections(content: bytes):
    """Yields type, offset, size, and the offset of the linked table of strings, of each section."""
    (start,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", content, start + size * index) for index in range(count)]
    for header in headers:
        yield header[1], header[4], header[5], headers[header[6]][4] if header[6] < count else 0


def macos_needed(content: bytes) -> tuple[int, int]:
    """Returns the oldest version of macOS that a Mach-O program runs on."""
    (count,) = struct.unpack_from("<I", content, 16)
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", content, at)
        if command == BUILD_VERSION:
            (version,) = struct.unpack_from("<I", content, at + 12)
            major = version >> 16
            # From macOS 11 on, pip knows the first number alone.
            return major, 0 if major >= 11 else version >> 8 & 0xFF
        at += size
    raise SystemExit("the program does not say which macOS it needs")


def text(content: bytes, at: int) -> str:
    return content[at : content.index(b"\0", at)].decode()
