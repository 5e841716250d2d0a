//! RSA public keys that are known to be weak: others than their owner can sign with them.

use std::sync::LazyLock;

const MIN_MODULUS_BITS: usize = 2048;
/// What the signature library verifies with at most.
const MAX_MODULUS_BITS: usize = 8192;
/// Exponents of real keys are small; more than this the signature library refuses.
const MAX_EXPONENT_BITS: usize = 33;

/// A modulus of two random primes has no factor below; one of a broken generator may.
const MAX_SMALL_FACTOR: u32 = 1 << 10;

/// The largest prime that the moduli of CVE-2017-15361 give away at every key size.
const MAX_ROCA_PRIME: u32 = 167;
/// What generates, modulo each of those primes, all residues that such a modulus can have.
const ROCA_GENERATOR: u32 = 65537;

/// Why an RSA public key is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Weakness {
    #[error("its modulus has fewer than {MIN_MODULUS_BITS} bits")]
    SmallModulus,
    #[error("its modulus has more than {MAX_MODULUS_BITS} bits")]
    LargeModulus,
    #[error("its modulus has a small factor")]
    SmallFactor,
    #[error("its exponent is no odd number from 3 to 2^{MAX_EXPONENT_BITS}")]
    Exponent,
    #[error("its primes can be found (ROCA, CVE-2017-15361): the device that made it must not be used")]
    Roca,
}

/// Refuses a key, of big-endian numbers, with a known weakness.
pub(super) fn check(modulus: &[u8], exponent: &[u8]) -> Result<(), Weakness> {
    let (modulus, exponent) = (without_leading_zeros(modulus), without_leading_zeros(exponent));
    match bits(modulus) {
        ..MIN_MODULUS_BITS => return Err(Weakness::SmallModulus),
        bits if bits > MAX_MODULUS_BITS => return Err(Weakness::LargeModulus),
        _ => {}
    }
    if !is_odd(exponent) || exponent == [1] || bits(exponent) > MAX_EXPONENT_BITS {
        return Err(Weakness::Exponent);
    }
    if !is_odd(modulus) {
        return Err(Weakness::SmallFactor);
    }
    if has_roca_fingerprint(modulus) {
        return Err(Weakness::Roca);
    }
    if SMALL_PRIMES.iter().any(|prime| remainder(modulus, *prime) == 0) {
        return Err(Weakness::SmallFactor);
    }
    Ok(())
}

/// Whether the modulus is, modulo each small prime, a power of the generator: so is each one that the
/// broken library made, and of others one in a billion (Nemec et al., CCS 2017, section 2.2).
fn has_roca_fingerprint(modulus: &[u8]) -> bool {
    ROCA_RESIDUES.iter().all(|(prime, residues)| residues[remainder(modulus, *prime) as usize])
}

/// Odd primes below [`MAX_SMALL_FACTOR`].
static SMALL_PRIMES: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let is_prime =
        |number: &u32| (3..*number).take_while(|d| d * d <= *number).all(|d| !number.is_multiple_of(d));
    (3..MAX_SMALL_FACTOR).step_by(2).filter(is_prime).collect()
});

/// Primes, and which residues modulo each are a power of the generator.
static ROCA_RESIDUES: LazyLock<Vec<(u32, Vec<bool>)>> = LazyLock::new(|| {
    let primes = SMALL_PRIMES.iter().copied().take_while(|prime| *prime <= MAX_ROCA_PRIME);
    let with_residues = primes.map(|prime| {
        let mut residues = vec![false; prime as usize];
        let mut power = 1;
        while !residues[power as usize] {
            residues[power as usize] = true;
            power = power * (ROCA_GENERATOR % prime) % prime;
        }
        (prime, residues)
    });
    with_residues.collect()
});

/// The remainder of a big-endian number by a small one.
fn remainder(number: &[u8], divisor: u32) -> u32 {
    const LIMB: usize = size_of::<u32>();

    let (head, limbs) = number.split_at(number.len() % LIMB);
    let head = head.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let limbs = limbs
        .chunks_exact(LIMB)
        .map(|limb| u64::from(u32::from_be_bytes(limb.try_into().expect("its size"))));
    let divisor = u64::from(divisor);
    let rest = limbs.fold(head % divisor, |rest, limb| (rest << 32 | limb) % divisor);
    u32::try_from(rest).expect("it is smaller than the divisor")
}

fn is_odd(number: &[u8]) -> bool {
    number.last().is_some_and(|byte| byte % 2 == 1)
}

/// Of a number without leading zeros.
fn bits(number: &[u8]) -> usize {
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}

