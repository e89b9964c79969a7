//! What a prompt is cut into. All places are bytes of its text.

use std::ops::Range;

use atelier_language::tr;

/// A prompt in parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt<'a> {
    /// The text itself.
    pub text: &'a str,
    /// Parts of the text: one after another, none empty, and together the whole of it.
    pub spans: Vec<Span>,
    /// Brackets that belong together, in the order in which they open.
    pub groups: Vec<Group>,
    /// What was probably meant otherwise, in the order of the text.
    pub faults: Vec<Fault>,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// What it is.
    pub kind: SpanKind,
}

/// What a part of a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Words, for the model to read.
    Words,
    /// A backslash and what it makes letters: the sign after it, the name of a list, the mark of a
    /// comment.
    Literal,
    /// Text in JSON, which no bracket of is ours.
    Json,
    /// For people alone: `# ...` and `// ...` to the end of a line, `/* ... */`.
    Comment,
    /// `<lora:name:strength>`.
    Lora,
    /// `embedding:name`.
    Embedding,
    /// `__name__`: a line of a list.
    Wildcard,
    /// `BREAK`: the words after it begin a chunk of CLIP's.
    Break,
    /// `AND`: another prompt beside the first, on models whose words CLIP reads.
    And,
    /// The bracket that opens this group.
    Open(usize),
    /// `2$$, $$` of this choice.
    Header(usize),
    /// `2::` before an option of this choice.
    Share(usize),
    /// `|`, or `:` of a schedule, between the parts of this group.
    Separator(usize),
    /// What ends this group: its bracket, with the number before it.
    Close(usize),
}

/// Brackets that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What they mean.
    pub kind: GroupKind,
    /// Index of the span that opens it.
    pub open: usize,
    /// Index of the span that closes it.
    pub close: usize,
}

/// What brackets mean.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupKind {
    /// `(words)`: 1.1 times the weight.
    More,
    /// `[words]`: 1/1.1 times the weight.
    Less,
    /// `(words:1.2)`: so many times the weight.
    Weight(f32),
    /// `{a|b}`, `{2$$a|b|c}`, `{1-2$$ and $$a|b|c}`: so many of the options at least and at most,
    /// and the bytes of what stands between them, a comma where it is not said.
    Choice {
        /// The fewest options.
        least: u32,
        /// The most options; those that there are limit it.
        most: u32,
        /// The text between options.
        between: Option<Range<usize>>,
    },
    /// `[from:to:when]`, `[to:when]`: other words from a step on.
    Schedule(When),
    /// `[a|b]`: the options in turn, one a step.
    Alternation,
}

/// When a schedule goes over to its second words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// After this share of the steps, 0 to 1.
    Share(f32),
    /// After this many steps.
    Step(u32),
}

impl When {
    /// The number of steps before the second words, of this many.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of few steps")]
    pub fn steps_before(self, steps: u32) -> u32 {
        match self {
            Self::Step(step) => step.min(steps),
            Self::Share(share) => ((steps as f32 * share.clamp(0.0, 1.0)) as u32).min(steps),
        }
    }
}

/// What was probably meant otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The bytes that it concerns.
    pub range: Range<usize>,
    /// What it is.
    pub kind: FaultKind,
}

/// Kinds of faults. None keeps a picture from being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A bracket that nothing closes.
    Unclosed,
    /// A bracket that closes nothing.
    Unopened,
    /// More brackets open at once than are understood.
    TooDeep,
    /// A weight that is no number.
    NoNumber,
    /// `/*` without its end.
    OpenComment,
    /// A LoRA within `[a|b]`.
    LoraInTurns,
    /// A wildcard of which no list is known.
    UnknownWildcard,
    /// A wildcard that names itself, or too many within each other.
    EndlessWildcard,
    /// The text became too long, and was cut.
    TooLong,
}

impl FaultKind {
    /// The sentence for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Unclosed => tr!("core-this-bracket-is-never"),
            Self::Unopened => tr!("core-this-bracket-closes-nothing"),
            Self::TooDeep => tr!("core-too-many-brackets-are"),
            Self::NoNumber => tr!("core-a-weight-is-a"),
            Self::OpenComment => tr!("core-this-comment-has-no"),
            Self::LoraInTurns => tr!("core-loras-do-not-take"),
            Self::UnknownWildcard => tr!("core-no-list-has-this"),
            Self::EndlessWildcard => tr!("core-this-list-leads-to"),
            Self::TooLong => tr!("core-the-prompt-became-too"),
        }
    }
}

impl<'a> Prompt<'a> {
    /// The text of a part.
    #[must_use]
    pub fn text_of(&self, span: &Span) -> &'a str {
        self.text.get(span.range.clone()).unwrap_or_default()
    }

    /// The text again, from its parts.
    #[must_use]
    pub fn print(&self) -> String {
        self.spans.iter().map(|span| self.text_of(span)).collect()
    }

    /// True where the text stands for several: something in it is chosen, or is for people alone.
    #[must_use]
    pub fn is_template(&self) -> bool {
        self.has_choices()
            || self.spans.iter().any(|span| matches!(span.kind, SpanKind::Wildcard | SpanKind::Comment) || self.is_own_escape(span))
    }

    /// True where one of several options is chosen.
    #[must_use]
    pub fn has_choices(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.kind, GroupKind::Choice { .. }))
    }

    /// True where a list of words is named.
    #[must_use]
    pub fn names_wildcards(&self) -> bool {
        self.spans.iter().any(|span| span.kind == SpanKind::Wildcard)
    }

    /// True where a part names a weight as a number.
    #[must_use]
    pub fn has_weights(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.kind, GroupKind::Weight(_)))
    }

    /// True where words change over the steps.
    #[must_use]
    pub fn changes_over_steps(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.kind, GroupKind::Schedule(_) | GroupKind::Alternation))
    }

    /// True where a group is a choice.
    pub(super) fn is_choice(&self, number: usize) -> bool {
        self.groups.get(number).is_some_and(|group| matches!(group.kind, GroupKind::Choice { .. }))
    }

    /// `\{`, `\|`, `\}`, `\__name__`, `\#`, `\//`, `\/*`: their backslash is of templates, and no encoder
    /// knows it.
    pub(super) fn is_own_escape(&self, span: &Span) -> bool {
        let is_ours = |letters: &str| letters.starts_with(['{', '|', '}', '_', '#', '/']);
        span.kind == SpanKind::Literal && self.text_of(span).get(1..).is_some_and(is_ours)
    }

    /// Spans between two of these indices, without the group's marks: the parts of a group.
    pub(super) fn parts(&self, number: usize) -> Vec<Range<usize>> {
        let Some(group) = self.groups.get(number) else { return Vec::new() };
        let mut parts = Vec::new();
        let mut start = group.open + 1;
        for index in group.open + 1..group.close {
            match self.spans.get(index).map(|span| span.kind) {
                Some(SpanKind::Header(of)) if of == number => start = index + 1,
                Some(SpanKind::Separator(of)) if of == number => {
                    parts.push(start..index);
                    start = index + 1;
                }
                _ => {}
            }
        }
        parts.push(start..group.close);
        parts
    }
}
