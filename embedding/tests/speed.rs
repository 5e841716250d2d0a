//! Speed of this build, as a ratio. A profile that does not optimise the matrix kernels makes an encoder
//! several times slower, which no other result shows.

use std::hint::black_box;
use std::time::Duration;

use kitbag_embedding::bert::{Activation, Config, Encoder, Pooling, Precision};
use rustix::time::{ClockId, clock_gettime};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

const HIDDEN: usize = 384;
const WIDE: usize = 1536;
const LAYERS: usize = 2;
const TOKENS: u32 = 256;
/// Number of multiplications that an encoder of this size needs for [`TOKENS`] tokens, without attention.
const PRODUCTS: usize = LAYERS * TOKENS as usize * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * WIDE);

#[test]
fn an_encoder_takes_less_time_than_a_plain_loop_over_as_many_products() {
    let encoder = encoder();
    let tokens: Vec<u32> = (0..TOKENS).collect();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");

    // The minimum of several runs is the least disturbed by other processes.
    let least = |work: &(dyn Fn() + Sync)| {
        let times = (0..5).map(|_| threads.install(|| processor_time(work)));
        times.min().expect("there are five")
    };
    let with_kernels = least(&|| drop(black_box(encoder.embed(&[&tokens], Pooling::Mean))));
    let plain = least(&plain_products);

    let ratio = with_kernels.as_secs_f64() / plain.as_secs_f64();
    println!("encoder {with_kernels:.1?}, plain loop {plain:.1?}, ratio {ratio:.2}");
    assert!(ratio < 1.0, "{with_kernels:?} instead of {plain:?}: see the profiles in Cargo.toml");
}

/// As many multiplications and additions as in the encoder, one vector after the other.
fn plain_products() {
    const LANES: usize = 16;

    let one = vec![0.5_f32; WIDE];
    let other = vec![0.25_f32; WIDE];
    for _ in 0..PRODUCTS / WIDE {
        let one = black_box(one.as_chunks::<LANES>().0);
        let other = black_box(other.as_chunks::<LANES>().0);
        let mut sums = [0_f32; LANES];
        for (one, other) in one.iter().zip(other) {
            for lane in 0..LANES {
                sums[lane] += one[lane] * other[lane];
            }
        }
        black_box(sums);
    }
}

fn processor_time(work: &(dyn Fn() + Sync)) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("time has begun");
    let before = now();
    work();
    now().saturating_sub(before)
}

/// Encoder with arbitrary weights.
fn encoder() -> Encoder {
    let config = Config {
        model_type: None,
        vocab_size: TOKENS as usize,
        hidden_size: HIDDEN,
        num_hidden_layers: LAYERS,
        num_attention_heads: 12,
        intermediate_size: WIDE,
        hidden_act: Activation::Gelu,
        max_position_embeddings: TOKENS as usize,
        type_vocab_size: 1,
        layer_norm_eps: 1e-12,
    };
    let mut tensors = Vec::new();
    let mut add = |name: String, shape: &[usize]| {
        let count = shape.iter().product::<usize>();
        let numbers: Vec<u8> = (0..count)
            .flat_map(|number| {
                (f32::from(u8::try_from(number % 251).expect("small")) / 2510.0 - 0.05).to_le_bytes()
            })
            .collect();
        tensors.push((name, shape.to_vec(), numbers));
    };
    for (name, rows) in [("word", TOKENS as usize), ("position", TOKENS as usize), ("token_type", 1)] {
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
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many numbers as the shape has"))
    });
    let file = safetensors::serialize(views, None).expect("it can be written");
    Encoder::load(&config, &file, Precision::Best).expect("it is whole")
}
