//! Textual inversions ("embeddings"): a few vectors that CLIP text encoders read in the place of a
//! word of the prompt.
//!
//! Pure: headers in, an answer out.

use super::container::TensorInfo;
use super::family::Family;
use super::header::Header;
use super::problem::Problem;
use atelier_language::tr;

/// Vectors of one embedding; each takes the place of a token of the prompt, of which a text encoder
/// reads 75 at once.
const MAX_VECTORS: u64 = 75;

/// The tensors of an embedding, one for each text encoder of its family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingTensors {
    /// The number of vectors.
    pub count: usize,
    /// Vectors for the only or the first encoder (CLIP-L or OpenCLIP-H).
    pub first: TensorInfo,
    /// Vectors for CLIP-G, where the family has it.
    pub second: Option<TensorInfo>,
}

/// True where a file is a textual inversion, by the names that trainers give to its tensors.
#[must_use]
pub fn is_embedding(header: &Header) -> bool {
    let names: Vec<&str> = header.tensors.iter().map(|it| it.name.as_str()).collect();
    !names.is_empty() && names.len() <= 4 && names.iter().all(|it| matches!(*it, "emb_params" | "clip_l" | "clip_g" | "*" | "t5xxl"))
}

/// Family of the models that an embedding was made for, by its encoders and their widths.
pub(crate) fn embedding_family(header: &Header) -> Option<Family> {
    let width = |name: &str| header.tensors.iter().find(|it| it.name == name).and_then(|it| it.shape.last().copied());
    let single = ["emb_params", "*"].into_iter().find_map(width);
    match (single, width("clip_l"), width("clip_g"), width("t5xxl")) {
        (None, Some(768), Some(1280), None) => Some(Family::Sdxl),
        (Some(768), None, None, None) | (None, Some(768), None, None) => Some(Family::Sd1),
        (Some(1024), None, None, None) => Some(Family::Sd2),
        _ => None,
    }
}

/// The tensors of the embedding called `name` for a model of `family`.
///
/// # Errors
/// If the file is no embedding, was made for models of another family, or is damaged.
pub fn embedding_tensors(name: &str, header: &Header, family: Family) -> Result<EmbeddingTensors, Problem> {
    if !is_embedding(header) {
        return Err(Problem::new(tr!("library-is-not-an-embedding", name), tr!("library-remove-it-from-the")));
    }
    let made_for = embedding_family(header);
    if made_for != Some(family) {
        let sentence = match made_for {
            Some(made_for) => tr!("library-was-made-for-and", name, made_for = made_for.label(), family = family.label()),
            None => tr!("library-was-made-for-a", name),
        };
        return Err(Problem::new(sentence, tr!("library-choose-an-embedding-made", family = family.label())));
    }
    let tensor = |names: &[&str]| header.tensors.iter().find(|it| names.contains(&it.name.as_str()));
    let first = tensor(&["emb_params", "*", "clip_l"]);
    let second = tensor(&["clip_g"]);
    let count = first.and_then(vectors).filter(|count| second.is_none_or(|second| vectors(second) == Some(*count)));
    match (first, count) {
        (Some(first), Some(count)) => Ok(EmbeddingTensors { count, first: first.clone(), second: second.cloned() }),
        _ => Err(Problem::new(
            tr!("library-is-damaged-its-vectors", name, max_vectors = MAX_VECTORS),
            tr!("library-download-the-file-again"),
        )),
    }
}

/// The number of vectors of a tensor of plain numbers; `None` where there are none, or too many.
fn vectors(tensor: &TensorInfo) -> Option<usize> {
    let count = match tensor.shape.as_slice() {
        [_] => 1,
        [count, _] | [1, count, _] => *count,
        _ => return None,
    };
    let is_plain = matches!(tensor.dtype.name(), "F32" | "F16" | "BF16");
    usize::try_from(count).ok().filter(|_| is_plain && (1..=MAX_VECTORS).contains(&count))
}

#[cfg(test)]
mod tests {
    use super::super::kind::tests::header;
    use super::*;

    #[test]
    fn an_embedding_fits_models_with_its_text_encoders() {
        let sd1 = header(&[("emb_params", &[8, 768])]);
        let sdxl = header(&[("clip_g", &[4, 1280]), ("clip_l", &[4, 768])]);
        let sd2 = header(&[("*", &[1024])]);
        assert_eq!([&sd1, &sd2, &sdxl].map(embedding_family), [Some(Family::Sd1), Some(Family::Sd2), Some(Family::Sdxl)]);
        assert_eq!(embedding_tensors("a", &sd1, Family::Sd1).unwrap().count, 8);
        assert_eq!(embedding_tensors("a", &sd2, Family::Sd2).unwrap().count, 1);
        let both = embedding_tensors("a", &sdxl, Family::Sdxl).unwrap();
        assert_eq!((both.count, both.first.name.as_str(), both.second.unwrap().name.as_str()), (4, "clip_l", "clip_g"));
        let refused = |header: &Header, family| embedding_tensors("a.safetensors", header, family).unwrap_err().advice.sentence;
        assert!(refused(&sd1, Family::Sdxl).contains("made for SD1.5, and the model is SDXL"), "{}", refused(&sd1, Family::Sdxl));
        assert!(refused(&sd1, Family::ZImage).contains("the model is"));
        assert!(refused(&header(&[("x.lora_down.weight", &[4, 768])]), Family::Sd1).contains("not an embedding"));
    }

    #[test]
    fn vectors_that_contradict_each_other_are_refused() {
        for tensors in [
            &[("clip_g", &[4, 1280][..]), ("clip_l", &[3, 768])][..],
            &[("clip_g", &[0, 1280]), ("clip_l", &[0, 768])],
            &[("clip_g", &[400, 1280]), ("clip_l", &[400, 768])],
            &[("clip_g", &[2, 2, 1280]), ("clip_l", &[2, 2, 768])],
        ] {
            let error = embedding_tensors("a", &header(tensors), Family::Sdxl).unwrap_err();
            assert!(error.advice.sentence.contains("damaged"), "{tensors:?}");
        }
    }
}
