//! What a sheet will cost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use atelier_language::tr;

use super::order::{evaluations, sharings, steps};
use super::{Grid, Turn};
use crate::format::seconds;
use crate::recipe::Recipe;

/// Predicted seconds of a picture, as if it were made alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellTime {
    /// Opening its model.
    pub load_secs: f64,
    /// Encoding its texts.
    pub encode_secs: f64,
    /// All of its steps.
    pub denoise_secs: f64,
    /// Everything else.
    pub other_secs: f64,
}

/// What a sheet will cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Number of pictures.
    pub pictures: usize,
    /// Drafts that are made of them before.
    pub drafts: usize,
    /// Times that a model is opened, where none is open yet.
    pub loads: usize,
    /// Texts that are encoded, where none is known yet.
    pub encodings: usize,
    /// Evaluations of the diffusion module that are computed.
    pub evaluations: u64,
    /// Those that are taken from cells before.
    pub kept_evaluations: u64,
    /// Seconds; `None` where the devices were not measured.
    pub secs: Option<f64>,
}

impl Grid {
    /// What these turns will cost, one after the other. A model that is gone back to counts again,
    /// because another one may have taken its memory. `time`: what a picture of a recipe takes
    /// alone; `None` where that is not known.
    pub fn forecast(turns: &[Turn], mut time: impl FnMut(&Recipe) -> Option<CellTime>) -> Forecast {
        let mut forecast = Forecast { secs: Some(0.0), ..Forecast::default() };
        let recipes: Vec<&Recipe> = turns.iter().map(|turn| &turn.recipe).collect();
        let (mut open, mut texts, mut kept) = (None, BTreeSet::new(), BTreeMap::<usize, u32>::new());
        for (turn, sharing) in turns.iter().zip(sharings(&recipes)) {
            let recipe = &turn.recipe;
            let is_opened = open.replace(sharing.model) != Some(sharing.model);
            let encoded = sharing.texts.iter().filter(|text| texts.insert(**text)).count();
            let (first, later) = steps(recipe);
            let has_own = recipe.draft_step().is_some() || !recipe.earlier_steps.is_empty() || recipe.step_cache.is_some();
            let known = if has_own { 0 } else { kept.get(&sharing.steps).copied().unwrap_or(0).min(first) };
            let most = kept.entry(sharing.steps).or_default();
            *most = first.max(*most);
            // A draft stops before its last step.
            let (is_whole, is_known) = (recipe.draft_step().is_none(), known == first);
            let all = evaluations(recipe, first, is_whole) + evaluations(recipe, later, true);
            let reused = evaluations(recipe, known, is_whole && is_known);
            forecast.pictures += usize::from(!turn.is_draft);
            forecast.drafts += usize::from(turn.is_draft);
            forecast.loads += usize::from(is_opened);
            forecast.encodings += encoded;
            forecast.evaluations += all - reused;
            forecast.kept_evaluations += reused;
            let own = time(recipe).map(|time| {
                let part = |count: u64, of: u64| if of == 0 { 0.0 } else { count as f64 / of as f64 };
                let encode = time.encode_secs * part(encoded as u64, sharing.texts.len() as u64);
                let load = if is_opened { time.load_secs } else { 0.0 };
                load + encode + time.denoise_secs * part(all - reused, all) + time.other_secs
            });
            forecast.secs = forecast.secs.zip(own).map(|(before, own)| before + own);
        }
        forecast
    }
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&tr!("core-forecast-pictures", count = self.pictures))?;
        if self.drafts > 0 {
            f.write_str(&tr!("core-forecast-after-drafts", count = self.drafts))?;
        }
        if let Some(secs) = self.secs {
            write!(f, ", {}", seconds(secs))?;
        }
        let (encodings, loads) = (tr!("core-forecast-encodings", count = self.encodings), tr!("core-forecast-loads", count = self.loads));
        write!(f, ", {encodings}, {loads}")?;
        if self.kept_evaluations > 0 {
            let evaluations = self.kept_evaluations + self.evaluations;
            f.write_str(&tr!("core-of-steps-are-kept", kept_evaluations = self.kept_evaluations, evaluations))?;
        }
        Ok(())
    }
}
