//! Number types of model files: how many values share how many bytes.

/// A number type, in the name that people use for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dtype(&'static Row);

/// Name, GGUF's number, safetensors' name, values in a block, bytes in a block.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Row {
    name: &'static str,
    gguf: Option<u32>,
    safetensors: Option<&'static str>,
    block_values: u64,
    block_bytes: u64,
}

const fn plain(name: &'static str, gguf: Option<u32>, safetensors: Option<&'static str>, bytes: u64) -> Row {
    Row { name, gguf, safetensors, block_values: 1, block_bytes: bytes }
}

const fn blocks(name: &'static str, gguf: u32, block_values: u64, block_bytes: u64) -> Row {
    Row { name, gguf: Some(gguf), safetensors: None, block_values, block_bytes }
}

/// Types that the engine reads; those removed from GGUF (4, 5, 31 to 33, 36 to 38) are left out.
static ROWS: [Row; 37] = [
    plain("F64", Some(28), Some("F64"), 8),
    plain("F32", Some(0), Some("F32"), 4),
    plain("F16", Some(1), Some("F16"), 2),
    plain("BF16", Some(30), Some("BF16"), 2),
    plain("F8_E4M3", None, Some("F8_E4M3"), 1),
    plain("F8_E5M2", None, Some("F8_E5M2"), 1),
    plain("I64", Some(27), Some("I64"), 8),
    plain("I32", Some(26), Some("I32"), 4),
    plain("I16", Some(25), None, 2),
    plain("I8", Some(24), None, 1),
    // The engine passes over tensors of this type.
    plain("U8", None, Some("U8"), 1),
    blocks("Q4_0", 2, 32, 18),
    blocks("Q4_1", 3, 32, 20),
    blocks("Q5_0", 6, 32, 22),
    blocks("Q5_1", 7, 32, 24),
    blocks("Q8_0", 8, 32, 34),
    blocks("Q8_1", 9, 32, 36),
    blocks("Q2_K", 10, 256, 84),
    blocks("Q3_K", 11, 256, 110),
    blocks("Q4_K", 12, 256, 144),
    blocks("Q5_K", 13, 256, 176),
    blocks("Q6_K", 14, 256, 210),
    blocks("Q8_K", 15, 256, 292),
    blocks("IQ2_XXS", 16, 256, 66),
    blocks("IQ2_XS", 17, 256, 74),
    blocks("IQ3_XXS", 18, 256, 98),
    blocks("IQ1_S", 19, 256, 50),
    blocks("IQ4_NL", 20, 32, 18),
    blocks("IQ3_S", 21, 256, 110),
    blocks("IQ2_S", 22, 256, 82),
    blocks("IQ4_XS", 23, 256, 136),
    blocks("IQ1_M", 29, 256, 56),
    blocks("TQ1_0", 34, 256, 54),
    blocks("TQ2_0", 35, 256, 66),
    blocks("MXFP4", 39, 32, 17),
    blocks("NVFP4", 40, 64, 36),
    blocks("Q1_0", 41, 128, 18),
];

impl Dtype {
    /// The type with this number in GGUF files.
    #[must_use]
    pub fn from_gguf(id: u32) -> Option<Self> {
        ROWS.iter().find(|row| row.gguf == Some(id)).map(Self)
    }

    /// The type with this name in safetensors files, where the engine reads it.
    #[must_use]
    pub fn from_safetensors(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.safetensors == Some(name)).map(Self)
    }

    /// The name that people use: `F16`, `Q4_K`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// True if the engine can make floats of it, as it does with weights; F64 only where it comes
    /// from safetensors. Weights of the type U8 are passed over, so nothing is made of them.
    #[must_use]
    pub fn can_be_weight(self) -> bool {
        !matches!(self.0.name, "I8" | "I16" | "I32" | "I64" | "Q8_1" | "Q8_K")
    }

    /// Values that are stored together; the rows of a tensor are a multiple of it.
    #[must_use]
    pub const fn block_values(self) -> u64 {
        self.0.block_values
    }

    /// The bytes that a tensor of this shape (PyTorch's order) takes; `None` where it does not come
    /// out even or is too large.
    #[must_use]
    pub fn bytes_of(self, shape: &[u64]) -> Option<u64> {
        let values = shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
        let row = shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(self.0.block_values) {
            return None;
        }
        (values / self.0.block_values).checked_mul(self.0.block_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_and_no_name_stands_twice() {
        for (at, row) in ROWS.iter().enumerate() {
            for other in &ROWS[at + 1..] {
                assert_ne!(row.name, other.name);
                assert!(row.gguf.is_none() || row.gguf != other.gguf, "{}", row.name);
            }
        }
    }

    #[test]
    fn blocks_are_counted_by_rows() {
        let q4 = Dtype::from_gguf(12).unwrap();
        assert_eq!((q4.name(), q4.bytes_of(&[3, 512])), ("Q4_K", Some(3 * 2 * 144)));
        assert_eq!(q4.bytes_of(&[512, 3]), None);
        assert_eq!(Dtype::from_safetensors("F32").unwrap().bytes_of(&[]), Some(4));
        assert_eq!(Dtype::from_safetensors("F32").unwrap().bytes_of(&[u64::MAX, 2]), None);
        assert_eq!(Dtype::from_safetensors("BOOL"), None);
        assert_eq!(Dtype::from_gguf(4), None);
    }
}
