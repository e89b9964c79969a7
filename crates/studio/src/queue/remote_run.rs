//! What the queue knows of a job that another studio makes.

use std::collections::BTreeMap;

use atelier_media::StoredRecipe;
use parking_lot::Mutex;

use crate::studio_model::StudioModel;

/// A job that a studio makes, as the queue knows it.
pub(super) struct RemoteRun {
    pub(super) model: StudioModel,
    /// The settings that the files of received pictures say, by the pictures' indexes.
    received: Mutex<BTreeMap<u32, StoredRecipe>>,
}

/// Who made a picture, where that was another studio.
#[derive(Clone, Debug)]
pub(super) struct MadeOn {
    pub(super) model: StudioModel,
    /// The settings that its file says.
    pub(super) said: Option<StoredRecipe>,
}

impl RemoteRun {
    /// A job of which nothing was received yet.
    pub(super) fn new(model: StudioModel) -> Self {
        Self { model, received: Mutex::default() }
    }

    /// Keeps the settings that the file of the picture of this index says.
    pub(super) fn keep_settings(&self, index: u32, said: StoredRecipe) {
        self.received.lock().insert(index, said);
    }

    /// Who made the picture of this index.
    pub(super) fn made_on(&self, index: u32) -> MadeOn {
        MadeOn { model: self.model.clone(), said: self.received.lock().remove(&index) }
    }
}
