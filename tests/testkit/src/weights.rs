//! Random numbers for weights: fast enough for a gigabyte, and the same on every machine.

/// Number of values in a table of normal numbers; a power of two.
pub(crate) const TABLE: usize = 4096;

/// Sebastiano Vigna's splitmix64: two multiplications a number, any seed is a good one.
#[derive(Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Seed of a tensor: a function of its name and the model's seed.
pub(crate) fn seed_of(seed: u64, name: &str) -> u64 {
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Table of normal numbers with mean 0 and variance 1.
///
/// Made from sums of uniform numbers: no logarithm and no sine, whose last bits differ between
/// systems.
pub(crate) struct Normals([f32; TABLE]);

impl Normals {
    pub(crate) fn new() -> Self {
        let mut random = SplitMix::new(0);
        let uniform = |random: &mut SplitMix| (random.next() >> 40) as f32 / (1 << 24) as f32;
        let mut values = [0.0; TABLE];
        for value in &mut values {
            *value = (0..12).map(|_| uniform(&mut random)).sum::<f32>() - 6.0;
        }
        let mean = values.iter().sum::<f32>() / TABLE as f32;
        let variance = values.iter().map(|it| (it - mean) * (it - mean)).sum::<f32>() / TABLE as f32;
        let scale = 1.0 / variance.sqrt();
        for value in &mut values {
            *value = (*value - mean) * scale;
        }
        Self(values)
    }

    pub(crate) const fn values(&self) -> &[f32; TABLE] {
        &self.0
    }
}

/// Makes `count` values drawn from a table, each written as `N` bytes.
pub(crate) fn draw<const N: usize>(count: usize, seed: u64, table: &[[u8; N]; TABLE]) -> Vec<u8> {
    let mut random = SplitMix::new(seed);
    let mut out = vec![0; count * N];
    // Twelve bits choose one of the table's 4096 values; a number has room for five choices.
    for group in out.chunks_mut(5 * N) {
        let mut bits = random.next();
        for place in group.chunks_exact_mut(N) {
            place.copy_from_slice(&table[bits as usize % TABLE]);
            bits >>= 12;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_numbers_have_mean_zero_and_variance_one() {
        let normals = Normals::new();
        let mean: f32 = normals.values().iter().sum::<f32>() / TABLE as f32;
        let variance: f32 = normals.values().iter().map(|it| it * it).sum::<f32>() / TABLE as f32;
        assert!(mean.abs() < 1e-3, "{mean}");
        assert!((variance - 1.0).abs() < 1e-3, "{variance}");
        assert!(normals.values().iter().all(|it| it.abs() < 6.0));
    }

    #[test]
    fn another_name_or_seed_gives_other_weights() {
        assert_ne!(seed_of(1, "a"), seed_of(1, "b"));
        assert_ne!(seed_of(1, "a"), seed_of(2, "a"));
    }
}
