//! Sign-in codes of the test servers in local mode.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use kitbag_identity::SignInCode;
use secrecy::ExposeSecret;
use url::Url;

/// Data directories of servers in local mode, by the authority of their URLs.
static SERVERS: LazyLock<Mutex<HashMap<String, PathBuf>>> = LazyLock::new(Mutex::default);

pub(super) fn remember(base_url: &Url, data: &Path) {
    let mut servers = SERVERS.lock().expect("no writer panicked");
    servers.insert(base_url.authority().to_owned(), data.to_owned());
}

/// Sign-in code of the server of this page; `None` if it is not a test server.
pub(crate) fn sign_in_code(page: &Url) -> Option<String> {
    let data = SERVERS.lock().expect("no writer panicked").get(page.authority())?.clone();
    let code = SignInCode::read(&data).expect("the code can be read")?;
    Some(code.reveal().expose_secret().to_owned())
}