/// Some libraries write a zero in front, against RFC 7518, section 6.3.1.1.
fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::KeyPair as _;

    use super::*;

    const USUAL_EXPONENT: &[u8] = &[1, 0, 1];

    /// A number that is congruent to `residue` modulo each prime of the fingerprint; of `bits` bits.
    fn fingerprinted(residue: u64, bits: usize) -> Vec<u8> {
        let mut little_endian = vec![2_u8];
        for prime in SMALL_PRIMES.iter().take_while(|prime| **prime <= MAX_ROCA_PRIME) {
            multiply(&mut little_endian, *prime);
        }
        while little_endian.len() * 8 < bits - 32 {
            multiply(&mut little_endian, 0x9e37_79b9);
        }
        while self::bits(&reversed(&little_endian)) < bits {
            multiply(&mut little_endian, 2);
        }
        add(&mut little_endian, residue);
        reversed(&little_endian)
    }

    fn multiply(little_endian: &mut Vec<u8>, factor: u32) {
        let mut carry = 0;
        for byte in little_endian.iter_mut() {
            let product = u64::from(*byte) * u64::from(factor) + carry;
            *byte = product.to_le_bytes()[0];
            carry = product >> 8;
        }
        while carry > 0 {
            little_endian.push(carry.to_le_bytes()[0]);
            carry >>= 8;
        }
    }

    fn add(little_endian: &mut [u8], mut carry: u64) {
        for byte in little_endian.iter_mut() {
            let sum = u64::from(*byte) + (carry & 0xff);
            *byte = sum.to_le_bytes()[0];
            carry = (carry >> 8) + (sum >> 8);
        }
    }

    fn reversed(bytes: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<_> = bytes.iter().rev().copied().collect();
        bytes.drain(..bytes.iter().take_while(|byte| **byte == 0).count());
        bytes
    }

    fn generated(size: KeySize) -> (Vec<u8>, Vec<u8>) {
        let pair = KeyPair::generate(size).expect("random numbers");
        let public = pair.public_key();
        (
            public.modulus().big_endian_without_leading_zero().to_vec(),
            public.exponent().big_endian_without_leading_zero().to_vec(),
        )
    }

    #[test]
    fn keys_of_a_good_generator_pass() {
        for _ in 0..4 {
            let (modulus, exponent) = generated(KeySize::Rsa2048);
            assert_eq!(check(&modulus, &exponent), Ok(()), "{modulus:?}");
            assert_eq!(check(&[&[0], &modulus[..]].concat(), &exponent), Ok(()), "a zero in front");
            assert_eq!(check(&modulus, &[3]), Ok(()));
        }
    }

    #[test]
    fn keys_with_the_fingerprint_of_roca_are_refused() {
        let generator = u64::from(ROCA_GENERATOR);
        for bits in [2048, 3072, 4096] {
            for residue in [1, generator, generator * generator, generator * generator * generator] {
                assert_eq!(
                    check(&fingerprinted(residue, bits), USUAL_EXPONENT),
                    Err(Weakness::Roca),
                    "{residue}"
                );
            }
        }
        // Beside it: 3 is no power of the generator modulo 11.
        assert_ne!(check(&fingerprinted(3, 2048), USUAL_EXPONENT), Err(Weakness::Roca));
    }

    #[test]
    fn the_fingerprint_is_no_accident() {
        // Each prime lets a random number pass by the share of residues that are powers.
        let by_chance: f64 = ROCA_RESIDUES
            .iter()
            .map(|(prime, residues)| {
                let powers = residues.iter().filter(|is_power| **is_power).count();
                f64::from(u32::try_from(powers).expect("few")) / f64::from(*prime)
            })
            .product();

        assert!(by_chance < 1e-8, "{by_chance}");
    }

    #[test]
    fn moduli_and_exponents_out_of_bounds_are_refused() {
        let (modulus, _) = generated(KeySize::Rsa2048);
        let halved = &modulus[..128];
        let mut even = modulus.clone();
        *even.last_mut().expect("it is not empty") &= 0xfe;
        let mut tripled: Vec<_> = modulus.iter().rev().copied().collect();
        multiply(&mut tripled, 3);
        let huge = [vec![0xff; 8192 / 8 + 1], vec![1]].concat();

        for (modulus, exponent, weakness) in [
            (&[][..], USUAL_EXPONENT, Weakness::SmallModulus),
            (&[0; 256], USUAL_EXPONENT, Weakness::SmallModulus),
            (halved, USUAL_EXPONENT, Weakness::SmallModulus),
            (&huge, USUAL_EXPONENT, Weakness::LargeModulus),
            (&even, USUAL_EXPONENT, Weakness::SmallFactor),
            (&reversed(&tripled), USUAL_EXPONENT, Weakness::SmallFactor),
            (&modulus, &[], Weakness::Exponent),
            (&modulus, &[0], Weakness::Exponent),
            (&modulus, &[1], Weakness::Exponent),
            (&modulus, &[0, 0, 1], Weakness::Exponent),
            (&modulus, &[2], Weakness::Exponent),
            (&modulus, &[1, 0, 0], Weakness::Exponent),
            (&modulus, &[2, 0, 0, 0, 1], Weakness::Exponent),
        ] {
            assert_eq!(check(modulus, exponent), Err(weakness), "{exponent:?}");
        }
    }
}
