//! The ruler of steps: in which steps of the next picture its words, guidance, LoRAs and guides act,
//! as tracks whose borders are moved. A border is a number in the prompt or a setting of the recipe; nothing is
//! kept beside them. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::gui::create::loras::lora_name;
use crate::gui::create::session::Session;
use atelier_core::format::decimal;
use atelier_core::recipe::{GuidanceRange, Recipe, steps_before};
use atelier_core::words::{GroupKind, Prompt, StepChange};
use atelier_language::tr;

/// What says where a border lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Border {
    /// A change of words, by the number of its group in the prompt.
    Words(usize),
    /// The same in the negative prompt.
    NegativeWords(usize),
    /// The start of a range of guidance, by its index in the recipe.
    GuidanceStart(usize),
    /// Its end.
    GuidanceEnd(usize),
    /// The start of a LoRA, by its index in the recipe.
    LoraStart(usize),
    /// Its end.
    LoraEnd(usize),
    /// The start of the `ControlNet`.
    ControlStart,
    /// Its end.
    ControlEnd,
    /// The start of skip-layer guidance.
    SkipLayersStart,
    /// Its end.
    SkipLayersEnd,
}

/// A border that can be moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Handle {
    /// What it moves.
    pub(crate) border: Border,
    /// Steps before it.
    pub(crate) at: u32,
    /// The fewest and the most steps before it.
    pub(crate) limits: (u32, u32),
    /// What it bounds, in words.
    pub(crate) name: String,
}

/// Steps in which something acts: those after the first number of them, up to the second.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Act {
    pub(crate) words: String,
    pub(crate) steps: Range<u32>,
}

/// What is changed beside a track's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TrackControl {
    /// A range of guidance is added, where there is room for one.
    AddGuidance,
    /// The guidance of a range, by its index in the recipe and as it is; it can go.
    Guidance(usize, f32),
}

/// What acts in some of the steps, beside others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) acts: Vec<Act>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) control: Option<TrackControl>,
    /// Steps before each of its changes.
    changes: Vec<u32>,
}

/// The steps of the next picture, and what acts in them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ruler {
    pub(crate) steps: u32,
    pub(crate) tracks: Vec<Track>,
}

impl Ruler {
    /// The ruler of a recipe. `reads_control`: the model reads the control picture itself, in all
    /// steps.
    #[must_use]
    pub(crate) fn of(recipe: &Recipe, reads_control: bool) -> Self {
        let steps = recipe.steps_in_pass(0);
        let mut tracks: Vec<Track> = earlier_track(recipe).into_iter().collect();
        tracks.extend(word_tracks(&recipe.prompt, tr!("create-prompt-2"), Border::Words, steps));
        tracks.extend(word_tracks(&recipe.negative_prompt, tr!("create-negative-prompt-2"), Border::NegativeWords, steps));
        tracks.push(guidance_track(recipe, steps));
        for (index, range) in recipe.guidance_ranges.iter().enumerate() {
            let borders = [Border::GuidanceStart(index), Border::GuidanceEnd(index)];
            let name = tr!("create-guidance-range", number = index + 1);
            let control = Some(TrackControl::Guidance(index, range.guidance));
            // What differs from its neighbours is known by the track of all guidance.
            let changes = Vec::new();
            tracks.push(Track { control, changes, ..ranged(name, range.guidance, range.steps(steps), borders, steps) });
        }
        if let Some(skip) = &recipe.skip_layers {
            let borders = [Border::SkipLayersStart, Border::SkipLayersEnd];
            let range = skip.steps(steps);
            tracks.push(ranged(tr!("create-skip-layers").to_owned(), skip.scale, range.start..range.end.min(steps), borders, steps));
        }
        for (index, lora) in recipe.loras.iter().enumerate() {
            let borders = [Border::LoraStart(index), Border::LoraEnd(index)];
            tracks.push(ranged(lora_name(&lora.path), lora.strength, lora.steps(steps), borders, steps));
        }
        if let Some(control) = recipe.control.as_ref().filter(|_| !reads_control) {
            let range = steps_before(control.start, steps)..steps_before(control.end, steps);
            let borders = [Border::ControlStart, Border::ControlEnd];
            tracks.push(ranged(tr!("create-control").to_owned(), control.strength, range, borders, steps));
        }
        Self { steps, tracks }
    }

    /// Without the tracks of these LoRAs, by their places in the list.
    #[must_use]
    pub(crate) fn without_loras(mut self, is_out: impl Fn(usize) -> bool) -> Self {
        let is_of = |handle: &Handle| matches!(handle.border, Border::LoraStart(at) | Border::LoraEnd(at) if is_out(at));
        self.tracks.retain(|track| !track.handles.iter().any(is_of));
        self
    }

