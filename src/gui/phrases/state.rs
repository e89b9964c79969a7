//! State of what phrases did: what is pointed at, the draft that is made, and what was found.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use eframe::egui::{ColorImage, TextureHandle};

use crate::gui::create::session::{SessionPicture, SessionPictureId};
use crate::gui::due::Due;
use atelier_core::recipe::Rgb8;
use atelier_core::words::Phrase;
use atelier_engine::JobId;

/// Drafts with all words that are kept, of less than a megabyte each.
const MAX_DRAFTS: usize = 4;
/// What was found that is kept, of a megabyte each at most.
const MAX_FINDINGS: usize = 32;

pub struct State {
    /// Phrases show what they did. Where it is false nothing is computed for them.
    pub is_on: bool,
    /// The phrase under the pointer.
    pub(crate) pointed: Option<Phrase>,
    /// When the pointer has rested on it.
    pub(crate) rests: Due,
    /// What is shown for the keyboard.
    pub(crate) asked: Option<PhraseOfPicture>,
    /// The phrase at the caret is to be shown.
    pub(crate) asks_at_caret: bool,
    pub(crate) run: Option<DraftRun>,
    /// Two drafts of it are being compared.
    pub(crate) comparing: Option<PhraseOfPicture>,
    /// Drafts with all words, the last used at the end.
    whole_drafts: VecDeque<(SessionPictureId, Arc<Rgb8>)>,
    /// The last used at the end.
    findings: VecDeque<(PhraseOfPicture, Finding)>,
    quiet: Option<QuietPhrases>,
    pub(crate) shown: Option<Shown>,
    /// The overlay on the graphics card, and whose it is.
    pub(crate) heat: Option<(PhraseOfPicture, TextureHandle)>,
}

/// A phrase of the prompt of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhraseOfPicture {
    pub(crate) picture: SessionPictureId,
    pub(crate) phrase: Phrase,
}

/// A draft that the engine has.
pub(crate) struct DraftRun {
    pub(crate) job: JobId,
    /// What it is for.
    pub(crate) of: PhraseOfPicture,
    /// It is the draft with all words.
    pub(crate) is_whole: bool,
    pub(crate) is_stopped: bool,
    pub(crate) image: Option<Arc<Rgb8>>,
}

impl DraftRun {
    /// True where its draft is one of those that this phrase needs.
    pub(crate) fn serves(&self, wanted: &PhraseOfPicture) -> bool {
        self.of == *wanted || (self.is_whole && self.of.picture == wanted.picture)
    }
}

/// What was found about a phrase.
#[derive(Clone)]
pub(crate) enum Finding {
    /// It acted where this overlay is not see-through.
    Acted(Arc<ColorImage>),
    ChangedNothing,
    /// Its drafts could not be made; a person was told why.
    Failed,
}

/// Phrases of a prompt that changed nothing.
struct QuietPhrases {
    picture: SessionPictureId,
    prompt: String,
    /// Their bytes.
    ranges: Vec<Range<usize>>,
}

/// What is said over the picture.
pub(crate) struct Shown {
    pub(crate) sentence: String,
    /// The overlay is drawn too.
    pub(crate) has_heat: bool,
}

impl State {
    /// The state at the start.
    #[must_use]
    pub fn new(is_on: bool) -> Self {
        Self {
            is_on,
            pointed: None,
            rests: Due::default(),
            asked: None,
            asks_at_caret: false,
            run: None,
            comparing: None,
            whole_drafts: VecDeque::new(),
            findings: VecDeque::new(),
            quiet: None,
            shown: None,
            heat: None,
        }
    }

    /// Bytes of the phrases of a text that changed nothing in the picture shown; none where the text
    /// does not begin with that of the picture.
    pub(crate) fn quiet_ranges(&self, text: &str) -> &[Range<usize>] {
        self.quiet.as_ref().filter(|quiet| text.starts_with(&quiet.prompt)).map_or(&[], |quiet| quiet.ranges.as_slice())
    }

    /// Keeps the phrases in sight that changed nothing in this picture; `None`: there is none whose
    /// prompt is in the field.
    pub(crate) fn set_quiet(&mut self, picture: Option<&SessionPicture>) {
        let Some(picture) = picture else {
            self.quiet = None;
            return;
        };
        let is_quiet = |(of, finding): &&(PhraseOfPicture, Finding)| of.picture == picture.id && matches!(finding, Finding::ChangedNothing);
        let ranges = self.findings.iter().filter(is_quiet).map(|(of, _)| of.phrase.range.clone()).collect();
        match &mut self.quiet {
            Some(quiet) if quiet.picture == picture.id => quiet.ranges = ranges,
            quiet => *quiet = Some(QuietPhrases { picture: picture.id, prompt: picture.recipe.prompt.clone(), ranges }),
        }
    }

    /// What was found about a phrase, which is the last to be forgotten from now on.
    pub(crate) fn finding(&mut self, of: &PhraseOfPicture) -> Option<Finding> {
        used(&mut self.findings, of)
    }

    pub(crate) fn keep_finding(&mut self, of: PhraseOfPicture, finding: Finding) {
        keep(&mut self.findings, (of, finding), MAX_FINDINGS);
    }

    /// The draft of a picture with all words, which is the last to be forgotten from now on.
    pub(crate) fn whole_draft(&mut self, picture: SessionPictureId) -> Option<Arc<Rgb8>> {
        used(&mut self.whole_drafts, &picture)
    }

    pub(crate) fn keep_whole_draft(&mut self, picture: SessionPictureId, draft: Arc<Rgb8>) {
        keep(&mut self.whole_drafts, (picture, draft), MAX_DRAFTS);
    }
}

fn used<K: PartialEq, V: Clone>(kept: &mut VecDeque<(K, V)>, key: &K) -> Option<V> {
    let at = kept.iter().position(|(of, _)| of == key)?;
    let entry = kept.remove(at)?;
    let value = entry.1.clone();
    kept.push_back(entry);
    Some(value)
}

fn keep<K: PartialEq, V>(kept: &mut VecDeque<(K, V)>, entry: (K, V), most: usize) {
    kept.retain(|(of, _)| *of != entry.0);
    kept.push_back(entry);
    while kept.len() > most {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(at: usize) -> PhraseOfPicture {
        PhraseOfPicture { picture: SessionPictureId(1), phrase: Phrase { range: at..at + 1, cut: at..at + 2 } }
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let mut state = State::new(true);
        for at in 0..MAX_FINDINGS {
            state.keep_finding(phrase(at), Finding::ChangedNothing);
        }
        assert!(state.finding(&phrase(0)).is_some());
        state.keep_finding(phrase(99), Finding::Failed);
        assert!(state.finding(&phrase(0)).is_some() && state.finding(&phrase(1)).is_none() && state.finding(&phrase(2)).is_some());
        assert_eq!(state.findings.len(), MAX_FINDINGS);
        state.keep_finding(phrase(99), Finding::ChangedNothing);
        assert!(matches!(state.finding(&phrase(99)), Some(Finding::ChangedNothing)));
        assert_eq!(state.findings.len(), MAX_FINDINGS);
    }
}
