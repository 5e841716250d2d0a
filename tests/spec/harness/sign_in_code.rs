//! What the people of these tests know: the sign-in codes of the servers that they run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use kitbag::identity::SignInCode;
use secrecy::ExposeSecret;
use url::Url;

/// The data directories of servers in local mode, by the authority of their URLs.
static SERVERS: LazyLock<Mutex<HashMap<String, PathBuf>>> = LazyLock::new(Mutex::default);

pub(super) fn remember(base_url: &Url, data: &Path) {
    let mut servers = SERVERS.lock().expect("nobody panics with it");
    servers.insert(base_url.authority().to_owned(), data.to_owned());
}

/// The code that the server of this page asks for, if it is one of ours.
pub(crate) fn sign_in_code(page: &Url) -> Option<String> {
    let data = SERVERS.lock().expect("nobody panics with it").get(page.authority())?.clone();
    let code = SignInCode::read(&data).expect("the code can be read")?;
    Some(code.reveal().expose_secret().to_owned())
}
