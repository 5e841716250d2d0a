use super::*;

/// Vectors of length 1, identical in every run.
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

fn products(rows: &Rows, probe: &Probe) -> Vec<f32> {
    let mut products: Vec<_> = (0..).take(rows.len()).map(|row| (row, f32::NAN)).collect();
    rows.multiply(probe, &mut products);
    products.into_iter().map(|(_, product)| product).collect()
}

/// Columns of some rows.
fn part(rows: &Rows, numbers: &[u32]) -> Columns<Bytes> {
    let mut sketches = Vec::new();
    let mut factors = Vec::new();
    let mut of_numbers = Vec::new();
    rows.write_sketches(numbers, &mut sketches).expect("they are there");
    rows.write_factors(numbers, &mut factors).expect("they are there");
    rows.write_numbers(numbers, &mut of_numbers).expect("they are there");
    Columns { sketches: sketches.into(), factors: factors.into(), numbers: of_numbers.into() }
}

fn all(rows: &Rows) -> Vec<u32> {
    (0..).take(rows.len()).collect()
}

#[test]
fn estimates_are_near_and_products_exact() {
    // More than one block, the last of which is not full.
    let vectors = vectors(BLOCK + 10, 384);
    let rows = rows(&vectors);
    let probe = Probe::new(vectors[5].clone());

    let estimates = rows.estimates(&probe);
    let products = products(&rows, &probe);

    assert_eq!((estimates.len(), rows.len()), (vectors.len(), vectors.len()));
    let mut errors = Vec::new();
    for (row, vector) in vectors.iter().enumerate() {
        let exact = dot(vector, &vectors[5]);
        assert!((products[row] - exact).abs() < 1e-4, "{row}: {} instead of {exact}", products[row]);
        errors.push((estimates[row] - exact).abs());
    }
    errors.sort_by(f32::total_cmp);
    assert!(errors[errors.len() / 2] < 0.03 && errors[errors.len() - 1] < 0.2, "{errors:?}");
}

#[test]
fn estimates_hold_for_vectors_whose_numbers_are_all_positive_or_mostly_zero() {
    let mut positive = vectors(200, 384);
    for number in positive.iter_mut().flatten() {
        *number = number.abs();
    }
    let mut sparse = vectors(200, 384);
    for vector in &mut sparse {
        vector[4..].fill(0.0);
    }
    for mut vectors in [positive, sparse] {
        for vector in &mut vectors {
            let length = dot(vector, vector).sqrt();
            for number in vector.iter_mut() {
                *number /= length;
            }
        }
        let rows = rows(&vectors);
        let probe = Probe::new(vectors[5].clone());

        for (estimate, vector) in rows.estimates(&probe).into_iter().zip(&vectors) {
            let exact = dot(vector, &vectors[5]);
            assert!((estimate - exact).abs() < 0.2, "{estimate} instead of {exact}");
        }
    }
}

#[test]
fn a_row_is_read_back_within_a_step() {
    let vectors = vectors(BLOCK + 1, 6);
    let rows = rows(&vectors);

    for (row, vector) in (0..).zip(&vectors) {
        let read = rows.vector(row).expect("it is there");
        let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        assert!(
            read.len() == 6
                && read.iter().zip(vector).all(|(one, other)| (one - other).abs() <= largest / 65_000.0)
        );
    }
    assert_eq!(rows.vector(u32::try_from(vectors.len()).expect("it is small")), None);
}

#[test]
fn a_rotation_keeps_products() {
    for width in [1, 2, 6, 384, 1000] {
        let rotation = Rotation::new(width);
        let vectors = vectors(2, width);
        let mut rotated = vectors.clone();
        for vector in &mut rotated {
            rotation.apply(vector);
        }

        let before = dot(&vectors[0], &vectors[1]);
        let after = dot(&rotated[0], &rotated[1]);
        assert!((before - after).abs() < 1e-5, "{width}");
    }
    let mut first = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    Rotation::new(6).apply(&mut first);
    // Stored files contain vectors that were rotated in this way.
    assert_eq!(first.map(f32::to_bits), [-0.25_f32, 0.25, 0.0, 0.75, 0.5, 0.25].map(f32::to_bits));
}

#[test]
fn processors_with_instructions_for_it_and_without_come_to_the_same() {
    for width in [1, 6, 64, 100, 384] {
        let vectors = vectors(40, width);
        let rows = rows(&vectors);
        let probe = Probe::new(vectors[7].clone());
        let mut rotated = vectors[7].clone();
        rows.rotation.apply(&mut rotated);

        let estimates = rows.estimates(&probe);

        for (estimate, vector) in estimates.into_iter().zip(&vectors) {
            let mut signs = vector.clone();
            rows.rotation.apply(&mut signs);
            let factor = dot(&signs, &signs) / signs.iter().map(|number| number.abs()).sum::<f32>();
            for number in &mut signs {
                *number = if *number > 0.0 { 1.0 } else { -1.0 };
            }
            let plainly = factor * dot(&signs, &rotated);
            assert!((estimate - plainly).abs() < 0.1, "{width}: {estimate} instead of {plainly}");
        }
    }
}

