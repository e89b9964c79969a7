//! Who chooses in a template: a seed, or every way in turn.

/// What chooses where a template can become several texts.
pub(super) trait Chooser {
    /// A number from `least` to `most`.
    fn between(&mut self, least: u32, most: u32) -> u32;

    /// An index into shares of which at least one is above 0; `None` where none is.
    fn index(&mut self, shares: &[f64]) -> Option<usize>;
}

/// Chooses each way once, one template after the other, what is written first before the rest; the
/// dynamicprompts package calls this combinatorial.
#[derive(Debug, Default)]
pub(super) struct EveryWay {
    /// What this way chooses, in its order, each with the number that there is to choose from.
    chosen: Vec<(usize, usize)>,
    /// Those of them that the template has asked for.
    asked: usize,
}

impl EveryWay {
    fn choose(&mut self, count: usize) -> usize {
        let chosen = self.chosen.get(self.asked).map_or(0, |(chosen, _)| *chosen);
        if self.asked == self.chosen.len() {
            self.chosen.push((chosen, count));
        }
        self.asked += 1;
        chosen
    }

    /// Turns to the next way; false after the last one.
    pub(super) fn advance(&mut self) -> bool {
        self.asked = 0;
        while let Some((chosen, count)) = self.chosen.pop() {
            if chosen + 1 < count {
                self.chosen.push((chosen + 1, count));
                return true;
            }
        }
        false
    }
}

impl Chooser for EveryWay {
    fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.choose(most.saturating_sub(least) as usize + 1) as u32
    }

    fn index(&mut self, shares: &[f64]) -> Option<usize> {
        let open: Vec<usize> = shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(|(index, _)| index).collect();
        open.get(self.choose(open.len())).copied()
    }
}
