//! Settings files of a model of the catalogue, in the format of sentence-transformers. The server reads them
//! in any model's folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use kitbag_embedding::bert::Pooling;
use serde_json::{Value, json};

use super::catalog::CatalogModel;
use crate::embedding::{CONFIG, MODULES, SENTENCE_TRANSFORMERS};

/// Folder of the pooling settings.
const POOLING_FOLDER: &str = "1_Pooling";

/// Writes the settings files into the model's folder, durably.
pub(super) fn write(model: &CatalogModel, folder: &Path) -> io::Result<()> {
    for (name, content) in files(model) {
        let path = folder.join(name);
        let parent = path.parent().expect("it is in the folder");
        fs::create_dir_all(parent)?;
        let mut file = File::create_new(&path)?;
        file.write_all(content.to_string().as_bytes())?;
        file.sync_all()?;
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// Whether the folder has the settings files, with the content that [`write`] writes.
pub(super) fn are_there(model: &CatalogModel, folder: &Path) -> bool {
    files(model).iter().all(|(name, expected)| {
        let content = fs::read(folder.join(name)).unwrap_or_default();
        serde_json::from_slice::<Value>(&content).is_ok_and(|found| found == *expected)
    })
}

/// Paths in the folder, and contents.
fn files(model: &CatalogModel) -> Vec<(String, Value)> {
    let mut files = Vec::new();
    // Mean pooling is the default without these files.
    if model.pooling != Pooling::Mean {
        let module = |number: usize, path: &str, kind: &str| {
            let kind = format!("sentence_transformers.models.{kind}");
            json!({ "idx": number, "name": number.to_string(), "path": path, "type": kind })
        };
        let modules = json!([
            module(0, "", "Transformer"),
            module(1, POOLING_FOLDER, "Pooling"),
            module(2, "2_Normalize", "Normalize"),
        ]);
        let pooling = json!({
            "word_embedding_dimension": model.dimensions,
            "pooling_mode_cls_token": model.pooling == Pooling::FirstToken,
            "pooling_mode_mean_tokens": model.pooling == Pooling::Mean,
            "pooling_mode_max_tokens": false,
            "pooling_mode_mean_sqrt_len_tokens": false,
        });
        files.push((MODULES.to_owned(), modules));
        files.push((format!("{POOLING_FOLDER}/{CONFIG}"), pooling));
    }
    if !(model.query_prompt.is_empty() && model.document_prompt.is_empty()) {
        let prompts = json!({ "query": model.query_prompt, "document": model.document_prompt });
        files.push((SENTENCE_TRANSFORMERS.to_owned(), json!({ "prompts": prompts })));
    }
    files
}
