//! Text of `kitbag --help`: one screen.

/// All commands, grouped by purpose. Fits a terminal of 24 lines and 80 columns.
pub(super) const OVERVIEW: &str = "\
Kitbag: a knowledge base whose toolkits are sandboxed WebAssembly components.

Usage: kitbag <COMMAND> [OPTIONS]      kitbag <COMMAND> --help shows examples

Begin       serve, demo      run a server, by default for this machine; examples
            login, logout    sign in at a server, in a browser; sign out
            connect, token   set up Claude, Cursor, Codex, ...; token of scripts
Documents   ingest, search   bring in files and web pages; find passages
            documents        list, show, download, delete, restore, move
            collection       documents of a team: new, share, delete, ...
Tools       tool, toolkit    call a tool; new, dev, deploy, logs, share, ...
            config, secret   your own settings and credentials for a toolkit
Operate     model, publisher models that search uses; whose signatures count
            backup, restore  of a data directory, also beside a running server
            doctor, database check a data directory; copy a whole service
            overview, audit  calls and failures of all toolkits; who did what
            user, key, vault who is here or leaves; keys of programs; the vault
            sign-in-code     the code that the page of a local server asks for
Shell       completions, man for bash, zsh, fish, powershell, elvish; manual

Options     -o, --output text|json|jsonl (--json)  -h, --help  -V, --version
Exit codes  0 done, 1 failed, 2 called wrongly, 3 no server (try again),
            4 not signed in, 5 done but something is wrong";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Command;
    use super::*;

    #[test]
    fn the_overview_fits_a_screen() {
        // The shell prompt takes the last line.
        assert!(OVERVIEW.lines().count() <= 23, "{} lines", OVERVIEW.lines().count());
        for line in OVERVIEW.lines() {
            assert!(line.is_ascii() && line.len() <= 80, "{line}");
        }
    }

    #[test]
    fn the_overview_names_each_command_once_and_no_other() {
        let rows = OVERVIEW.lines().skip(4).take_while(|line| !line.starts_with("Options"));
        let columns = rows.filter_map(|row| row.get(12..29)).flat_map(|names| names.split(','));
        let mut named: Vec<_> = columns.map(str::trim).filter(|name| !name.is_empty()).collect();
        let command = Command::command();
        let mut known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        named.sort_unstable();
        known.sort_unstable();

        assert_eq!(named, known);
    }
}
