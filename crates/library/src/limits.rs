//! Limits of a header: tensors for whose names, shapes and types the engine has no answer but a
//! crash.
//!
//! The engine believes numbers in names and shapes when it builds a module: `layers.2000000000.x`
//! is two thousand million layers.

use super::container::{Contents, Flaw, Format, TensorInfo, shown};
use atelier_language::tr;

/// Numbers in names: of layers, blocks and experts.
const MAX_NUMBER: u64 = 1000;
/// Sizes of a dimension; the engine counts with 32 bits in places.
const MAX_SIZE: u64 = i32::MAX as u64;
/// Sides of a kernel of a convolution, whose area the engine counts with 32 bits.
const MAX_KERNEL_SIDE: u64 = 4096;

pub(crate) fn check(contents: Contents, format: Format) -> Result<Contents, Flaw> {
    contents.tensors.iter().try_for_each(|tensor| check_tensor(tensor, format))?;
    Ok(contents)
}

fn check_tensor(tensor: &TensorInfo, format: Format) -> Result<(), Flaw> {
    let TensorInfo { name, dtype, shape, .. } = tensor;
    let damaged = |what: &str| Err(Flaw::Damaged(format!("{} {what}", shown(name))));
    if name.contains('\0') {
        return damaged(tr!("library-has-a-name-that"));
    }
    if name.split('.').any(|part| leading_number(part) > MAX_NUMBER) {
        return damaged(tr!("library-has-an-impossible-number"));
    }
    let is_weight = name.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "weight" | "bias"));
    // A list of no values is a mark that says something by its name, such as `v_pred`.
    if shape.contains(&0) && (shape.len() > 1 || is_weight) {
        return damaged(tr!("library-has-no-values"));
    }
    let is_too_large = shape.iter().any(|size| *size > MAX_SIZE);
    // Tables of positions may have four dimensions too, and as many rows as there are positions.
    let is_kernel = is_weight && shape.len() >= 4;
    if is_too_large || (is_kernel && shape.iter().rev().take(2).any(|side| *side > MAX_KERNEL_SIDE)) {
        return damaged(tr!("library-has-an-impossible-shape-2"));
    }
    // The engine turns F64 into F32 as it reads safetensors, and not as it reads GGUF.
    if is_weight && (!dtype.can_be_weight() || (format == Format::Gguf && dtype.name() == "F64")) {
        return Err(Flaw::Unsupported(tr!("library-has-the-number-type", shown = shown(name), name = dtype.name())));
    }
    Ok(())
}

/// The number that a part of a name begins with, as C's `atoi` reads it; 0 where there is none.
fn leading_number(part: &str) -> u64 {
    let part = part.trim_start().trim_start_matches(['+', '-']);
    let digits = part.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::super::dtype::Dtype;
    use super::*;

    /// GGUF's numbers of types.
    const F32: u32 = 0;
    const F16: u32 = 1;

    fn tensor(name: &str, dtype: Dtype, shape: &[u64]) -> TensorInfo {
        TensorInfo { name: name.into(), dtype, shape: shape.into(), offset: 0, bytes: 0 }
    }

    fn is_refused(name: &str, dtype: u32, shape: &[u64]) -> bool {
        check_tensor(&tensor(name, Dtype::from_gguf(dtype).unwrap(), shape), Format::Gguf).is_err()
    }

    #[test]
    fn numbers_that_are_read_as_layers_are_bounded() {
        for name in
            ["layers.2000000000.x", "double_blocks.5000.img_mod", "layers.1001", "layers. +99999x.weight", "body.99999999999999999999.a"]
        {
            assert!(is_refused(name, F16, &[2]), "{name}");
        }
        for name in ["layers.1000.x", "model.diffusion_model.input_blocks.11.0.in_layers.2.weight", "lora_unet_2048_x", "v2.5", "x.y"] {
            assert!(!is_refused(name, F16, &[2]), "{name}");
        }
    }

    #[test]
    fn weights_have_values_and_marks_need_none() {
        assert!(is_refused("a.weight", F16, &[0]));
        assert!(is_refused("a", F16, &[0, 4]));
        assert!(is_refused("a", 8, &[4, 0]));
        assert!(!is_refused("v_pred", F32, &[0]));
        assert!(!is_refused("scaled_fp8", F16, &[0]));
    }

    #[test]
    fn shapes_that_overflow_the_engines_numbers_are_refused() {
        assert!(is_refused("a.weight", F16, &[1 << 31, 1]));
        assert!(is_refused("x_embedder.proj.weight", F16, &[1, 1, 1, 65_536]));
        assert!(!is_refused("x_embedder.proj.weight", F16, &[1536, 16, 2, 2]));
        assert!(!is_refused("rotary_emb.cos_cached", F16, &[1, 1, 32_768, 128]));
        assert!(!is_refused("token_embd.weight", F16, &[262_208, 3840]));
    }

    #[test]
    fn weights_that_cannot_become_floats_are_refused() {
        // I8 to I64, F64, Q8_1, Q8_K.
        for dtype in [24, 25, 26, 27, 28, 9, 15] {
            assert!(is_refused("layers.0.attention_norm1.weight", dtype, &[256]), "{dtype}");
            assert!(!is_refused("text_model.embeddings.position_ids", dtype, &[1, 256]), "{dtype}");
        }
        // F32, F16, BF16, Q4_0, Q6_K, IQ4_XS, TQ2_0, MXFP4.
        for dtype in [F32, F16, 30, 2, 14, 23, 35, 39] {
            assert!(!is_refused("layers.0.attention_norm1.weight", dtype, &[256]), "{dtype}");
        }
        let of_safetensors = |dtype| check_tensor(&tensor("a.weight", Dtype::from_safetensors(dtype).unwrap(), &[4]), Format::Safetensors);
        assert!(of_safetensors("F64").is_ok() && of_safetensors("F8_E4M3").is_ok() && of_safetensors("U8").is_ok());
        assert!(of_safetensors("I64").is_err() && of_safetensors("I32").is_err());
    }
}
