//! The text encoders of each family, as the engine gives them a prompt.

use crate::ffi::{Reading, TokenCounts, TokenizerKind};
use atelier_library::Family;

/// How much of a prompt an encoder reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of it, at once.
    All,
    /// All of it, in chunks of so many tokens, each without knowing of the others.
    Chunks(usize),
    /// So many tokens, and nothing behind them.
    First(usize),
}

/// What an encoder makes of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderTokens {
    /// Its name.
    pub encoder: &'static str,
    /// Tokens of the words, without those that it adds at begin and end.
    pub tokens: usize,
    /// How much it reads.
    pub reach: Reach,
    /// Chunks that it reads: at least one.
    pub chunks: usize,
}

/// A text encoder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encoder {
    name: &'static str,
    pub(super) kind: TokenizerKind,
    pub(super) reading: Reading,
    pub(super) reach: Reach,
    /// `BREAK` and `AND` begin another chunk; elsewhere they are words.
    breaks: bool,
}

impl Encoder {
    const fn new(name: &'static str, kind: TokenizerKind, reading: Reading, reach: Reach) -> Self {
        Self { name, kind, reading, reach, breaks: false }
    }

    /// What it makes of a prompt of so many tokens.
    pub(super) fn tokens(&self, counts: TokenCounts) -> EncoderTokens {
        let chunks = match self.reach {
            Reach::Chunks(size) => counts.places.div_ceil(size).max(1),
            Reach::All | Reach::First(_) => 1,
        };
        EncoderTokens { encoder: self.name, tokens: counts.tokens, reach: self.reach, chunks }
    }

    /// Tokens of a chunk that `BREAK` and `AND` fill up; 0 where they do not.
    pub(super) const fn break_fills(&self) -> usize {
        match self.reach {
            Reach::Chunks(size) if self.breaks => size,
            _ => 0,
        }
    }
}

/// Of a chunk of 77, two mark begin and end.
const CLIP: Encoder = Encoder::new("CLIP", TokenizerKind::Clip, Reading::Weighted, Reach::Chunks(75));
/// `FrozenCLIPEmbedderWithCustomWords`.
const CLIP_ALONE: Encoder = Encoder { breaks: true, ..CLIP };
/// `FluxCLIPEmbedder` takes one vector for the whole picture from its first chunk.
const CLIP_OF_FLUX: Encoder = Encoder { reach: Reach::First(75), ..CLIP };
/// `SD3CLIPEmbedder` gives T5 as long chunks as CLIP; one token marks the end.
const T5_OF_SD3: Encoder = Encoder::new("T5", TokenizerKind::T5, Reading::Weighted, Reach::Chunks(76));
const T5_OF_FLUX: Encoder = Encoder { reach: Reach::Chunks(255), ..T5_OF_SD3 };
/// `T5CLIPEmbedder`.
const T5_ALONE: Encoder = Encoder { reach: Reach::Chunks(511), ..T5_OF_SD3 };
const UMT5: Encoder = Encoder { name: "umT5", kind: TokenizerKind::Umt5, ..T5_ALONE };
/// `AnimaConditioner`.
const T5_OF_ANIMA: Encoder = Encoder { reach: Reach::All, ..T5_OF_SD3 };
const QWEN_OF_ANIMA: Encoder = Encoder { reading: Reading::Weighted, ..QWEN };
/// `LLMEmbedder`.
const QWEN: Encoder = Encoder::new("Qwen", TokenizerKind::Qwen2, Reading::Emphasised, Reach::All);
const QWEN_OF_LONGCAT: Encoder = Encoder { reading: Reading::Quoted, ..QWEN };
/// The prompt's brackets are letters.
const QWEN_LITERAL: Encoder = Encoder { reading: Reading::Literal, ..QWEN };
const MISTRAL: Encoder = Encoder::new("Mistral", TokenizerKind::Mistral, Reading::Emphasised, Reach::All);
/// Of 512 tokens, 104 are the engine's instructions before the prompt.
const GPT_OSS: Encoder = Encoder::new("GPT-OSS", TokenizerKind::GptOss, Reading::Emphasised, Reach::First(512 - 104));
/// `LTXAVEmbedder`.
const GEMMA: Encoder = Encoder::new("Gemma", TokenizerKind::Gemma, Reading::Plain, Reach::All);

/// The text encoders of a family, the one whose words matter most first; none where they read no
/// prompt, or it is not known how far.
pub(super) const fn encoders_of(family: Family) -> &'static [Encoder] {
    match family {
        Family::Sd1 | Family::Sd2 | Family::Sdxl => &[CLIP_ALONE],
        // It may be without T5.
        Family::Sd3 => &[CLIP, T5_OF_SD3],
        Family::Flux => &[T5_OF_FLUX, CLIP_OF_FLUX],
        Family::Chroma | Family::ChromaRadiance => &[T5_ALONE],
        Family::Wan => &[UMT5],
        Family::Anima => &[QWEN_OF_ANIMA, T5_OF_ANIMA],
        Family::Flux2Klein | Family::QwenImage | Family::ZImage | Family::OvisImage => &[QWEN],
        Family::LongCat => &[QWEN_OF_LONGCAT],
        Family::Ideogram4 | Family::HidreamO1 => &[QWEN_LITERAL],
        Family::Flux2 | Family::ErnieImage => &[MISTRAL],
        Family::Lens => &[GPT_OSS],
        Family::Ltx => &[GEMMA],
        // The engine cuts the beginning of PiD's long prompts off, not their end.
        Family::Svd | Family::Pid => &[],
    }
}
