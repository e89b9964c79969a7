//! The textual inversions that the prompts of a recipe name: their vectors, and the texts that
//! stand for them in what the engine encodes.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use half::{bf16, f16};
use sha2::{Digest as _, Sha256};

use atelier_core::recipe::{Recipe, embedding_word, replace_embedding_words};
use atelier_language::tr;
use atelier_library::{Family, HeaderCache, Problem, TensorInfo, embedding_tensors, file_name};

/// Embeddings of a recipe; clones share the vectors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Embeddings(Vec<Arc<Embedding>>);

/// An embedding that a prompt names.
#[derive(Debug, PartialEq)]
pub(crate) struct Embedding {
    /// The word that names it.
    word: String,
    /// The text that the engine reads in its place. It identifies the vectors, so that encodings in
    /// the cache are never those of other ones.
    pub(crate) token: String,
    /// The number of vectors.
    pub(crate) count: usize,
    /// Vectors for the only or the first encoder, one behind the other.
    pub(crate) first: Vec<f32>,
    /// Vectors for the second encoder; empty where the family has one.
    pub(crate) second: Vec<f32>,
}

impl Embeddings {
    #[cfg(test)]
    pub(crate) const NONE: &'static Self = &Self(Vec::new());

    /// Reads the embeddings that the prompts of a recipe name.
    ///
    /// # Errors
    /// If a file cannot be read, is no embedding, or was made for models of another family.
    pub(crate) fn read(headers: &mut HeaderCache, recipe: &Recipe, family: Family) -> Result<Self, Problem> {
        let read = recipe.used_embeddings().map(|path| Embedding::read(headers, path, family).map(Arc::new));
        read.collect::<Result<_, _>>().map(Self)
    }

    /// A prompt with the tokens of the embeddings in the place of their words.
    pub(crate) fn in_prompt(&self, prompt: &str) -> String {
        let words: Vec<_> = self.0.iter().map(|it| (it.word.as_str(), it.token.as_str())).collect();
        replace_embedding_words(prompt, &words)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Embedding> {
        self.0.iter().map(|it| &**it)
    }
}

impl Embedding {
    fn read(headers: &mut HeaderCache, path: &Path, family: Family) -> Result<Self, Problem> {
        let name = file_name(path);
        let known = headers.get(path)?;
        let tensors = embedding_tensors(&name, &known.header, family)?;
        let read = |tensor: &TensorInfo| {
            let values = read_values(path, tensor)
                .map_err(|error| Problem::new(tr!("engine-cannot-be-read", name, error), tr!("engine-check-the-file-or")))?;
            if values.iter().all(|it| it.is_finite()) {
                return Ok(values);
            }
            Err(Problem::new(tr!("engine-is-damaged-some-of", name), tr!("engine-download-the-file-again")))
        };
        let first = read(&tensors.first)?;
        let second = tensors.second.as_ref().map(read).transpose()?.unwrap_or_default();
        let mut hasher = Sha256::new();
        for value in first.iter().chain(&second) {
            hasher.update(value.to_le_bytes());
        }
        let hash = hasher.finalize().first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        // Characters that neither the weights of a prompt nor the tokenizer treat specially.
        let token = format!("<|embedding-{hash:032x}|>");
        Ok(Self { word: embedding_word(path), token, count: tensors.count, first, second })
    }

    /// Values of a vector.
    pub(crate) fn width(&self) -> usize {
        self.first.len() / self.count.max(1)
    }

    /// Values of a vector of the second encoder; 0 where there is none.
    pub(crate) fn second_width(&self) -> usize {
        self.second.len() / self.count.max(1)
    }
}

/// Values of a tensor of plain numbers.
fn read_values(path: &Path, tensor: &TensorInfo) -> io::Result<Vec<f32>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(tensor.offset))?;
    let mut bytes = vec![0; usize::try_from(tensor.bytes).unwrap_or(0)];
    file.read_exact(&mut bytes)?;
    Ok(match tensor.dtype.name() {
        "F16" => bytes.as_chunks().0.iter().map(|it| f16::from_le_bytes(*it).to_f32()).collect(),
        "BF16" => bytes.as_chunks().0.iter().map(|it| bf16::from_le_bytes(*it).to_f32()).collect(),
        _ => bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect(),
    })
}
