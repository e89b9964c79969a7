//! Words that change over the steps, as ranges of steps with a prompt each.

use std::ops::Range;

use super::span::{GroupKind, Prompt, SpanKind};

/// Steps with one prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepWords {
    /// The last of these steps, from 1; they begin after those of the entry before.
    pub until_step: u32,
    /// Their prompt.
    pub prompt: String,
}

impl Prompt<'_> {
    /// The prompts of a picture of this many steps, one after another: the last one reaches to its
    /// end. `None` where there would be more than `most`.
    #[must_use]
    pub fn over_steps(&self, steps: u32, most: usize) -> Option<Vec<StepWords>> {
        let alternates = self.groups.iter().any(|group| group.kind == GroupKind::Alternation);
        let mut ends: Vec<u32> = Vec::new();
        if alternates {
            // Each step may be another, and few of them are computed before it is too many.
            ends.extend(1..=steps);
        } else {
            ends.extend(self.groups.iter().filter_map(|group| match group.kind {
                GroupKind::Schedule(when) => Some(when.steps_before(steps)),
                _ => None,
            }));
            ends.push(steps);
            ends.sort_unstable();
            ends.dedup();
        }
        let mut ranges: Vec<StepWords> = Vec::new();
        for until_step in ends.into_iter().filter(|end| *end > 0) {
            let prompt = self.at_step(until_step, steps);
            if let Some(last) = ranges.last_mut().filter(|last| last.prompt == prompt) {
                last.until_step = until_step;
            } else if ranges.len() >= most {
                return None;
            } else {
                ranges.push(StepWords { until_step, prompt });
            }
        }
        Some(ranges)
    }

    /// The prompt of one step, from 1.
    #[must_use]
    pub fn at_step(&self, step: u32, steps: u32) -> String {
        let mut out = String::new();
        self.write_step(0..self.spans.len(), (step, steps), &mut out);
        out
    }

    fn write_step(&self, spans: Range<usize>, time: (u32, u32), out: &mut String) {
        let (step, steps) = time;
        let mut index = spans.start;
        while let Some(span) = self.spans.get(index).filter(|_| index < spans.end) {
            index += 1;
            let group = match span.kind {
                SpanKind::Open(number) => self.groups.get(number).map(|group| (number, group)),
                _ => None,
            };
            let shown = match group.map(|(number, group)| (number, &group.kind)) {
                Some((number, GroupKind::Schedule(when))) => {
                    let is_later = step > when.steps_before(steps);
                    let parts = self.parts(number);
                    // With one text alone it comes, and with an empty second one the first goes.
                    if is_later { parts.last().cloned() } else { parts.first().filter(|_| parts.len() > 1).cloned() }
                }
                Some((number, GroupKind::Alternation)) => {
                    let parts = self.parts(number);
                    let turn = step.saturating_sub(1) as usize % parts.len().max(1);
                    parts.get(turn).cloned()
                }
                _ => {
                    out.push_str(self.text_of(span));
                    continue;
                }
            };
            if let Some(part) = shown {
                self.write_step(part, time, out);
            }
            index = group.map_or(index, |(_, group)| group.close + 1);
        }
    }
}
