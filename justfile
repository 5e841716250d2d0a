# The tasks of this project. `just` lists them; without `just`: `npx -y rust-just`.

set shell := ["bash", "-euo", "pipefail", "-c"]

output := env("CARGO_TARGET_DIR", "target") / "debug"

# Benchmarks find paths from their command lines here.
export CALLED_FROM := invocation_directory()

# List the tasks.
default:
    @{{ just_executable() }} --list --unsorted

# Build the server, serve example toolkits, call one, and keep serving.
demo: install-guest-compiler build
    {{ output }}/kitbag demo

# Run every test; those of the TypeScript SDK first, and unit tests also with PostgreSQL and a bucket.
test: install-for-tests build-guests build-extractors test-typescript test-packages && test-stores
    cargo test --workspace --no-fail-fast

# Run the tests of the crates, and all others but the specification, as one of several jobs.
test-crates: install build-guests build-extractors
    cargo test --workspace --no-fail-fast --lib --bins --examples $(scripts/other-tests)
    cargo test --workspace --doc

# Run a shard of the specification, as one of several jobs: `just test-spec 2/3`.
test-spec shard="1/1": install-for-tests build-guests build-extractors
    cargo build --workspace --examples
    scripts/shard-of-tests {{ shard }}

# Run the tests of what is stored with PostgreSQL and with a bucket.
test-stores: test-postgres (test-postgres "--test spec -- cluster:: database_copy:: freshness::")

# Run tests with a PostgreSQL server and an S3 server, also those that need one: the unit tests, or others: `just test-postgres "--test spec -- FILTER…"`.
test-postgres *arguments="--lib": install
    scripts/with-postgres scripts/with-s3 cargo test --workspace {{ arguments }} {{ if arguments =~ '(^| )-- ' { "" } else { "--" } }} --include-ignored

# Run the tests of the TypeScript SDK, of its engine, and of the toolkits written with it; the replies of the sandbox too.
test-typescript: install build build-rules build-engine
    cargo build --workspace --example run
    cd guest-sdk/typescript && TEST_KITBAG={{ absolute_path(output / "kitbag") }} TEST_ENGINE={{ absolute_path(output / "examples/run") }} npm test

# Make the packages for this platform from a release build: `just package DIR`.
package directory="target-package": build-rules build-engine build-extractors install-packagers
    cargo build --workspace --release --bin kitbag
    packaging/package.py {{ quote(directory) }} --extractors {{ output / "extractors" }} \
        --program {{ parent_directory(output) / "release/kitbag" }}

# Install each package of a development build into an empty place, and make a first call.
test-packages: build build-rules build-engine build-extractors install-packagers
    packaging/package.py target-package/tests --extractors {{ output / "extractors" }} --program {{ output / "kitbag" }}
    scripts/install-python-packages tests/packages
    TEST_PACKAGES={{ absolute_path("target-package/tests") }} python3 -m unittest discover --buffer --start-directory tests/packages

# Follow docs/authoring.md as an author does, and time the first call; all languages, or `just walk-authoring c go`. Takes long.
walk-authoring *languages: build build-rules build-engine
    scripts/walk-authoring {{ output }}/kitbag {{ languages }}

# Compile the crates that authors use, as they would be published; nothing is uploaded. Takes minutes.
package-crates:
    cargo publish --dry-run --allow-dirty -p kitbag-manifest -p kitbag-toolkit

# Check format, lints, documentation.
check: (needs "fmt" "rustfmt") (needs "clippy" "clippy")
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Show lines by crate and habits, against the last release or a revision: `just weigh REVISION`.
weigh *revision:
    @scripts/weigh {{ revision }}

# Check licences, sources and bans of all crates (deny.toml); with their database, which is on GitHub: `just deny advisories`.
deny *checks="bans licenses sources":
    [ -x .tools/bin/cargo-deny ] || cargo install cargo-deny --version 0.20.2 --locked --root .tools
    .tools/bin/cargo-deny --locked check --hide-inclusion-graph {{ checks }}

# Benchmarks measure a release build, as packages have it: the first one takes a quarter of an hour, besides what tests need.

