//! Work of a recipe's picture, wherever its modules run.

use serde::{Deserialize, Serialize};

use super::work::Work;
use crate::module::Module;
use crate::placement::PhaseKind;
use crate::recipe::{Recipe, StepShare};

/// Work of a module in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleWork {
    /// The module.
    pub module: Module,
    /// The phase.
    pub phase: PhaseKind,
    /// The pass of the picture, from 0: a second one upscales, a part of a picture has one for each
    /// part.
    pub pass: u32,
    /// Work of one repetition: a step while denoising, else the whole phase.
    pub work: Work,
    /// Number of repetitions: the steps that are run, else 1.
    pub repetitions: u32,
    /// The steps in which it is done.
    #[serde(default)]
    pub share: StepShare,
}

/// Work of one picture of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureWork {
    /// By pass and phase, in the order in which they run.
    pub modules: Vec<ModuleWork>,
}

impl PictureWork {
    /// The same with the numbers of steps of this recipe, which may be another than was counted;
    /// all else is as it was counted.
    #[must_use]
    pub fn with_steps_of(&self, recipe: &Recipe) -> Self {
        let mut with = self.clone();
        for it in with.modules.iter_mut().filter(|it| it.phase == PhaseKind::Denoising) {
            it.repetitions = recipe.steps_with(it.share, it.pass);
        }
        with
    }

    /// What is done, in its order; true beside what some steps add to the work of the same module,
    /// phase and pass, so that weights and buffers are there.
    pub(crate) fn done(&self) -> impl Iterator<Item = (&ModuleWork, bool)> {
        let done = move || self.modules.iter().filter(|it| it.repetitions > 0);
        let place = |it: &ModuleWork| (it.module, it.phase, it.pass);
        done().enumerate().map(move |(index, it)| (it, done().take(index).any(|before| place(before) == place(it))))
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Hires;

    #[test]
    fn steps_are_those_of_the_recipe_and_nothing_else_changes() {
        let it = |phase, pass, repetitions| ModuleWork {
            module: Module::Diffusion,
            phase,
            pass,
            work: Work::of_graphs(2, 0, 0),
            repetitions,
            share: StepShare::All,
        };
        let counted =
            PictureWork { modules: vec![it(PhaseKind::Encoding, 0, 1), it(PhaseKind::Denoising, 0, 20), it(PhaseKind::Denoising, 1, 20)] };
        let with = counted.with_steps_of(&Recipe { steps: 4, hires: Some(Hires::default()), ..Recipe::default() });
        assert_eq!(with.modules, [it(PhaseKind::Encoding, 0, 1), it(PhaseKind::Denoising, 0, 4), it(PhaseKind::Denoising, 1, 4)]);
        assert_eq!(with.total(Module::Diffusion, PhaseKind::Denoising), Work::of_graphs(16, 0, 0));
        let added = ModuleWork { share: StepShare::Guided, ..it(PhaseKind::Denoising, 1, 3) };
        let never = ModuleWork { share: StepShare::Guided, ..it(PhaseKind::Denoising, 0, 0) };
        let all = PictureWork { modules: with.modules.iter().cloned().chain([never, added.clone()]).collect() };
        let done: Vec<_> = all.done().collect();
        let first = with.modules.iter().map(|it| (it, false));
        assert_eq!(done, first.chain([(&added, true)]).collect::<Vec<_>>());
    }
}
