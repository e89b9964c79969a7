//! What a job looks like to who asks for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_core::advice::Advice;
use atelier_core::recipe::{Recipe, Seed};
use atelier_engine::{Begin, Cause, Failure, Preview, Step};
use atelier_gallery::queue::{JobPicture, JobState, QueuedJobId};
use atelier_library::file_name;
use atelier_studio::queue::WaitReason;

use crate::http::clock::now_ms;
use crate::http::retention::files_of;

/// What a job looks like.
#[derive(Clone, Debug)]
pub(crate) struct JobView {
    pub(crate) id: QueuedJobId,
    pub(crate) recipe: Arc<Recipe>,
    /// The name of its model.
    pub(crate) model: String,
    /// Where its pictures are kept.
    pub(super) folder: PathBuf,
    /// What was changed or ignored before it was added, in sentences.
    pub(crate) notes: Vec<String>,
    pub(crate) state: JobState,
    /// True while the engine is not at it.
    pub(crate) is_waiting: bool,
    pub(crate) wait: Option<WaitReason>,
    /// Jobs before it, of everybody.
    pub(crate) position: usize,
    pub(crate) ends_in_secs: Option<f64>,
    /// Seconds of work on it that are left.
    pub(crate) secs_left: Option<f64>,
    pub(crate) begin: Option<Box<Begin>>,
    pub(crate) step: Option<Step>,
    pub(crate) preview: Option<Preview>,
    pub(crate) pictures: Vec<JobPicture>,
    pub(crate) first_seed: Option<Seed>,
    /// Why it failed or is held.
    pub(crate) reason: Option<String>,
    /// The engine's failure, where this server heard it.
    pub(super) failure: Option<Box<Failure>>,
    /// Milliseconds since 1970.
    pub(crate) created_ms: i64,
    pub(crate) began_ms: Option<i64>,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) is_cancelled_by_client: bool,
}

impl JobView {
    pub(super) fn new(id: QueuedJobId, recipe: Arc<Recipe>, model: String, folder: PathBuf, notes: Vec<String>) -> Self {
        Self {
            id,
            recipe,
            model,
            folder,
            notes,
            state: JobState::Waiting,
            is_waiting: true,
            wait: None,
            position: 0,
            ends_in_secs: None,
            secs_left: None,
            begin: None,
            step: None,
            preview: None,
            pictures: Vec::new(),
            first_seed: None,
            reason: None,
            failure: None,
            created_ms: now_ms(),
            began_ms: None,
            ended_ms: None,
            is_cancelled_by_client: false,
        }
    }

    /// True where nothing more comes of it by itself; one that is held waits for the person at the
    /// machine, so nobody waits for it.
    pub(crate) fn is_over(&self) -> bool {
        self.state.is_ended() || self.state == JobState::Held
    }

    /// Why it failed or is held, and what helps where that is known.
    pub(crate) fn advice(&self) -> Advice {
        let heard = self.failure.as_ref().map(|failure| failure.advice.clone());
        let stored = || Advice::new(self.reason.clone().unwrap_or_else(|| "The picture could not be made.".to_owned()), "");
        let advice = heard.filter(|advice| self.reason.as_ref().is_none_or(|reason| *reason == advice.sentence)).unwrap_or_else(stored);
        Advice { sentence: self.with_names_alone(advice.sentence), hint: self.with_names_alone(advice.hint) }
    }

    /// A sentence in which its files and its folder have their names alone: where they lie is nothing
    /// for clients.
    fn with_names_alone(&self, sentence: String) -> String {
        let recipe = &self.recipe;
        let parts = recipe.files.iter().map(|(_, path)| path);
        let adapters = recipe.loras.iter().map(|lora| &lora.path).chain(&recipe.embeddings).map(PathBuf::as_path);
        let pictures = files_of(recipe);
        let all = parts.chain(adapters).chain(pictures.iter().map(PathBuf::as_path)).chain([self.folder.as_path()]);
        // Of a path that has only a name there is nothing to leave out.
        let lying = all.filter(|path| path.parent().is_some_and(|it| it != Path::new("")));
        lying.fold(sentence, |text, path| text.replace(&path.display().to_string(), &file_name(path)))
    }

