//! Work of a recipe's picture, wherever its modules run.

use serde::{Deserialize, Serialize};

use super::work::Work;
use crate::module::Module;
use crate::placement::PhaseKind;

/// Work of a module in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleWork {
    /// The module.
    pub module: Module,
    /// The phase.
    pub phase: PhaseKind,
    /// The pass of the picture, from 0: a second one enlarges, a part of a picture has one for each part.
    pub pass: u32,
    /// Work of one repetition: a step while denoising, else the whole phase.
    pub work: Work,
    /// Number of repetitions: the steps that are run, else 1.
    pub repetitions: u32,
}

/// Work of one picture of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureWork {
    /// By pass and phase, in the order in which they run.
    pub modules: Vec<ModuleWork>,
}

impl PictureWork {
    /// All work of a module in a phase, repetitions and passes included.
    #[must_use]
    pub fn total(&self, module: Module, phase: PhaseKind) -> Work {
        let mut sum = Work::default();
        for it in self.modules.iter().filter(|it| it.module == module && it.phase == phase) {
            sum.add(&it.work.times(u64::from(it.repetitions)));
        }
        sum
    }
}
