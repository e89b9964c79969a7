//! The engine's tokenizers.

use std::ptr::{NonNull, null_mut};

use super::error::CallError;
use super::params::Strings;

/// A tokenizer of the engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenizerKind {
    Clip,
    T5,
    /// umT5, of many languages.
    Umt5,
    /// Qwen 2 and 3.
    Qwen2,
    Mistral,
    GptOss,
    Gemma,
}

/// What a prompt's brackets mean to an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They weigh words.
    Weighted,
    /// Those with a number do, the others are letters.
    Emphasised,
    /// The same, and each letter between quotes is read alone.
    Quoted,
    /// Letters, without the backslashes before them.
    Plain,
    /// Letters.
    Literal,
}

/// Tokens of a prompt, without those that an encoder adds at its begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenCounts {
    /// Those of its words.
    pub(crate) tokens: usize,
    /// The same with the places that `BREAK` and `AND` leave empty.
    pub(crate) places: usize,
}

/// A tokenizer with its vocabulary: some tens of megabytes.
pub(crate) struct Tokenizer(NonNull<ggml_sys::atelier_tokenizer>);

// SAFETY: the engine binds no tokenizer to a thread, and every call needs `&mut self`.
unsafe impl Send for Tokenizer {}

impl Tokenizer {
    /// Reads a vocabulary, which takes up to two seconds.
    pub(crate) fn new(kind: TokenizerKind) -> Result<Self, CallError> {
        let kind = match kind {
            TokenizerKind::Clip => ggml_sys::ATELIER_TOKENIZER_CLIP,
            TokenizerKind::T5 => ggml_sys::ATELIER_TOKENIZER_T5,
            TokenizerKind::Umt5 => ggml_sys::ATELIER_TOKENIZER_UMT5,
            TokenizerKind::Qwen2 => ggml_sys::ATELIER_TOKENIZER_QWEN2,
            TokenizerKind::Mistral => ggml_sys::ATELIER_TOKENIZER_MISTRAL,
            TokenizerKind::GptOss => ggml_sys::ATELIER_TOKENIZER_GPT_OSS,
            TokenizerKind::Gemma => ggml_sys::ATELIER_TOKENIZER_GEMMA,
        };
        let mut tokenizer = null_mut();
        // SAFETY: `tokenizer` is a local to be written.
        CallError::check(unsafe { ggml_sys::atelier_tokenizer_new(kind, &raw mut tokenizer) })?;
        NonNull::new(tokenizer).map(Self).ok_or_else(|| CallError::new("the engine made no tokenizer"))
    }

    /// Counts the tokens of a prompt. `chunk`: tokens of a chunk, of which `BREAK` and `AND` begin
    /// another one; 0: they are words. `embeddings`: texts that stand for so many tokens each.
    pub(crate) fn count(
        &mut self,
        prompt: &str,
        reading: Reading,
        chunk: usize,
        embeddings: &[(&str, usize)],
    ) -> Result<TokenCounts, CallError> {
        let reading = match reading {
            Reading::Weighted => ggml_sys::ATELIER_READING_WEIGHTED,
            Reading::Emphasised => ggml_sys::ATELIER_READING_EMPHASISED,
            Reading::Quoted => ggml_sys::ATELIER_READING_QUOTED,
            Reading::Plain => ggml_sys::ATELIER_READING_PLAIN,
            Reading::Literal => ggml_sys::ATELIER_READING_LITERAL,
        };
        let mut strings = Strings::default();
        let mut tokens = Vec::with_capacity(embeddings.len());
        for (token, count) in embeddings {
            tokens.push(ggml_sys::atelier_token_word { token: strings.text(token)?, count: *count });
        }
        let mut counts = ggml_sys::atelier_token_counts::default();
        // SAFETY: the tokenizer is live and this is its only use; `prompt`, `tokens` and the
        // strings that they name outlive the call; `counts` is a local to be written.
        let status = unsafe {
            ggml_sys::atelier_tokenizer_count(
                self.0.as_ptr(),
                prompt.as_ptr().cast(),
                prompt.len(),
                reading,
                chunk,
                tokens.as_ptr(),
                tokens.len(),
                &raw mut counts,
            )
        };
        CallError::check(status).map(|()| TokenCounts { tokens: counts.tokens, places: counts.places })
    }
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        // SAFETY: made by the shim, and freed once.
        unsafe { ggml_sys::atelier_tokenizer_free(self.0.as_ptr()) };
    }
}