#[test]
fn what_has_another_size_is_not_taken_up_and_has_no_product() {
    let mut rows = rows(&vectors(3, 16));
    let other = Probe::new(vec![1.0; 8]);

    assert!(!rows.push([0.5; 8].into_iter()));
    assert_eq!(rows.len(), 3);
    assert!(rows.estimates(&other).is_empty());
    let mut missing = [(3, 1.0), (u32::MAX, 1.0)];
    rows.multiply(&Probe::new(vec![1.0; 16]), &mut missing);
    assert!(missing.iter().all(|(_, product)| product.abs() < f32::EPSILON));
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

    assert_eq!(rows.estimates(&probe).len(), 7);
    let products = products(&rows, &probe);
    assert!(products.iter().all(|product| product.is_finite()), "{products:?}");
    assert!((products[6] - 1.0).abs() < 1e-4);
    let odd = Probe::new(vec![f32::NAN, f32::INFINITY, f32::MAX, 0.0]);
    assert_eq!(rows.estimates(&odd).len(), 7);
}

#[test]
fn a_number_takes_two_bytes_and_a_bit_and_few_rows_take_little() {
    let row = 384 * 2 + 4 + 384 / 8 + 8;
    for (count, room) in
        [(BLOCK, BLOCK), (2 * BLOCK, 2 * BLOCK), (1, LANES), (100, 128), (BLOCK + 3, BLOCK + LANES)]
    {
        assert_eq!(rows(&vectors(count, 384)).bytes(), room * row, "{count}");
    }
}

#[test]
fn rows_that_were_written_are_read_as_they_were_and_more_can_follow() {
    let vectors = vectors(2 * BLOCK + 10, 24);
    let rows = rows(&vectors);
    let probe = Probe::new(vectors[5].clone());
    let bits = |products: Vec<f32>| products.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let expected = bits(products(&rows, &probe));
    let estimates = bits(rows.estimates(&probe));

    let mut read = Rows::of_part(24, part(&rows, &all(&rows))).expect("they were written so");

    assert_eq!((read.len(), read.width(), read.bytes()), (rows.len(), 24, 0));
    assert_eq!(bits(read.estimates(&probe)), estimates);
    assert_eq!(bits(products(&read, &probe)), expected);
    let few = Rows::of_part(24, part(&rows, &[2_000, 7])).expect("they were written so");
    assert_eq!(bits(products(&few, &probe)), [2_000, 7].map(|row| expected[row]));
    assert_eq!(bits(few.estimates(&probe)), [2_000, 7].map(|row| estimates[row]));
    assert!(rows.write_numbers(&[9_999], &mut Vec::new()).is_err());

    for vector in vectors.iter().take(BLOCK + 3) {
        assert!(read.push(vector.iter().copied()));
    }
    let recent: Vec<u32> = (0..).take(read.len()).skip(rows.len()).collect();
    assert_eq!(read.recent(), rows.len()..rows.len() + BLOCK + 3);
    for is_in_parts in [false, true] {
        assert_eq!(bits(products(&read, &probe))[rows.len()..], expected[..BLOCK + 3], "{is_in_parts}");
        assert_eq!(bits(read.estimates(&probe))[rows.len()..], estimates[..BLOCK + 3], "{is_in_parts}");
        assert!(!read.replace_recent(part(&read, &recent[1..])), "one is missing");
        if !is_in_parts {
            assert!(read.replace_recent(part(&read, &recent)));
            assert!(read.recent().is_empty());
        }
    }
}

#[test]
fn bytes_that_are_no_rows_are_refused() {
    let whole = part(&rows(&vectors(3, 4)), &[0, 1, 2]);
    assert_eq!(Rows::of_part(4, whole.clone()).map(|rows| rows.len()), Some(3));

    for width in [0, 2, 3, 5, usize::MAX / 2, usize::MAX] {
        assert!(Rows::of_part(width, whole.clone()).is_none(), "{width}");
    }
    let mut none = Rows::of_part(4, Columns::default()).expect("there are none");
    assert!(none.is_empty() && !none.replace_recent(Columns::default()));
    for cut in [1, 4, 8, 12] {
        for column in 0..3 {
            let mut part = whole.clone();
            let column = [&mut part.sketches, &mut part.factors, &mut part.numbers].into_iter().nth(column);
            let column = column.expect("there are three");
            column.truncate(column.len() - cut);
            assert!(Rows::of_part(4, part).is_none(), "{cut}");
        }
    }
    let odd = |bytes: &Bytes| Bytes::from(vec![0xff; bytes.len()]);
    let part = Columns {
        sketches: odd(&whole.sketches),
        factors: odd(&whole.factors),
        numbers: odd(&whole.numbers),
    };
    let rows = Rows::of_part(4, part).expect("there are three");
    assert_eq!(rows.estimates(&Probe::new(vec![1.0; 4])).len(), 3, "they are no numbers, and harm nobody");
}
