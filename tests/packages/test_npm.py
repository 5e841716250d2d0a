"""The npm packages, installed without a network."""

import json
import subprocess
import tarfile

from support import IS_LINUX, PLATFORM, ROOT, PackageTest, environment, package, run

EXTENSION = """import { defineToolkit, tool, z } from "kitbag/extend/toolkit";

export default defineToolkit({
  id: "greeter", name: "Greeter", description: "Greets people.", icon: "👋", version: "1.0.0",
  tools: [
    tool({
      name: "greet", description: "Greets a person.", input: z.object({ name: z.string() }),
      handler: async ({ name }) => `Hello, ${name}!`,
    }),
  ],
});
"""
INSTALLED = ROOT / "guest-sdk/typescript/node_modules"
PROGRAM = f"@kitbag/{PLATFORM}"


class Npm(PackageTest):
    def test_installed_into_an_empty_folder_it_builds_serves_and_calls(self):
        self.install(program=True)
        (self.place / "extension.ts").write_text(EXTENSION)
        kitbag = ["npx", "--offline", "kitbag"]

        run(*kitbag, "build", cwd=self.place)
        # Not by npx, which npm puts between this test's signal and the server.
        with self.server([self.place / "node_modules/.bin/kitbag"], self.place / "data", self.place):
            run(*kitbag, "toolkit", "deploy", "dist/greeter.wasm", "--data", "data", cwd=self.place)
            reply = run(*kitbag, "tool", "call", "greeter", "greet", '{"name": "Ana"}', "--data", "data", cwd=self.place)

        self.assertIn("Hello, Ana!", reply)

    def test_its_program_has_its_extractors(self):
        self.install(program=True)

        self.assert_serves([self.place / "node_modules/.bin/kitbag"])

    def test_without_the_platforms_package_the_sdk_works_and_the_program_is_named(self):
        self.install(program=False)
        (self.place / "extension.ts").write_text(EXTENSION)

        run("npx", "--offline", "kitbag", "build", cwd=self.place)
        command = [self.place / "node_modules/.bin/kitbag", "serve"]
        refused = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)

        self.assertEqual(refused.returncode, 3, refused)
        self.assertIn(f"there is no package {PROGRAM}", refused.stderr)

    def test_exit_codes_are_those_of_the_program(self):
        self.install(program=True)

        for arguments, code in (["--version"], 0), (["no-such-command"], 2), (["doctor", "--data", "none"], 1):
            command = [self.place / "node_modules/.bin/kitbag", *arguments]
            done = subprocess.run(command, env=environment(), capture_output=True, timeout=60, cwd=self.place)
            self.assertEqual(done.returncode, code, done)

    def test_npm_installs_the_program_of_this_platform_and_version_only(self):
        sdk, program = describe("kitbag-[0-9]*.tgz"), describe(f"kitbag-{PLATFORM}-*.tgz")

        self.assertEqual(sdk["optionalDependencies"][program["name"]], program["version"])
        self.assertEqual(program["name"], f"@kitbag/{program['os'][0]}-{program['cpu'][0]}")
        self.assertEqual(program.get("libc"), ["glibc"] if IS_LINUX else None)
        # Nothing runs at the installation.
        self.assertNotIn("scripts", sdk.keys() | program.keys())

    def install(self, program: bool):
        """Installs the packages, with what they depend on as packages that are in the checkout."""
        packages: dict[str, str] = {}
        for name in [*describe("kitbag-[0-9]*.tgz")["dependencies"], "zod"]:
            self.pack(name, packages)
        packages["kitbag"] = f"file:{package('kitbag-[0-9]*.tgz')}"
        if program:
            packages[PROGRAM] = f"file:{package('kitbag-linux-*.tgz')}"
        description = {"private": True, "type": "module", "dependencies": packages}
        (self.place / "package.json").write_text(json.dumps(description))
        command = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", self.place / "cache"]
        run(*command, cwd=self.place)

    def pack(self, name: str, packages: dict):
        folder = INSTALLED / name
        # Of the packages for other platforms, none is installed.
        if name in packages or not folder.is_dir():
            return
        archive = self.place / f"{name.strip('@').replace('/', '-')}.tgz"
        packages[name] = f"file:{archive.name}"
        with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
            tar.add(folder, "package")
        description = json.loads((folder / "package.json").read_text())
        for dependency in (description.get("dependencies") or {}) | (description.get("optionalDependencies") or {}):
            self.pack(dependency, packages)


def describe(pattern: str) -> dict:
    with tarfile.open(package(pattern)) as archive:
        return json.load(archive.extractfile("package/package.json"))
