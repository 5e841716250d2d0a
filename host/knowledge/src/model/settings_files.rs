//! How a model of the catalogue is used, in the files in which sentence-transformers say so. The server reads them in
//! the folder of any model.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use kitbag_embedding::bert::Pooling;
use serde_json::{Value, json};

use super::catalog::CatalogModel;
use crate::embedding::{CONFIG, MODULES, SENTENCE_TRANSFORMERS};

/// The folder of the pooling's settings.
const POOLING_FOLDER: &str = "1_Pooling";

/// Writes the files that the model needs into its folder, durably.
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

/// Whether the folder has the files, and they mean what [`write`] writes.
pub(super) fn are_there(model: &CatalogModel, folder: &Path) -> bool {
    files(model).iter().all(|(name, expected)| {
        let content = fs::read(folder.join(name)).unwrap_or_default();
        serde_json::from_slice::<Value>(&content).is_ok_and(|found| found == *expected)
    })
}

/// Names, as paths in the folder, and contents.
fn files(model: &CatalogModel) -> Vec<(String, Value)> {
    let mut files = Vec::new();
    // Without these files it is the mean.
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
