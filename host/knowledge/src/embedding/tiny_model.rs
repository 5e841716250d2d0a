//! Model for tests: a real BERT with one layer and arbitrary, constant weights.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

/// Dimensions of a vector.
pub(crate) const DIMENSIONS: usize = 16;

const WORDS: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "wing", "flow", "heat", "layer", "shock", "cat", "dog", "moon"];
const POSITIONS: usize = 512;

/// Writes the model folder.
pub(crate) fn write(folder: &Path) {
    write_another(folder, 1);
}

/// Writes a model folder with weights that depend on the seed.
pub(crate) fn write_another(folder: &Path, seed: u32) {
    fs::write(folder.join("config.json"), config().to_string()).expect("the folder is there");
    fs::write(folder.join("tokenizer.json"), tokenizer().to_string()).expect("the folder is there");
    let weights = weights(seed);
    let views = weights.iter().map(|(name, (shape, bytes))| {
        (name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many values as the shape has"))
    });
    let file = safetensors::serialize(views, None).expect("the tensors have names");
    fs::write(folder.join("model.safetensors"), file).expect("the folder is there");
}

pub(crate) fn config() -> Value {
    json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": DIMENSIONS, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 32, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0
    })
}

/// Pads and truncates to 128 tokens, as in the files of real models.
fn tokenizer() -> Value {
    let vocabulary: serde_json::Map<_, _> =
        WORDS.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let special = |id: usize| {
        json!({ "id": id, "content": WORDS[id], "special": true, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false })
    };
    let frame = |id: usize| json!({ "id": WORDS[id], "ids": [id], "tokens": [WORDS[id]] });
    json!({
        "version": "1.0",
        "truncation": { "max_length": 128, "strategy": "LongestFirst", "stride": 0, "direction": "Right" },
        "padding": { "strategy": { "Fixed": 128 }, "direction": "Right", "pad_to_multiple_of": null,
                     "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
        "added_tokens": [special(0), special(1), special(2), special(3)],
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                        "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{ "SpecialToken": { "id": "[CLS]", "type_id": 0 } },
                       { "Sequence": { "id": "A", "type_id": 0 } },
                       { "SpecialToken": { "id": "[SEP]", "type_id": 0 } }],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
            "special_tokens": { "[CLS]": frame(2), "[SEP]": frame(3) }
        },
        "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": vocabulary }
    })
}

/// Shapes and bytes of the tensors, by name.
fn weights(mut seed: u32) -> HashMap<String, (Vec<usize>, Vec<u8>)> {
    let mut random = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(seed >> 16).expect("16 bits are left")) / 32_768.0 - 1.0
    };
    let mut weights = HashMap::new();
    let mut add = |name: &str, shape: &[usize], norm: bool| {
        let size: usize = shape.iter().product();
        let values = (0..size).map(|_| if norm { 1.0 } else { random() });
        weights.insert(name.to_owned(), (shape.to_vec(), values.flat_map(f32::to_le_bytes).collect()));
    };
    for (name, rows) in [("word", WORDS.len()), ("position", POSITIONS), ("token_type", 2)] {
        add(&format!("embeddings.{name}_embeddings.weight"), &[rows, DIMENSIONS], false);
    }
    for norm in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        add(&format!("{norm}.LayerNorm.weight"), &[DIMENSIONS], true);
        add(&format!("{norm}.LayerNorm.bias"), &[DIMENSIONS], false);
    }
    for (name, rows, columns) in [
        ("attention.self.query", DIMENSIONS, DIMENSIONS),
        ("attention.self.key", DIMENSIONS, DIMENSIONS),
        ("attention.self.value", DIMENSIONS, DIMENSIONS),
        ("attention.output.dense", DIMENSIONS, DIMENSIONS),
        ("intermediate.dense", 32, DIMENSIONS),
        ("output.dense", DIMENSIONS, 32),
    ] {
        add(&format!("encoder.layer.0.{name}.weight"), &[rows, columns], false);
        add(&format!("encoder.layer.0.{name}.bias"), &[rows], false);
    }
    weights
}
