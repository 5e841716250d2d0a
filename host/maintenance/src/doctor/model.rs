//! Embedding model of the search.

use std::path::Path;

use kitbag_knowledge::Embedder;

use super::{Finding, Report, Subject};

pub(super) async fn check(subject: &Subject, report: &mut Report) {
    let Some(model) = &subject.model else {
        report.notes.push("search uses no model of this machine".to_owned());
        return;
    };
    let folder = model.folder.display();
    if subject.model_is_optional && !model.folder.exists() {
        report.notes.push(format!(
            "there is no model in {folder}: search goes by words alone (`kitbag model fetch` gets one)"
        ));
        return;
    }
    if let Some(name) = model.not_fetched() {
        report.findings.push(Finding::new(
            format!("the model {name} is not in {folder}, and the server does not start"),
            format!("`kitbag model fetch {name}` gets it"),
        ));
        return;
    }
    match try_model(&model.folder).await {
        Ok(id) => report.notes.push(format!("the model {id} works")),
        Err(error) => report.findings.push(Finding::new(
            format!("the model in {folder} cannot be used, and the server does not start: {error}"),
            match model.name {
                Some(name) => {
                    format!("`kitbag model remove {name}` and `kitbag model fetch {name}` get it anew")
                }
                None => "put the model there again".to_owned(),
            },
        )),
    }
}

/// Opens the model and embeds a query. Returns the model's id.
async fn try_model(folder: &Path) -> Result<String, String> {
    let embedder = Embedder::open(folder).await.map_err(|error| error.to_string())?;
    embedder.query("", "test".to_owned()).await.map_err(|error| error.to_string())?;
    Ok(embedder.model().to_owned())
}