    /// The number of ranges of steps that differ from their neighbours.
    #[must_use]
    pub(crate) fn range_count(&self) -> usize {
        let changes: BTreeSet<u32> = self.tracks.iter().flat_map(|track| &track.changes).copied().collect();
        changes.into_iter().filter(|at| (1..self.steps).contains(at)).count() + 1
    }
}

/// The recipe with a border after so many steps; `None` where it has no such border.
#[must_use]
pub(crate) fn moved(recipe: &Recipe, border: Border, at: u32) -> Option<Recipe> {
    let steps = recipe.steps_in_pass(0);
    let part = at.min(steps) as f32 / steps as f32;
    let mut recipe = recipe.clone();
    match border {
        Border::Words(group) => recipe.prompt = Prompt::parse(&recipe.prompt).with_change_after(group, at, steps)?,
        Border::NegativeWords(group) => {
            recipe.negative_prompt = Prompt::parse(&recipe.negative_prompt).with_change_after(group, at, steps)?;
        }
        Border::GuidanceStart(index) => recipe.guidance_ranges.get_mut(index)?.start = part,
        Border::GuidanceEnd(index) => recipe.guidance_ranges.get_mut(index)?.end = part,
        Border::LoraStart(index) => recipe.loras.get_mut(index)?.start = part,
        Border::LoraEnd(index) => recipe.loras.get_mut(index)?.end = part,
        Border::ControlStart => recipe.control.as_mut()?.start = part,
        Border::ControlEnd => recipe.control.as_mut()?.end = part,
        Border::SkipLayersStart => recipe.skip_layers.as_mut()?.start_after(at, steps),
        Border::SkipLayersEnd => recipe.skip_layers.as_mut()?.end_after(at, steps),
    }
    Some(recipe)
}

/// The recipe with another range of guidance, which is the same in the second half of the steps until
/// it is changed: the picture stays. `None` where there are as many as there can be.
#[must_use]
pub(crate) fn with_guidance_range(recipe: &Recipe) -> Option<Recipe> {
    if recipe.guidance_ranges.len() >= GuidanceRange::MAX {
        return None;
    }
    let steps = recipe.steps_in_pass(0);
    let mut recipe = recipe.clone();
    let range = GuidanceRange { guidance: recipe.guidance, start: (steps / 2) as f32 / steps as f32, end: 1.0 };
    recipe.guidance_ranges.push(range);
    Some(recipe)
}

/// The recipe with this guidance in a range of steps; `None` for a guidance: without that range.
#[must_use]
pub(crate) fn with_guidance_in(recipe: &Recipe, index: usize, guidance: Option<f32>) -> Option<Recipe> {
    let mut recipe = recipe.clone();
    let range = recipe.guidance_ranges.get_mut(index)?;
    match guidance {
        Some(guidance) => range.guidance = guidance,
        None => {
            recipe.guidance_ranges.remove(index);
        }
    }
    Some(recipe)
}

/// The first step, from 1, that the next pictures compute: those before it are the steps of pictures
/// of this session. `None` where one of them computes all of its steps. `count`: of the pictures.
#[must_use]
pub(crate) fn first_computed(session: &Session, recipe: &Recipe, count: u32) -> Option<u32> {
    /// Newest pictures of a seed that are looked at: the window waits for it.
    const MAX_LOOKED_AT: usize = 8;
    let first = recipe.seed?;
    if recipe.earlier_steps.is_empty() && !recipe.changes_over_steps() {
        return None;
    }
    let of_picture = |by| {
        let next = Recipe { seed: Some(first.after(by)), ..recipe.clone() };
        let made = session.iter().filter(|it| it.is_made_here && it.recipe.seed == next.seed).take(MAX_LOOKED_AT);
        made.filter_map(|it| next.first_computed_step(&it.recipe)).max()
    };
    let firsts: Option<Vec<u32>> = (0..u64::from(count.max(1))).map(of_picture).collect();
    firsts?.into_iter().min()
}

/// "‘stars’ from step 5 to 12".
#[must_use]
pub(crate) fn act_name(words: &str, steps: &Range<u32>) -> String {
    if steps.is_empty() {
        tr!("create-in-no-step", words)
    } else {
        tr!("create-from-step-to", words, first = steps.start + 1, last = steps.end)
    }
}

fn act(words: String, steps: Range<u32>) -> Option<Act> {
    (!words.is_empty() && !steps.is_empty()).then_some(Act { words, steps })
}