# Measure a call, compared with the same call without Kitbag: `--quick`, `--json FILE`; of traces: `--traces`; of PostgreSQL: `--cluster`.
bench *arguments: build-rules build-engine install-bench
    {{ if arguments =~ "--cluster" { "scripts/with-postgres" } else { "" } }} cargo bench --workspace --bench load -- {{ arguments }}

# Write the GraphQL schema to docs/schema.graphql, and the JSON Schema of manifests beside the contract.
schema: install
    RENEW_SCHEMA=1 cargo test --workspace --lib -- the_schema_in_docs_is_the_servers
    RENEW_SCHEMA=1 cargo test --workspace --test json_schema -- the_published_schema

# Measure search: `just bench-search DIR` on a collection in BEIR layout (with `--postgres`: there), `--load` on many documents, `--tools` of tools, `--toolkits` of a server with many.
bench-search *arguments:
    {{ if arguments =~ "--postgres" { "scripts/with-postgres" } else { "" } }} cargo bench --workspace --bench search -- {{ arguments }}

# Compare what is read of the files in a folder with what independent readers find, by kind: `just bench-documents DIR`.
bench-documents directory: build build-extractors
    scripts/bench-documents {{ output }}/kitbag {{ quote(join(CALLED_FROM, directory)) }}

# Show how a service grows with its users, on both engines; fail if a query reads all of a table that grows: `--json FILE`.
simulate *arguments: install-guest-compiler
    scripts/with-postgres cargo bench --workspace --bench simulate -- {{ arguments }}

# Fuzz the parsers of untrusted input, for MINUTES in total.
fuzz minutes="10":
    scripts/fuzz run {{ minutes }}

# Run one input that the fuzzer found, with a backtrace.
fuzz-replay file:
    scripts/fuzz replay {{ quote(file) }}

# Copy inputs that the fuzzer found and that reach new code to fuzz/corpus, which the tests run.
fuzz-keep:
    scripts/fuzz keep

# Load a server with 64 connections of mixed calls; fail if a resource grows without bound: `just soak 30`, `--json FILE`.
soak minutes="10" *arguments: install
    cargo bench --workspace --bench soak -- --minutes {{ minutes }} {{ arguments }}

# Attack a server that has 1 GiB of memory with the largest requests, unread answers and unfinished heads of several users.
attack minutes="10": build-guests
    ATTACK_SECONDS=$(( {{ minutes }} * 60 )) cargo test --workspace --test attack -- --nocapture

# Take pictures of every page, in light, in dark, and 320 pixels wide: `just screens DIR`, or `just screens DIR overview`; those of README.md: DIR/readme.
screens directory *pages: install install-browser build build-guests
    TEST_KITBAG={{ absolute_path(output / "kitbag") }} node tests/browser/screens.mjs {{ quote(directory) }} {{ pages }}

# Build the toolkits under toolkits/ that use an SDK, and their manifests, as a deploy would accept them.
build-toolkits: install build build-rules build-engine
    for crate in toolkits/*/Cargo.toml; do {{ output }}/kitbag toolkit build "$(dirname "$crate")"; done
    for extension in toolkits/*/extension.ts; do node guest-sdk/typescript/bin/kitbag.js build "$extension"; done

