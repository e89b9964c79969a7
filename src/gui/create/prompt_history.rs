//! Prompts of earlier pictures. Pure.

/// Prompts that are remembered, and bytes of one; a longer one is not.
const MAX_PROMPTS: usize = 200;
const MAX_BYTES: usize = 8 << 10;

/// Prompts of earlier pictures, newest first, and the place of the person who goes through them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptHistory {
    prompts: Vec<String>,
    /// Index of the prompt that is in the field; `None`: the person's own.
    at: Option<usize>,
    /// What was in the field before.
    draft: String,
    /// Text of the search.
    pub search: String,
}

impl PromptHistory {
    /// With these prompts, newest first.
    #[must_use]
    pub fn new(prompts: Vec<String>) -> Self {
        let mut history = Self::default();
        for prompt in prompts.into_iter().rev() {
            history.remember(&prompt);
        }
        history
    }

    /// The prompts, newest first.
    #[must_use]
    pub fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// Remembers a prompt as the newest.
    pub fn remember(&mut self, prompt: &str) {
        self.at = None;
        let prompt = prompt.trim();
        if prompt.is_empty() || prompt.len() > MAX_BYTES {
            return;
        }
        self.prompts.retain(|it| it != prompt);
        self.prompts.insert(0, prompt.to_owned());
        self.prompts.truncate(MAX_PROMPTS);
    }

    /// The prompt before the one in the field.
    pub fn older(&mut self, now: &str) -> Option<String> {
        let next = if let Some(at) = self.place(now) {
            at + 1
        } else {
            now.clone_into(&mut self.draft);
            // What is in the field already would be no step.
            usize::from(self.prompts.first().is_some_and(|it| it == now.trim()))
        };
        let prompt = self.prompts.get(next)?.clone();
        self.at = Some(next);
        Some(prompt)
    }

    /// The prompt after the one in the field; after the newest, what was in the field before.
    pub fn newer(&mut self, now: &str) -> Option<String> {
        let next = self.place(now)?.checked_sub(1);
        self.at = next;
        next.map_or_else(|| Some(self.draft.clone()), |next| self.prompts.get(next).cloned())
    }

    /// The place of the person, as long as the field holds that prompt.
    fn place(&self, now: &str) -> Option<usize> {
        self.at.filter(|at| self.prompts.get(*at).is_some_and(|it| it == now))
    }

    /// The prompts that have every word of the search, newest first.
    pub fn found(&self) -> impl Iterator<Item = &String> {
        let words: Vec<String> = self.search.to_lowercase().split_whitespace().map(str::to_owned).collect();
        self.prompts.iter().filter(move |prompt| {
            let prompt = prompt.to_lowercase();
            words.iter().all(|word| prompt.contains(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_back_and_forth_and_finds_ones_own_words_again() {
        let mut history = PromptHistory::default();
        for prompt in ["a lake", "a hut", "  ", "a lake"] {
            history.remember(prompt);
        }
        assert_eq!(history.prompts(), ["a lake", "a hut"]);
        let mut now = "half a thou".to_owned();
        assert_eq!(history.newer(&now), None);
        for expected in [Some("a lake"), Some("a hut"), None] {
            let older = history.older(&now);
            assert_eq!(older.as_deref(), expected);
            now = older.unwrap_or(now);
        }
        for expected in [Some("a lake"), Some("half a thou"), None] {
            let newer = history.newer(&now);
            assert_eq!(newer.as_deref(), expected);
            now = newer.unwrap_or(now);
        }
        assert_eq!(history.older("a lake").as_deref(), Some("a hut"), "what is in the field is no step");
        assert_eq!(history.older("changed").as_deref(), Some("a lake"), "who edits begins anew");
    }

    #[test]
    fn the_history_is_bounded_and_searched_by_words() {
        let mut history = PromptHistory::new((0..500).map(|n| format!("picture {n}")).collect());
        assert_eq!((history.prompts().len(), history.prompts()[0].as_str()), (200, "picture 0"));
        history.remember(&"x".repeat(MAX_BYTES + 1));
        history.search = "7 PICT".into();
        assert!(history.found().all(|prompt| prompt.contains('7')) && history.found().count() > 10);
        assert_eq!(PromptHistory::new(history.prompts().to_vec()).prompts(), history.prompts());
    }
}
