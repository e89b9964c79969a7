//! What is written by itself, and again until it succeeds: when it is due, is being written, was
//! written, or failed.
//!
//! Pure state: the caller hands the task to a thread and reports its end. Invariant: something
//! counts as written only once its writing has succeeded.

use eframe::egui;

use crate::gui::due::Due;

/// Seconds after which what could not be written is tried again.
pub(crate) const RETRY_SECS: f64 = 20.0;

/// Number of a try, by which its end is told from that of another one.
pub(crate) type SaveAttempt = u64;

/// Follows one thing that is written by itself. `T`: what tells its states apart.
#[derive(Debug)]
pub(crate) struct Saver<T> {
    /// As it is in the file.
    written: T,
    /// The try that is under way, and what it writes.
    writing: Option<(SaveAttempt, T)>,
    last_attempt: SaveAttempt,
    due: Due,
    /// Why the last try failed; `None` where it did not.
    failure: Option<String>,
}

/// What the end of a try changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaveEnd {
    Written,
    /// It is written again, after tries that failed.
    WrittenAgain,
    /// It failed, and did not before.
    Failed,
    /// It failed as the try before.
    FailedAgain,
    /// Another try has taken its place.
    Overtaken,
}

impl<T: PartialEq> Saver<T> {
    /// Begins with what is in the file.
    pub(crate) fn new(written: T) -> Self {
        Self { written, writing: None, last_attempt: 0, due: Due::default(), failure: None }
    }

    /// As it is in the file.
    pub(crate) const fn written(&self) -> &T {
        &self.written
    }

    /// True where this is now to be written: it has not been for so many seconds, or could not be a
    /// while ago. Call it once a frame.
    pub(crate) fn is_due(&mut self, ctx: &egui::Context, now: &T, delay_secs: f64) -> bool {
        if !self.is_unsaved(now) {
            self.due.clear();
            return false;
        }
        // A disk that hangs gets one task, not one every few seconds.
        if self.writing.is_some() {
            return false;
        }
        self.due.begin_in(ctx, delay_secs);
        self.due.has_come(ctx)
    }

    /// True where this is not in the file.
    pub(crate) fn is_unsaved(&self, now: &T) -> bool {
        self.written != *now
    }

    /// True where this has to be written and is not being written.
    pub(crate) fn is_waiting(&self, now: &T) -> bool {
        self.is_unsaved(now) && self.writing.as_ref().is_none_or(|(_, writing)| writing != now)
    }

    /// True while a try is under way.
    pub(crate) const fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Why the last try failed; `None` where it did not.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// This is being written from now on.
    pub(crate) fn begin(&mut self, now: T) -> SaveAttempt {
        self.last_attempt += 1;
        self.due.clear();
        self.writing = Some((self.last_attempt, now));
        self.last_attempt
    }

    /// A try has ended.
    pub(crate) fn ended(&mut self, ctx: &egui::Context, attempt: SaveAttempt, result: Result<(), String>) -> SaveEnd {
        let Some((_, writing)) = self.writing.take_if(|(writing, _)| *writing == attempt) else { return SaveEnd::Overtaken };
        let failed_before = self.failure.is_some();
        match result {
            Ok(()) => {
                self.written = writing;
                self.failure = None;
                if failed_before { SaveEnd::WrittenAgain } else { SaveEnd::Written }
            }
            Err(reason) => {
                self.failure = Some(reason);
                self.due.set_in(ctx, RETRY_SECS);
                if failed_before { SaveEnd::FailedAgain } else { SaveEnd::Failed }
            }
        }
    }

    /// The file is gone, or is another one: it holds this now. Tries that are under way count no
    /// more.
    pub(crate) fn reset(&mut self, written: T) {
        self.written = written;
        self.writing = None;
        self.failure = None;
        self.due.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ctx: &egui::Context, secs: f64) {
        let mut output = ctx.run_ui(egui::RawInput { time: Some(secs), ..egui::RawInput::default() }, |_| {});
        // There is no graphics card.
        output.textures_delta.clear();
    }

    #[test]
    fn what_failed_is_not_written_and_is_tried_again_until_it_is() {
        let ctx = egui::Context::default();
        let mut saver = Saver::new(0);
        at(&ctx, 0.0);
        assert!(!saver.is_due(&ctx, &0, 5.0) && !saver.is_due(&ctx, &1, 5.0));
        at(&ctx, 5.1);
        assert!(saver.is_due(&ctx, &1, 5.0));
        let attempt = saver.begin(1);
        assert!(!saver.is_due(&ctx, &2, 5.0) && saver.is_writing() && !saver.is_waiting(&1) && saver.is_waiting(&2));
        assert_eq!(saver.ended(&ctx, attempt, Err("full".into())), SaveEnd::Failed);
        assert!(saver.is_unsaved(&1) && saver.failure() == Some("full"));
        at(&ctx, 5.1 + RETRY_SECS - 0.1);
        assert!(!saver.is_due(&ctx, &1, 5.0), "not at once");
        at(&ctx, 5.1 + RETRY_SECS + 0.1);
        assert!(saver.is_due(&ctx, &1, 5.0));
        let attempt = saver.begin(1);
        assert_eq!(saver.ended(&ctx, attempt, Err("full".into())), SaveEnd::FailedAgain);
        let attempt = saver.begin(1);
        assert_eq!(saver.ended(&ctx, attempt, Ok(())), SaveEnd::WrittenAgain);
        assert!(!saver.is_unsaved(&1) && saver.failure().is_none());
    }

    #[test]
    fn a_try_that_was_overtaken_changes_nothing() {
        let ctx = egui::Context::default();
        let mut saver = Saver::new(0);
        let first = saver.begin(1);
        let second = saver.begin(2);
        assert_eq!(saver.ended(&ctx, first, Ok(())), SaveEnd::Overtaken);
        assert_eq!((*saver.written(), saver.is_writing()), (0, true));
        assert_eq!(saver.ended(&ctx, second, Ok(())), SaveEnd::Written);
        assert_eq!(*saver.written(), 2);
        let late = saver.begin(3);
        saver.reset(0);
        assert_eq!(saver.ended(&ctx, late, Ok(())), SaveEnd::Overtaken);
        assert!(saver.is_unsaved(&3));
    }
}