# Build the components that the tests deploy, the toolkits and the test guests, into target-guests/components.
build-guests: install build-rules build-engine
    cargo build --workspace --example build-components
    {{ output }}/examples/build-components . \
        $(grep -l cdylib toolkits/*/Cargo.toml tests/guests/*/Cargo.toml tests/languages/*/Cargo.toml | xargs sed -n 's/^name = "\(.*\)"$/\1/p')
    for toolkit in currency feeds github papers translate; do \
        node guest-sdk/typescript/bin/kitbag.js build "toolkits/$toolkit/extension.ts" --out "target-guests/typescript/toolkits/$toolkit"; \
        install -C -m 644 "target-guests/typescript/toolkits/$toolkit/$toolkit.wasm" "target-guests/components/toolkit-$toolkit.wasm"; \
    done
    scripts/build-from-contract

# Build the WebAssembly module of the TypeScript SDK with the rules of declarations and calls.
build-rules: install
    cargo build --workspace --example build-modules
    {{ output }}/examples/build-modules . kitbag-rules-module=guest-sdk/typescript/rules.wasm

# Build what turns toolkits in TypeScript into components: the JavaScript engine, and the componentizer.
build-engine: install
    scripts/install-python-packages guest-sdk/typescript/engine
    cargo build --workspace --example build-modules
    scripts/with-c-compiler {{ output }}/examples/build-modules . \
        kitbag-engine=guest-sdk/typescript/engine.wasm kitbag-componentizer=guest-sdk/typescript/componentizer.wasm
    scripts/with-c-compiler {{ output }}/examples/build-modules . \
        kitbag-engine=guest-sdk/typescript/engine-full.wasm --features crypto intl

# Build the extractors, and what runs code of models, and install them where the server looks; the first build takes minutes.
build-extractors: install build-rules build-engine
    cargo build --workspace --example build-components
    {{ output }}/examples/build-components . extractor-html extractor-mail extractor-office extractor-pdf
    mkdir -p {{ output }}/extractors
    for kind in html mail office pdf; do \
        install -C -m 644 "target-guests/components/extractor-$kind.wasm" "{{ output }}/extractors/$kind.wasm"; \
    done
    node guest-sdk/typescript/bin/kitbag.js build code-runner/extension.ts --out target-guests/typescript/code-runner
    install -C -m 644 target-guests/typescript/code-runner/code.wasm "{{ output }}/extractors/code.wasm"

# Install a compiler for WebAssembly, unless there is one.
install-guest-compiler:
    scripts/install-guest-toolchain

# Install missing prerequisites of the other tasks: WebAssembly compiler, npm and Python packages, espeak-ng.
install: install-guest-compiler
    scripts/install-node-packages
    scripts/install-python-packages
    scripts/install-speech

# Run the tests of real clients with the newest versions of these, which a failure names; the lock files stay as they are.
test-newest-clients: install build build-guests build-extractors
    scripts/install-newest-clients {{ output }}/newest-clients | tee {{ output }}/newest-clients.txt
    TEST_CLIENTS={{ absolute_path(output / "newest-clients") }} cargo test --workspace --test spec -- \
        agents:: clients:: elicitation:: list_changed:: --skip slow_clients:: \
        || { echo "the newest clients fail: $(paste -sd ',' {{ output }}/newest-clients.txt)" >&2; exit 1; }

[private]
install-for-tests: install install-agents install-browser install-prometheus install-registry

# Of tests alone: 650 MB.
[private]
install-agents:
    scripts/install-node-packages clients/agents

# Of the tests and pictures alone: 115 MB, which `demo` does not need.
[private]
install-browser:
    scripts/install-browser

# Test how well tools are found by meaning, with the default model: 84 MB, which is fetched from its publisher.
test-finding: build build-guests
    mkdir -p {{ parent_directory(output) / "tmp/search" }} && chmod 700 {{ parent_directory(output) / "tmp/search" }}
    {{ output }}/kitbag model fetch --data {{ parent_directory(output) / "tmp/search" }}
    cargo test --workspace --test spec -- finding::quality --include-ignored

# Of a test alone: 19 MB.
[private]
install-prometheus:
    scripts/install-debian-program prometheus

# Of tests alone: a registry of components, 5 MB.
[private]
install-registry:
    scripts/install-debian-program docker-registry

# Of packages alone: cargo-deb and a builder of images.
[private]
install-packagers:
    scripts/install-cargo-deb
    scripts/install-image-builder

# Installs the servers of other projects that the benchmark compares with, and HAProxy. One that cannot be installed is not
# measured.
[private]
install-bench:
    -scripts/install-python-packages tests/bench/python-server
    -scripts/install-python-packages tests/bench/act-server
    -scripts/install-debian-program haproxy liblua5.3-0

# Builds the whole workspace for one binary: with `-p kitbag`, some dependencies of wasmtime would have other
# features than in the tests, and cargo would compile wasmtime a second time.
[private]
build:
    cargo build --workspace --bin kitbag

[private]
needs command component:
    @cargo {{ command }} --version >/dev/null 2>&1 \
        || timeout 120 rustup component add {{ component }} \
        || { echo "cargo {{ command }} is missing: install rustup's component {{ component }}" >&2; exit 1; }
