use super::*;

/// Vectors of length 1, the same in every run.
fn vectors(count: usize, width: usize) -> Vec<Vec<f32>> {
    let mut seed = 7_u32;
    let mut random = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(seed >> 16).expect("16 bits are left")) / 32_768.0 - 1.0
    };
    let mut vector = || {
        let numbers: Vec<f32> = (0..width).map(|_| random()).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.into_iter().map(|number| number / length).collect()
    };
    (0..count).map(|_| vector()).collect()
}

fn rows(vectors: &[Vec<f32>]) -> Rows {
    let mut rows = Rows::new(vectors[0].len());
    for vector in vectors {
        assert!(rows.push(vector.iter().copied()));
    }
    rows
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[test]
fn products_are_rough_for_all_and_near_for_some() {
    // More than one block, and the last not full.
    let vectors = vectors(BLOCK + 10, 384);
    let rows = rows(&vectors);
    let probe = Probe::new(vectors[5].clone());

    let rough = rows.rough(&probe);

    assert_eq!((rough.len(), rows.len()), (vectors.len(), vectors.len()));
    for (row, vector) in vectors.iter().enumerate() {
        let exact = dot(vector, &vectors[5]);
        assert!((rough[row] - exact).abs() < 5e-3, "{row}: {} instead of {exact}", rough[row]);
        assert!((rows.product(row, &probe) - exact).abs() < 1e-4, "{row}");
    }
}

#[test]
fn processors_with_instructions_for_it_and_without_come_to_the_same() {
    for width in [1, 6, 384] {
        let vectors = vectors(40, width);
        let rows = rows(&vectors);
        let probe = Probe::new(vectors[7].clone());
        let (mut sums, mut plainly) = ([0; 40], [0; 40]);

        probe.multiply(&rows.blocks[0].upper, &mut sums);
        probe.multiply_plainly(&rows.blocks[0].upper, &mut plainly);

        assert_eq!(sums, plainly, "{width}");
        assert_ne!(sums, [0; 40]);
    }
}

#[test]
fn what_has_another_size_is_not_taken_up_and_has_no_product() {
    let mut rows = rows(&vectors(3, 16));
    let other = Probe::new(vec![1.0; 8]);

    assert!(!rows.push([0.5; 8].into_iter()));
    assert_eq!(rows.len(), 3);
    assert!(rows.rough(&other).is_empty());
    assert!(rows.product(3, &Probe::new(vec![1.0; 16])).abs() < f32::EPSILON);
    assert!(!Rows::new(0).push(std::iter::empty::<f32>()));
}

#[test]
fn what_is_no_number_harms_nobody() {
    let mut rows = Rows::new(4);
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, 0.0] {
        assert!(rows.push([odd, 1.0, 0.0, 0.0].into_iter()));
    }
    assert!(rows.push([0.0, 1.0, 0.0, 0.0].into_iter()));
    let probe = Probe::new(vec![0.0, 1.0, 0.0, 0.0]);

    let rough = rows.rough(&probe);

    assert!(rough.iter().all(|product| product.is_finite()), "{rough:?}");
    assert!((rough[6] - 1.0).abs() < 1e-2 && (rows.product(6, &probe) - 1.0).abs() < 1e-4);
}

#[test]
fn a_number_takes_two_bytes_and_few_rows_take_little() {
    for (count, room) in [(BLOCK, BLOCK), (2 * BLOCK, 2 * BLOCK), (1, 1), (100, 128), (BLOCK + 3, BLOCK + 4)]
    {
        assert_eq!(rows(&vectors(count, 384)).bytes(), room * (384 * 2 + 4), "{count}");
    }
}

#[test]
fn rows_that_were_written_are_read_as_they_were_and_more_can_follow() {
    let vectors = vectors(2 * BLOCK + 10, 24);
    let rows = rows(&vectors);
    let (mut all, mut some) = (Vec::new(), Vec::new());
    let numbers: Vec<u32> = (0..).take(rows.len()).collect();

    rows.write(&numbers, &mut all);
    rows.write(&[2_000, 7, 9_999], &mut some);

    assert_eq!(all.len(), rows.len() * (2 * 24 + 4));
    let mut read = Rows::read(24, &all).expect("they were written so");
    let probe = Probe::new(vectors[5].clone());
    assert_eq!((read.len(), read.width()), (rows.len(), 24));
    assert_eq!(read.rough(&probe), rows.rough(&probe));
    let product = |rows: &Rows, row| rows.product(row, &probe).to_bits();
    assert!((0..rows.len()).all(|row| product(&read, row) == product(&rows, row)));
    let few = Rows::read(24, &some).expect("they were written so");
    assert_eq!(few.len(), 2, "one is not there");
    assert_eq!([0, 1].map(|row| product(&few, row)), [2_000, 7].map(|row| product(&rows, row)));

    for vector in vectors.iter().take(BLOCK) {
        assert!(read.push(vector.iter().copied()));
    }
    assert_eq!(product(&read, rows.len() + 7), product(&rows, 7));
    assert_eq!(read.rough(&probe).len(), rows.len() + BLOCK);
}

#[test]
fn bytes_that_are_no_rows_are_refused() {
    let mut bytes = Vec::new();
    rows(&vectors(3, 4)).write(&[0, 1, 2], &mut bytes);
    assert_eq!(Rows::read(4, &bytes).map(|rows| rows.len()), Some(3));

    for width in [0, 2, 3, 5, usize::MAX / 2, usize::MAX] {
        assert!(Rows::read(width, &bytes).is_none(), "{width}");
        assert_eq!(Rows::read(width, &[]).map(|rows| rows.len()), Some(0), "{width}");
    }
    for length in (1..bytes.len()).filter(|length| !length.is_multiple_of(12)) {
        assert!(Rows::read(4, &bytes[..length]).is_none(), "{length}");
    }
    for step in [f32::NAN, f32::INFINITY, -1.0] {
        let first_step = 3 * 4 * 2;
        bytes[first_step..first_step + 4].copy_from_slice(&step.to_le_bytes());
        assert!(Rows::read(4, &bytes).is_none(), "{step}");
    }
}
