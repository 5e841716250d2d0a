use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::*;

const HIDDEN: usize = 24;
const WIDE: usize = 40;
const HEADS: usize = 3;
const WORDS: usize = 11;
const POSITIONS: usize = 16;
const LAYERS: usize = 2;

fn config() -> Config {
    Config {
        model_type: Some("bert".to_owned()),
        vocab_size: WORDS,
        hidden_size: HIDDEN,
        num_hidden_layers: LAYERS,
        num_attention_heads: HEADS,
        intermediate_size: WIDE,
        hidden_act: Activation::Gelu,
        max_position_embeddings: POSITIONS,
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
    }
}

/// Name, shape and numbers of a tensor.
type Named = (String, Vec<usize>, Vec<f32>);

/// Arbitrary weights, identical in every run.
fn tensors() -> Vec<Named> {
    let mut seed = 1_u32;
    let mut random = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f32::from(u16::try_from(seed >> 16).expect("16 bits are left")) / 32_768.0 - 1.0) / 3.0
    };
    let mut tensors = Vec::new();
    let mut add = |name: String, shape: &[usize]| {
        let numbers = (0..shape.iter().product()).map(|_| random()).collect();
        tensors.push((name, shape.to_vec(), numbers));
    };
    for (name, rows) in [("word", WORDS), ("position", POSITIONS), ("token_type", 2)] {
        add(format!("embeddings.{name}_embeddings.weight"), &[rows, HIDDEN]);
    }
    let mut norms = vec!["embeddings".to_owned()];
    for layer in (0..LAYERS).map(|layer| format!("encoder.layer.{layer}")) {
        for (name, outputs, inputs) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", WIDE, HIDDEN),
            ("output.dense", HIDDEN, WIDE),
        ] {
            add(format!("{layer}.{name}.weight"), &[outputs, inputs]);
            add(format!("{layer}.{name}.bias"), &[outputs]);
        }
        norms.extend([format!("{layer}.attention.output"), format!("{layer}.output")]);
    }
    for norm in norms {
        add(format!("{norm}.LayerNorm.weight"), &[HIDDEN]);
        add(format!("{norm}.LayerNorm.bias"), &[HIDDEN]);
    }
    tensors
}

/// Bytes of a safetensors file.
fn file(tensors: &[Named], dtype: Dtype, bytes: impl Fn(f32) -> Vec<u8>) -> Vec<u8> {
    let numbers: Vec<Vec<u8>> =
        tensors.iter().map(|(.., numbers)| numbers.iter().copied().flat_map(&bytes).collect()).collect();
    let views = tensors.iter().zip(&numbers).map(|((name, shape, _), bytes)| {
        (name, TensorView::new(dtype, shape.clone(), bytes).expect("as many numbers as the shape has"))
    });
    safetensors::serialize(views, None).expect("it can be written")
}

fn float32(tensors: &[Named]) -> Vec<u8> {
    file(tensors, Dtype::F32, |number| number.to_le_bytes().to_vec())
}

fn encoder(precision: Precision) -> Encoder {
    Encoder::load(&config(), &float32(&tensors()), precision).expect("it is whole")
}