    /// True where it failed because a device had no memory left.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| matches!(failure.cause, Some(Cause::OutOfMemory(_))))
    }

    /// The seed of this picture, once it is known.
    pub(crate) fn seed(&self, index: u32) -> Option<Seed> {
        self.first_seed.or(self.recipe.seed).map(|seed| seed.after(u64::from(index)))
    }

    /// Progress from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        if self.state == JobState::Done {
            return 1.0;
        }
        let pictures = f64::from(self.recipe.batch_count.max(1));
        let (picture, within) = self.step.map_or((self.pictures.len() as f64, 0.0), |step| {
            (f64::from(step.picture), (f64::from(step.done) + f64::from(step.fraction)) / f64::from(step.total.max(1)))
        });
        ((picture.max(self.pictures.len() as f64) + within.clamp(0.0, 1.0)) / pictures).clamp(0.0, 1.0)
    }

    /// Everything that a person should know of it, in sentences.
    pub(crate) fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for note in self.begin.iter().flat_map(|begin| &begin.notes) {
            let note = self.with_names_alone(note.clone());
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::{FileRole, Lora};
    use atelier_engine::{OutOfMemory, PhaseKind};

    use super::*;

    #[test]
    fn a_failure_that_was_heard_says_more_than_the_queue_keeps_of_it() {
        let mut view = JobView::new(QueuedJobId(1), Arc::default(), String::new(), PathBuf::new(), Vec::new());
        assert_eq!(view.advice().to_string(), "The picture could not be made.");
        view.reason = Some("No memory.".into());
        assert_eq!((view.advice().to_string(), view.is_out_of_memory()), ("No memory.".to_owned(), false));
        let refused = OutOfMemory { device: "GPU0".into(), phase: PhaseKind::Denoising, bytes_wanted: 2, bytes_free: 1 };
        let failure = Failure { cause: Some(Cause::OutOfMemory(refused)), ..Failure::new("No memory.", "Close something.") };
        view.failure = Some(Box::new(failure));
        assert_eq!((view.advice().to_string(), view.is_out_of_memory()), ("No memory. Close something.".to_owned(), true));
        view.reason = Some("The disk is full.".into());
        assert_eq!(view.advice().to_string(), "The disk is full.", "it was held for another reason");
    }
    #[test]
    fn a_client_is_told_the_names_of_files_and_never_where_they_lie() {
        let mut recipe = Recipe { loras: vec![Lora::new("/home/anna/loras/ink.safetensors".into(), 1.0)], ..Recipe::default() };
        recipe.files.set(FileRole::Model, Path::new("/home/anna/models/dream.gguf"));
        let folder = PathBuf::from("/home/anna/Pictures/Atelier/Shared/Ben");
        let mut view = JobView::new(QueuedJobId(1), Arc::new(recipe), String::new(), folder, Vec::new());
        view.reason = Some("A picture could not be saved: /home/anna/Pictures/Atelier/Shared/Ben: it is full.".into());
        assert_eq!(view.advice().to_string(), "A picture could not be saved: Ben: it is full.");
        view.reason = None;
        view.failure = Some(Box::new(Failure::new("/home/anna/models/dream.gguf is gone.", "Look for /home/anna/models/dream.gguf.")));
        assert_eq!(view.advice().to_string(), "dream.gguf is gone. Look for dream.gguf.");
        let notes = vec!["/home/anna/loras/ink.safetensors does not fit.".to_owned(), "It is slow.".to_owned()];
        view.begin = Some(Box::new(Begin { width: 64, height: 64, steps: 2, seeds: Vec::new(), notes }));
        assert_eq!(view.all_notes(), ["ink.safetensors does not fit.", "It is slow."]);
    }
}
