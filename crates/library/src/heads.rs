//! Check of a diffusion module's attention. The engine divides the module's width by that of the norms of its heads; no head at all ends the
//! process by a division by zero.

use super::container::TensorInfo;
use super::header::Header;
use super::problem::Problem;

/// Layers whose outputs are as wide as the module (`detect_from_weights` in the engine's `z_image.hpp`, `flux.hpp`, `ernie_image.hpp`,
/// `lens.hpp`).
const INPUTS: [&str; 6] = [
    "x_embedder.weight",
    "x_embedder.proj.weight",
    "cap_embedder.1.weight",
    "img_in.weight",
    "txt_in.weight",
    "context_embedder.weight",
];
/// Norms that are as wide as a head.
const NORMS: [&str; 8] = ["q_norm.", "k_norm.", "norm_q.", "norm_k.", "query_norm.", "key_norm.", "norm_added_q.", "norm_added_k."];

/// Checks the file called `name`, which holds a diffusion module.
pub(crate) fn check(name: &str, header: &Header) -> Result<(), Problem> {
    let is_input = |it: &&TensorInfo| INPUTS.iter().any(|end| it.name.ends_with(end));
    let is_norm = |it: &&TensorInfo| it.shape.len() == 1 && NORMS.iter().any(|part| it.name.contains(part));
    let width = header.tensors.iter().filter(is_input).filter_map(|it| it.shape.first()).min();
    let head = header.tensors.iter().filter(is_norm).filter_map(|it| it.shape.first()).max();
    if let (Some(width), Some(head)) = (width, head)
        && head > width
    {
        return Err(Problem::new(
            format!("{name} is damaged: it is {width} wide, and the heads of its attention are {head}."),
            "Download it again, or choose another file.",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::kind::tests::header;
    use super::*;

    #[test]
    fn heads_are_no_wider_than_the_module() {
        let z_image = |head| header(&[("x_embedder.weight", &[256, 64]), ("layers.0.attention.q_norm.weight", &[head])]);
        assert_eq!(check("a", &z_image(128)), Ok(()));
        assert_eq!(check("a", &z_image(256)), Ok(()));
        let sentence = check("a.gguf", &z_image(257)).unwrap_err().advice.sentence;
        assert_eq!(sentence, "a.gguf is damaged: it is 256 wide, and the heads of its attention are 257.");
        let flux = |width| header(&[("txt_in.weight", &[width, 4096]), ("double_blocks.0.txt_attn.norm.key_norm.scale", &[128])]);
        assert_eq!((check("a", &flux(3072)), check("a", &flux(64)).is_err()), (Ok(()), true));
    }
}
