//! Texts of a picture file, by key.

use atelier_core::format::file_size;
use atelier_language::tr;

use crate::png_text::MAX_TEXT;

/// Texts of a file that are kept.
const MAX_TEXTS: usize = 64;
/// Bytes of all texts of a file together.
const MAX_BYTES: usize = 16 << 20;
/// Notes of parts that are not read.
const MAX_PASSED_OVER: usize = 64;
/// Keys of `ComfyUI`'s graphs, as it ran and as it was drawn.
pub(super) const GRAPH: &str = "prompt";
pub(super) const WORKFLOW: &str = "workflow";
/// Key of the settings that Civitai's generator writes beside a graph.
pub(super) const EXTRA_METADATA: &str = "extraMetadata";
/// Key of EXIF's `UserComment`, from EXIF or XMP.
pub(super) const USER_COMMENT: &str = "UserComment";
/// Key of JPEG's comment segments, and of some programs' texts in PNG.
pub(super) const COMMENT: &str = "Comment";
/// Key of the comment that Windows writes into EXIF.
pub(super) const WINDOWS_COMMENT: &str = "XPComment";
/// Key of EXIF's `ImageDescription`.
pub(super) const IMAGE_DESCRIPTION: &str = "ImageDescription";
/// Keys of IPTC's caption, of its special instructions, and of its keywords, with commas between.
pub(super) const CAPTION: &str = "Caption";
pub(super) const INSTRUCTIONS: &str = "Special instructions";
pub(super) const KEYWORDS: &str = "Keywords";
/// Key of XMP's `dc:description`.
pub(super) const DESCRIPTION: &str = "description";

/// The texts of a picture file in their order. The number and the bytes of all are bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    entries: Vec<(String, String)>,
    bytes: usize,
    is_full: bool,
    passed_over: Vec<(String, String)>,
}

impl Texts {
    /// Adds a text; what goes beyond the bounds is passed over, and an empty one left out.
    pub(super) fn push(&mut self, key: impl Into<String>, text: impl Into<String>) {
        let (key, mut text) = (key.into(), text.into());
        // The mark of an encoding is no letter.
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
        let bytes = key.len() + text.len();
        if text.is_empty() {
            return;
        }
        if self.is_full || self.entries.len() >= MAX_TEXTS || self.bytes + bytes > MAX_BYTES {
            self.is_full = true;
            return self.pass_over(tr!("media-texts"), tr!("media-the-file-has-too-many-texts"));
        }
        self.bytes += bytes;
        self.entries.push((key, text));
    }

    /// True once a text was passed over: whoever reads the file need not go on.
    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Notes that a part of the file is not read: which, and why.
    pub(super) fn pass_over(&mut self, part: &str, why: &str) {
        let is_new = !self.passed_over.iter().any(|(it, reason)| it == part && reason == why);
        if is_new && self.passed_over.len() < MAX_PASSED_OVER {
            self.passed_over.push((part.to_owned(), why.to_owned()));
        }
    }

    /// Notes that a text is longer than is read. `bytes`: its length, where that is known.
    pub(super) fn pass_over_long(&mut self, key: &str, bytes: Option<u64>) {
        let size = bytes.map_or_else(|| tr!("media-more-than-the-limit").to_owned(), file_size);
        self.pass_over(key, &tr!("media-a-text-was-passed-over", size, limit = file_size(MAX_TEXT)));
    }

    /// Notes that a text cannot be read.
    pub(super) fn pass_over_damaged(&mut self, key: &str) {
        self.pass_over(if key.is_empty() { tr!("media-texts") } else { key }, tr!("media-damaged-so-skipped"));
    }

    /// Parts of the file that were not read, each with the reason.
    pub(super) fn passed_over(&self) -> &[(String, String)] {
        &self.passed_over
    }

    /// The first text with this key, as [`Self::all`] finds it.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    /// The texts with this key, in their order; those with the key in other letter case come last,
    /// as some savers write `Parameters` and `Prompt`.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        let of_case = move |is_same: bool| {
            self.entries.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(key) && (it == key) == is_same).map(|(_, text)| text.as_str())
        };
        of_case(true).chain(of_case(false))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(key, text)| (key.as_str(), text.as_str()))
    }
}

impl FromIterator<(String, String)> for Texts {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(from: T) -> Self {
        let mut texts = Self::default();
        for (key, text) in from {
            texts.push(key, text);
        }
        texts
    }
}