/// The steps that the next picture takes from earlier ones.
fn earlier_track(recipe: &Recipe) -> Option<Track> {
    let mut before = 0;
    let acts = recipe.earlier_steps.iter().filter_map(|it| {
        let words = it.picture.clone().unwrap_or_else(|| tr!("create-an-earlier-picture").to_owned());
        act(words, std::mem::replace(&mut before, it.until_step)..it.until_step)
    });
    let acts: Vec<Act> = acts.collect();
    let changes = acts.iter().map(|it| it.steps.end).collect();
    (!acts.is_empty()).then(|| Track { name: tr!("create-earlier").to_owned(), acts, changes, ..Track::default() })
}

/// A track for each change of words, and one for those that take turns.
fn word_tracks(text: &str, name: &str, border: fn(usize) -> Border, steps: u32) -> Vec<Track> {
    // It is asked with each key, and few prompts have brackets of steps.
    if !text.contains('[') {
        return Vec::new();
    }
    let prompt = Prompt::parse(text);
    let words = |range: Range<usize>| text.get(range).unwrap_or_default().trim().to_owned();
    let of_change = |StepChange { group, before, after, when, .. }: StepChange| {
        let at = when.steps_before(steps);
        let (before, after) = (words(before), words(after));
        let bounded = if after.is_empty() { act_name(&before, &(0..at)) } else { act_name(&after, &(at..steps)) };
        let handle = Handle { border: border(group), at, limits: (0, steps), name: bounded };
        let acts = [act(before, 0..at), act(after, at..steps)].into_iter().flatten().collect();
        Track { name: name.to_owned(), acts, handles: vec![handle], changes: vec![at], ..Track::default() }
    };
    let mut tracks: Vec<Track> = prompt.step_changes().into_iter().map(of_change).collect();
    for group in prompt.groups.iter().filter(|group| group.kind == GroupKind::Alternation) {
        let (Some(open), Some(close)) = (prompt.spans.get(group.open), prompt.spans.get(group.close)) else { continue };
        let acts = act(words(open.range.start..close.range.end), 0..steps).into_iter().collect();
        tracks.push(Track { name: name.to_owned(), acts, changes: (1..steps).collect(), ..Track::default() });
    }
    tracks
}

/// The guidance of all steps, and of those of earlier pictures.
fn guidance_track(recipe: &Recipe, steps: u32) -> Track {
    let of_others = recipe.earlier_steps.last().map_or(0, |it| it.until_step.min(steps));
    let earlier = recipe.earlier_steps.iter().map(|it| (it.until_step.min(steps), it.guidance));
    let own: Vec<(u32, f32)> = recipe.guidance_over_steps(steps).into_iter().filter(|(until, _)| *until > of_others).collect();
    // Borders of other pictures' steps are those of their own track.
    let changes = own.iter().map(|(until, _)| *until).filter(|until| *until < steps).collect();
    let mut before = 0;
    let acts = earlier.chain(own).filter_map(|(until, guidance)| {
        let range = std::mem::replace(&mut before, until)..until;
        act(guidance.to_string(), range)
    });
    let acts = acts.collect();
    let can_add = recipe.guidance_ranges.len() < GuidanceRange::MAX;
    Track {
        name: tr!("create-guidance").to_owned(),
        acts,
        changes,
        control: can_add.then_some(TrackControl::AddGuidance),
        ..Track::default()
    }
}

