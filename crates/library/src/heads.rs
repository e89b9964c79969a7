//! Check of a diffusion module's attention: it has a head. The engine reads the width of the module
//! and that of a head from the tensors; no head at all ends the process by a division by zero.

use super::container::TensorInfo;
use super::family::Family;
use super::header::Header;
use super::problem::Problem;
use atelier_language::tr;

/// Layers whose outputs are as wide as the module (`detect_from_weights` in the engine's
/// `z_image.hpp`, `flux.hpp`, `ernie_image.hpp`, `lens.hpp`).
const INPUTS: [&str; 7] = [
    "x_embedder.weight",
    "x_embedder.proj.weight",
    "pos_embed.proj.weight",
    "cap_embedder.1.weight",
    "img_in.weight",
    "txt_in.weight",
    "context_embedder.weight",
];
/// Norms that are as wide as a head.
const NORMS: [&str; 8] = ["q_norm.", "k_norm.", "norm_q.", "norm_k.", "query_norm.", "key_norm.", "norm_added_q.", "norm_added_k."];

/// Layers of a UNet that tell its width (`UNetConfig` in the engine's `unet.hpp`).
const UNET_INPUTS: [&str; 2] = ["input_blocks.0.0.weight", "time_embed.0.weight"];
/// Width of a head in the UNets of SD2, SDXL and SVD; that of SD1 has eight heads of any width.
const UNET_HEAD: u64 = 64;
const SD1_HEADS: u64 = 8;

/// Checks the file called `name`, which holds the diffusion module of a family.
pub(crate) fn check(name: &str, header: &Header, family: Family) -> Result<(), Problem> {
    let narrowest = |ends: &[&str], width: fn(&TensorInfo) -> u64| {
        let tensors = header.tensors.iter().filter(|it| ends.iter().any(|end| it.name.ends_with(end)));
        tensors.map(width).min()
    };
    let (width, head) = if family.is_unet() {
        let head = if family == Family::Sd1 { SD1_HEADS } else { UNET_HEAD };
        (narrowest(&UNET_INPUTS, unet_width), Some(head))
    } else {
        let is_norm = |it: &&TensorInfo| it.shape.len() == 1 && NORMS.iter().any(|part| it.name.contains(part));
        let head = header.tensors.iter().filter(is_norm).filter_map(|it| it.shape.first()).max().copied();
        (narrowest(&INPUTS, outputs), head)
    };
    if let (Some(width), Some(head)) = (width, head)
        && head > width
    {
        return Err(Problem::new(tr!("library-is-damaged-its-width", name, width, head), tr!("library-download-the-file-again-or-choose")));
    }
    Ok(())
}

/// Outputs of a layer: of a matrix its rows, which the engine takes for one where it has none; of a
/// convolution the first dimension.
fn outputs(tensor: &TensorInfo) -> u64 {
    match tensor.shape.as_slice() {
        [outputs, _, _, _, ..] | [.., outputs, _] => *outputs,
        [_] | [] => 1,
    }
}

/// Width of a UNet by its first convolution, or by the inputs of its time embedding; any other
/// shape tells nothing.
fn unet_width(tensor: &TensorInfo) -> u64 {
    match tensor.shape.as_slice() {
        [width, _, _, _] | [_, width] => *width,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::tests::header;
    use super::*;

    #[test]
    fn heads_are_no_wider_than_the_module() {
        let z_image = |head| {
            let header = header(&[("x_embedder.weight", &[256, 64]), ("layers.0.attention.q_norm.weight", &[head])]);
            check("a.gguf", &header, Family::ZImage)
        };
        assert_eq!((z_image(128), z_image(256)), (Ok(()), Ok(())));
        let sentence = z_image(257).unwrap_err().advice.sentence;
        assert_eq!(sentence, "a.gguf is damaged: its width is 256, and its attention heads are 257.");
        let flux = |input: &[u64]| {
            check("a", &header(&[("txt_in.weight", input), ("double_blocks.0.txt_attn.norm.key_norm.scale", &[128])]), Family::Flux)
        };
        assert_eq!(flux(&[3072, 4096]), Ok(()));
        assert!(flux(&[64, 4096]).is_err() && flux(&[4096]).is_err());
    }

    #[test]
    fn a_unet_has_room_for_a_head() {
        let unet = |width, family| {
            let header = header(&[
                ("model.diffusion_model.input_blocks.0.0.weight", &[width, 4, 3, 3]),
                ("model.diffusion_model.time_embed.0.weight", &[4 * width, width]),
            ]);
            check("a", &header, family)
        };
        for (width, family, is_good) in [
            (320, Family::Sd1, true),
            (8, Family::Sd1, true),
            (4, Family::Sd1, false),
            (320, Family::Sdxl, true),
            (64, Family::Sd2, true),
            (63, Family::Sdxl, false),
        ] {
            assert_eq!(unet(width, family).is_ok(), is_good, "{width} {family:?}");
        }
    }
}