/// Reference computation, written as in the papers.
fn expected(tokens: &[u32], activation: fn(f32) -> f32) -> Vec<f32> {
    let tensors = tensors();
    let get = |name: &str| &tensors.iter().find(|(found, ..)| found == name).expect(name).2;
    let norm = |name: &str, row: &[f32]| -> Vec<f32> {
        let mean = row.iter().sum::<f32>() / 24.0;
        let deviation = (row.iter().map(|number| (number - mean).powi(2)).sum::<f32>() / 24.0).sqrt();
        let weight = get(&format!("{name}.LayerNorm.weight"));
        let bias = get(&format!("{name}.LayerNorm.bias"));
        (0..HIDDEN).map(|at| (row[at] - mean) / deviation * weight[at] + bias[at]).collect()
    };
    let linear = |name: &str, row: &[f32]| -> Vec<f32> {
        let rows = get(&format!("{name}.weight")).chunks(row.len());
        rows.zip(get(&format!("{name}.bias"))).map(|(weights, bias)| dot(weights, row) + bias).collect()
    };
    let table = |name: &str, row: usize| {
        &get(&format!("embeddings.{name}_embeddings.weight"))[row * HIDDEN..(row + 1) * HIDDEN]
    };
    let sum = |rows: [&[f32]; 2]| (0..rows[0].len()).map(|at| rows[0][at] + rows[1][at]).collect::<Vec<_>>();
    let mut states: Vec<Vec<f32>> = (0..tokens.len())
        .map(|at| {
            let placed = sum([table("word", tokens[at] as usize), table("position", at)]);
            norm("embeddings", &sum([&placed, table("token_type", 0)]))
        })
        .collect();
    for layer in (0..LAYERS).map(|layer| format!("encoder.layer.{layer}")) {
        let part = |name: &str| -> Vec<_> {
            states.iter().map(|state| linear(&format!("{layer}.attention.self.{name}"), state)).collect()
        };
        let queries = part("query");
        let keys = part("key");
        let values = part("value");
        let head = HIDDEN / HEADS;
        let context = |token: usize| -> Vec<f32> {
            let of_head = |first: usize| {
                let own = first..first + head;
                let weigh = |key: &Vec<f32>| {
                    (dot(&queries[token][own.clone()], &key[own.clone()]) / 8_f32.sqrt()).exp()
                };
                let weights: Vec<f32> = keys.iter().map(weigh).collect();
                let total: f32 = weights.iter().sum();
                let mixed = |at: usize| {
                    weights.iter().zip(&values).map(|(weight, value)| weight / total * value[at]).sum()
                };
                own.map(mixed).collect::<Vec<f32>>()
            };
            (0..HIDDEN).step_by(head).flat_map(of_head).collect()
        };
        states = (0..tokens.len())
            .map(|token| {
                let attended = linear(&format!("{layer}.attention.output.dense"), &context(token));
                let attended = norm(&format!("{layer}.attention.output"), &sum([&attended, &states[token]]));
                let wide: Vec<f32> = linear(&format!("{layer}.intermediate.dense"), &attended)
                    .into_iter()
                    .map(activation)
                    .collect();
                let narrow = linear(&format!("{layer}.output.dense"), &wide);
                norm(&format!("{layer}.output"), &sum([&narrow, &attended]))
            })
            .collect();
    }
    let mean: Vec<f32> = (0..HIDDEN).map(|at| states.iter().map(|state| state[at]).sum()).collect();
    let length = dot(&mean, &mean).sqrt();
    mean.into_iter().map(|number| number / length).collect()
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn gelu_by_tanh(number: f32) -> f32 {
    let inner = (2.0 / std::f32::consts::PI).sqrt() * (number + 0.044_715 * number.powi(3));
    0.5 * number * (1.0 + inner.tanh())
}

#[track_caller]
fn assert_near(one: &[f32], other: &[f32], most: f32) {
    assert_eq!(one.len(), other.len());
    let off = one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
    assert!(off < most, "{off} off: {one:?}\n{other:?}");
}

const TEXTS: [&[u32]; 4] = [&[2, 5, 7, 3], &[1], &[2, 4, 4, 4, 9, 10, 0, 3], &[2, 8, 3]];

#[test]
fn it_computes_what_the_papers_say() {
    for (name, activation) in
        [("gelu_new", gelu_by_tanh as fn(f32) -> f32), ("relu", |number| number.max(0.0))]
    {
        let mut config = config();
        config.hidden_act = serde::Deserialize::deserialize(serde::de::value::StrDeserializer::<
            serde::de::value::Error,
        >::new(name))
        .expect("a function");
        let encoder = Encoder::load(&config, &float32(&tensors()), Precision::Float32).expect("it is whole");

        let vectors = encoder.embed(&TEXTS, Pooling::Mean);

        for (text, vector) in TEXTS.into_iter().zip(vectors) {
            assert_near(&vector, &expected(text, activation), 1e-4);
        }
    }
    // The library has no error function; its approximation is at most a thousandth off.
    for (text, vector) in TEXTS.into_iter().zip(encoder(Precision::Float32).embed(&TEXTS, Pooling::Mean)) {
        assert_near(&vector, &expected(text, gelu_by_tanh), 5e-3);
    }
}

#[test]
fn eight_bits_give_nearly_the_same_vectors_of_length_one() {
    let exact = encoder(Precision::Float32).embed(&TEXTS, Pooling::Mean);

    let rounded = encoder(Precision::Best).embed(&TEXTS, Pooling::Mean);

    for (exact, rounded) in exact.iter().zip(&rounded) {
        assert!((dot(rounded, rounded) - 1.0).abs() < 1e-5);
        assert!(dot(exact, rounded) > 0.995, "{}", dot(exact, rounded));
        assert_eq!(exact == rounded, !Multiplier::new(Precision::Best).has_bytes());
    }
}

#[test]
fn a_text_has_the_same_vector_in_any_company() {
    for precision in [Precision::Float32, Precision::Best] {
        let encoder = encoder(precision);
        let together = encoder.embed(&TEXTS, Pooling::Mean);

        for (text, vector) in TEXTS.into_iter().zip(together) {
            assert_near(&encoder.embed(&[text], Pooling::Mean)[0], &vector, 1e-5);
        }
        assert_eq!(encoder.embed(&[], Pooling::Mean), Vec::<Vec<f32>>::new());
    }
}

#[test]
fn the_first_token_may_stand_for_the_text() {
    let encoder = encoder(Precision::Float32);

    let [one, other] =
        [Pooling::FirstToken, Pooling::Mean].map(|pooling| encoder.embed(&[&[2, 5, 3]], pooling));

    assert!((dot(&one[0], &one[0]) - 1.0).abs() < 1e-5);
    assert!(one[0].iter().zip(&other[0]).any(|(one, other)| (one - other).abs() > 1e-3), "{one:?}");
    assert_eq!(encoder.embed(&[&[7]], Pooling::FirstToken), encoder.embed(&[&[7]], Pooling::Mean));
}

#[test]
fn tokens_that_no_table_has_are_no_panic() {
    let encoder = encoder(Precision::Best);
    let long = [3; POSITIONS + 5];

    let vectors = encoder.embed(&[&[u32::MAX, 5], &long], Pooling::Mean);

    assert!(vectors.iter().flatten().all(|number| number.is_finite()), "{vectors:?}");
}

#[test]
fn weights_of_16_bits_and_names_with_a_prefix_are_read() {
    let expected = encoder(Precision::Float32).embed(&TEXTS, Pooling::Mean);
    let mut prefixed = tensors();
    for (name, ..) in &mut prefixed {
        name.insert_str(0, "bert.");
    }
    let half = |number: f32| rten_simd::f16::from_f32(number).to_bits().to_le_bytes().to_vec();
    let files = [
        (float32(&prefixed), 1e-6),
        (file(&tensors(), Dtype::F16, half), 2e-2),
        (file(&tensors(), Dtype::BF16, |number| number.to_le_bytes()[2..].to_vec()), 1e-1),
    ];

    for (file, most) in files {
        let read = Encoder::load(&config(), &file, Precision::Float32).expect("it can be read");
        for (vector, expected) in read.embed(&TEXTS, Pooling::Mean).iter().zip(&expected) {
            assert_near(vector, expected, most);
        }
    }
}

#[test]
fn what_is_no_model_is_refused_with_the_reason() {
    let refused = |config: &Config, tensors: &[Named]| {
        let loaded = Encoder::load(config, &float32(tensors), Precision::Best);
        loaded.err().expect("it is none").to_string()
    };
    let config = config();
    let mut missing = tensors();
    missing.retain(|(name, ..)| name != "encoder.layer.1.output.dense.bias");
    let of_bytes = file(&tensors(), Dtype::I8, |_| vec![1]);

    assert!(refused(&config, &missing).starts_with("tensor encoder.layer.1.output.dense.bias: "));
    assert_eq!(
        refused(&Config { hidden_size: 48, num_attention_heads: 3, ..config.clone() }, &tensors()),
        "tensor embeddings.position_embeddings.weight: its shape is [16, 24], and the configuration says [16, 48]"
    );
    for (heads, hidden) in [(0, 24), (5, 24), (3, 0)] {
        let odd = Config { num_attention_heads: heads, hidden_size: hidden, ..config.clone() };
        assert_eq!(refused(&odd, &tensors()), "hidden_size is no multiple of num_attention_heads");
    }
    for empty in [
        Config { type_vocab_size: 0, ..config.clone() },
        Config { intermediate_size: 0, ..config.clone() },
        Config { max_position_embeddings: 0, ..config.clone() },
        Config { vocab_size: 0, ..config.clone() },
    ] {
        assert_eq!(refused(&empty, &tensors()), "a size is 0");
    }
    let mut damaged = tensors();
    damaged[7].2[3] = f32::NAN;
    let damaged = refused(&config, &damaged);
    assert!(
        damaged.starts_with("tensor encoder.layer.0.") && damaged.ends_with("has a number that is none"),
        "{damaged}"
    );
    let error = Encoder::load(&config, &of_bytes, Precision::Best).err().expect("it is none").to_string();
    assert!(error.ends_with("its numbers are I8, and F32, F16 or BF16 can be read"), "{error}");
    assert!(Encoder::load(&config, b"version https://git-lfs", Precision::Best).is_err());
}