/// What acts with a strength in one range of the steps.
fn ranged(name: String, strength: f32, range: Range<u32>, borders: [Border; 2], steps: u32) -> Track {
    let what = act_name(&name, &range);
    let [start, end] = borders;
    let handles = vec![
        Handle { border: start, at: range.start, limits: (0, range.end.saturating_sub(1)), name: tr!("create-start-of", what) },
        Handle { border: end, at: range.end, limits: ((range.start + 1).min(steps), steps), name: tr!("create-end-of", what) },
    ];
    let changes = if range.is_empty() { Vec::new() } else { vec![range.start, range.end] };
    Track { name, acts: act(decimal(f64::from(strength), 2), range).into_iter().collect(), handles, control: None, changes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{ControlImage, ImageSource, Lora, SkipLayers};

    fn full() -> Recipe {
        Recipe {
            prompt: "a [lake:red fox:0.4] [a|b]".into(),
            negative_prompt: "[fog::5]".into(),
            steps: 10,
            loras: vec![Lora { end: 0.5, ..Lora::new("/loras/ink.safetensors".into(), 0.8) }],
            control: Some(ControlImage::new(ImageSource::File("pose.png".into()))),
            skip_layers: Some(SkipLayers { start: 0.0, end: 0.5, ..SkipLayers::default() }),
            guidance_ranges: vec![GuidanceRange { guidance: 1.0, start: 0.2, end: 0.6 }],
            ..Recipe::default()
        }
    }

    /// Where each handle is, of the ruler of a recipe.
    fn handles(recipe: &Recipe) -> Vec<(Border, u32)> {
        Ruler::of(recipe, false).tracks.iter().flat_map(|track| &track.handles).map(|it| (it.border, it.at)).collect()
    }

    #[test]
    fn each_thing_that_acts_in_some_steps_has_a_track() {
        let ruler = Ruler::of(&full(), false);
        let names: Vec<&str> = ruler.tracks.iter().flat_map(|track| &track.handles).map(|it| it.name.as_str()).collect();
        assert_eq!(
            names[..6],
            [
                "‘red fox’ from step 5 to 10",
                "‘fog’ from step 1 to 5",
                "Start of ‘Guidance, range 1’ from step 3 to 6",
                "End of ‘Guidance, range 1’ from step 3 to 6",
                "Start of ‘Skip layers’ from step 1 to 4",
                "End of ‘Skip layers’ from step 1 to 4"
            ]
        );
        assert_eq!(names[6..8], ["Start of ‘ink’ from step 1 to 5", "End of ‘ink’ from step 1 to 5"]);
        assert!(names[8].starts_with("Start of") && names.len() == 10);
        assert_eq!(Ruler::of(&full(), true).tracks.len() + 1, ruler.tracks.len(), "what reads control itself has it in all steps");
        assert_eq!(ruler.clone().without_loras(|at| at > 0), ruler);
        assert_eq!(ruler.clone().without_loras(|at| at == 0).tracks.len() + 1, ruler.tracks.len(), "the prompt names it");
        assert_eq!(ruler.range_count(), 10, "words take turns at each step");
        let few = Recipe {
            prompt: "a [lake:red fox:0.4]".into(),
            negative_prompt: String::new(),
            skip_layers: None,
            guidance_ranges: Vec::new(),
            ..full()
        };
        assert_eq!(Ruler::of(&few, false).range_count(), 3);
        assert_eq!(Ruler::of(&Recipe::default(), false).range_count(), 1);
        let branch = Recipe { earlier_steps: few.steps_until(3, Some("1.png".into())), ..Recipe { steps: 10, ..Recipe::default() } };
        assert_eq!((Ruler::of(&branch, false).range_count(), Ruler::of(&branch, false).tracks[0].acts[0].words.as_str()), (2, "1.png"));
    }

    #[test]
    fn a_range_of_guidance_changes_nothing_until_its_guidance_is_another() {
        let plain = Recipe { steps: 9, guidance: 7.0, ..Recipe::default() };
        let ranged = with_guidance_range(&plain).unwrap();
        let acts = |recipe: &Recipe| {
            let track = Ruler::of(recipe, false).tracks.into_iter().find(|it| it.name == "Guidance").unwrap();
            track.acts.into_iter().map(|act| (act.words, act.steps)).collect::<Vec<_>>()
        };
        assert_eq!(acts(&plain), [("7".to_owned(), 0..9)]);
        assert_eq!((acts(&ranged), Ruler::of(&ranged, false).range_count()), (acts(&plain), 1));
        let low = with_guidance_in(&ranged, 0, Some(1.0)).unwrap();
        assert_eq!(acts(&low), [("7".to_owned(), 0..4), ("1".to_owned(), 4..9)]);
        assert_eq!(Ruler::of(&low, false).range_count(), 2);
        assert_eq!(with_guidance_in(&low, 0, None), Some(plain.clone()));
        assert_eq!(with_guidance_in(&plain, 0, None), None);
        let branch = Recipe { earlier_steps: low.steps_until(6, None), guidance_ranges: Vec::new(), ..low };
        assert_eq!(acts(&branch), [("7".to_owned(), 0..4), ("1".to_owned(), 4..6), ("7".to_owned(), 6..9)]);
        let mut full = plain;
        while let Some(more) = with_guidance_range(&full) {
            full = more;
        }
        assert_eq!(full.guidance_ranges.len(), GuidanceRange::MAX);
        assert!(Ruler::of(&full, false).tracks.iter().all(|it| it.control != Some(TrackControl::AddGuidance)));
    }

    #[test]
    fn a_border_goes_wherever_it_is_moved_and_takes_no_other_with_it() {
        let recipe = full();
        for (number, (border, _)) in handles(&recipe).into_iter().enumerate() {
            let (least, most) = Ruler::of(&recipe, false).tracks.iter().flat_map(|track| &track.handles).nth(number).unwrap().limits;
            for at in least..=most {
                let after = moved(&recipe, border, at).unwrap();
                let mut expected = handles(&recipe);
                expected[number].1 = at;
                assert_eq!(handles(&after), expected, "{border:?} to {at}");
            }
        }
        assert_eq!(moved(&recipe, Border::Words(0), 7).unwrap().prompt, "a [lake:red fox:0.7] [a|b]");
        assert_eq!(moved(&recipe, Border::LoraEnd(1), 7), None);
    }
}
