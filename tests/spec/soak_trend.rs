//! Growth detection of `just soak`, applied to series of various shapes.

#[path = "../bench/soak/trend.rs"]
mod trend;

use trend::{Tolerance, Trend};

const TOLERANCE: Tolerance = Tolerance { share: 0.1, amount: 20.0 };

/// Returns whether growth is detected in a thousand samples of a quantity.
fn grows(quantity: impl Fn(f64) -> f64) -> bool {
    let samples: Vec<_> = (0..1000).map(|at| quantity(f64::from(at))).collect();
    Trend::of(&samples, TOLERANCE).expect("there are enough samples").grows
}

/// Returns a deterministic pseudorandom number between 0 and 1.
fn noise(at: f64) -> f64 {
    (at * 12.9898).sin().abs()
}

#[test]
fn what_grows_with_every_call_is_found() {
    assert!(grows(|at| 500.0 + at));
    assert!(grows(|at| 500.0 + at * 0.4 + 300.0 * noise(at)));
    assert!(grows(|at| 500.0 + at.powi(2) / 5000.0));
}

#[test]
fn what_grows_in_steps_is_found() {
    assert!(grows(|at| 500.0 + 60.0 * (at / 100.0).floor()));
}

#[test]
fn what_grows_below_a_sawtooth_is_found() {
    assert!(grows(|at| 500.0 + at % 50.0 * 10.0 + at * 0.3));
}

#[test]
fn what_stays_does_not_grow() {
    assert!(!grows(|_| 500.0));
    assert!(!grows(|at| 500.0 + 400.0 * noise(at)));
    assert!(!grows(|_| 0.0));
}

#[test]
fn a_sawtooth_does_not_grow() {
    for teeth in [20.0, 77.0, 150.0] {
        assert!(!grows(|at| 500.0 + at % teeth * 5.0), "{teeth}");
    }
}

#[test]
fn what_grows_at_first_and_then_stays_does_not_grow() {
    assert!(!grows(|at| 500.0 + at.min(300.0) * 5.0));
    assert!(!grows(|at| 500.0 + 1000.0 * (1.0 - (-at / 80.0).exp())));
}

#[test]
fn what_shrinks_does_not_grow() {
    assert!(!grows(|at| 2000.0 - at));
}

#[test]
fn a_peak_at_the_end_is_no_growth_and_is_reported() {
    let mut samples = vec![500.0; 1000];
    samples[990] = 9000.0;

    let trend = Trend::of(&samples, TOLERANCE).expect("there are enough samples");

    assert!(!trend.grows && trend.peak > 8999.0, "{trend:?}");
}

#[test]
fn small_quantities_may_grow_by_the_amount_and_no_more() {
    assert!(!grows(|at| if at < 600.0 { 10.0 } else { 29.0 }));
    assert!(grows(|at| if at < 600.0 { 10.0 } else { 31.0 }));
}

#[test]
fn too_few_samples_say_nothing() {
    assert_eq!(Trend::of(&[1.0; 14], TOLERANCE), None);
    assert!(Trend::of(&[1.0; 15], TOLERANCE).is_some());
}
