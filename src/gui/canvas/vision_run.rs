//! What the canvas keeps of models that look at documents.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::gui::canvas::work::DocumentNumber;

/// Models that the person chose for looking at pictures, until the window is closed.
#[derive(Clone, Debug, Default)]
pub struct VisionChoice {
    /// The model that cuts out; `None`: the first that is there.
    pub cutout: Option<PathBuf>,
    /// Detectors that are not asked.
    pub unused_detectors: BTreeSet<PathBuf>,
}

/// A model that is looking at a document.
#[derive(Debug)]
pub struct VisionRun {
    pub document: DocumentNumber,
    /// What it does, for the person.
    pub words: &'static str,
    /// Set by the person; the model's process ends soon after.
    flag: Arc<AtomicBool>,
}

impl VisionRun {
    pub(crate) fn new(document: DocumentNumber, words: &'static str) -> Self {
        Self { document, words, flag: Arc::default() }
    }

    /// The flag that its thread looks at.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    pub(crate) fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}
