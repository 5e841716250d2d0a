//! The model that search uses.

use std::path::Path;

use super::{Finding, Report};
use crate::knowledge::Embedder;

pub(super) async fn check(folder: Option<&Path>, report: &mut Report) {
    let Some(folder) = folder else {
        report.notes.push("search uses no model of this machine".to_owned());
        return;
    };
    if !folder.exists() {
        report.notes.push(format!(
            "there is no model in {}: search goes by words alone (`kitbag model fetch` gets one)",
            folder.display()
        ));
        return;
    }
    match try_model(folder).await {
        Ok(name) => report.notes.push(format!("the model {name} works")),
        Err(error) => report.findings.push(Finding::new(
            format!("the model in {} cannot be used, and the server does not start: {error}", folder.display()),
            "`kitbag model remove` and `kitbag model fetch` get it anew; another model has to be put there again",
        )),
    }
}

/// Opens the model and embeds a query. Returns the model's name.
async fn try_model(folder: &Path) -> Result<String, String> {
    let embedder = Embedder::open(folder).await.map_err(|error| error.to_string())?;
    embedder.query("test".to_owned()).await.map_err(|error| error.to_string())?;
    Ok(embedder.model().to_owned())
}
