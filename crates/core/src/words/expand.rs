//! From a template to a prompt: choices are made, wildcards become lines of their lists, and
//! comments go.

use std::ops::Range;

use super::MAX_FAULTS;
use super::chooser::{Chooser, EveryWay};
use super::draw::Draw;
use super::lexeme::{share, wildcard_name};
use super::lora::take_loras_with_comments;
use super::span::{Fault, FaultKind, GroupKind, Prompt, SpanKind};
use crate::recipe::ROWS;

/// Lists within lists within lists.
pub const MAX_WILDCARDS_DEEP: usize = 8;
/// Options and lines that are drawn for one prompt.
const MAX_DRAWS: usize = 5_000;
/// What stands between several options where nothing is said, as the dynamicprompts package has it.
const BETWEEN: &str = ",";
/// Steps of a picture by which words over steps are read: more than any has.
const LAST_STEP: u32 = 10_000;

/// The lists that wildcards name.
pub trait Wildcards {
    /// The lines of the lists of this name, in which `*` stands for any; none where there is no
    /// such list.
    fn lines(&self, name: &str) -> Vec<&str>;
}

/// No lists at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWildcards;

impl Wildcards for NoWildcards {
    fn lines(&self, _: &str) -> Vec<&str> {
        Vec::new()
    }
}

/// Lists of which nothing comes.
struct EmptyLists;

impl Wildcards for EmptyLists {
    fn lines(&self, _: &str) -> Vec<&str> {
        vec![""]
    }
}

/// What became of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    /// The prompt.
    pub prompt: String,
    /// What was chosen, in the order of the template: its bytes there, and the text in their place.
    pub chosen: Vec<(Range<usize>, String)>,
    /// What went wrong; each place is of the template.
    pub faults: Vec<Fault>,
}

impl Prompt<'_> {
    /// The prompt that this template becomes, with what `draw` chooses.
    #[must_use]
    pub fn expand(&self, draw: &mut Draw, wildcards: &dyn Wildcards) -> Expansion {
        self.expand_by(draw, wildcards)
    }

    /// The names of lists in it, with their bytes.
    pub fn wildcards(&self) -> impl Iterator<Item = (Range<usize>, &str)> {
        let named = self.spans.iter().filter(|span| span.kind == SpanKind::Wildcard);
        named.map(move |span| (span.range.clone(), wildcard_name(self.text_of(span))))
    }

    /// Every prompt that this template can become, each once, what is written first before the
    /// rest; `None` where it can in more than `most` ways.
    #[must_use]
    pub fn expansions(&self, most: usize, wildcards: &dyn Wildcards) -> Option<Vec<String>> {
        let (mut ways, mut prompts) = (EveryWay::default(), Vec::new());
        for _ in 0..most {
            let prompt = self.expand_by(&mut ways, wildcards).prompt;
            if !prompts.contains(&prompt) {
                prompts.push(prompt);
            }
            if !ways.advance() {
                return Some(prompts);
            }
        }
        None
    }

    /// Words that a model reads for one of the pictures, before anything is chosen: of each choice
    /// what is written first, of lists nothing, of words over steps those of the last one, and no
    /// LoRAs.
    #[must_use]
    pub fn sample(&self) -> String {
        let template = if self.is_template() { self.expand_by(&mut EveryWay::default(), &EmptyLists).prompt } else { self.text.to_owned() };
        let (words, _) = take_loras_with_comments(&template);
        let prompt = Prompt::parse_chosen(&words);
        if prompt.changes_over_steps() { prompt.at_step(LAST_STEP, LAST_STEP) } else { words }
    }

    /// True where its pictures, or their steps, may have different words.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.has_choices() || self.names_wildcards() || self.changes_over_steps()
    }

    /// The template of this text as it stands: what would be chosen in it, or be a comment, is letters.
    #[must_use]
    pub fn as_letters(&self) -> String {
        let text = self.with_comments_as_letters();
        let words = Prompt::parse(&text);
        let mut letters = String::with_capacity(words.text.len());
        for span in &words.spans {
            let is_mark = match span.kind {
                SpanKind::Open(group) | SpanKind::Separator(group) | SpanKind::Close(group) => words.is_choice(group),
                kind => kind == SpanKind::Wildcard,
            };
            letters.extend(is_mark.then_some('\\'));
            letters.push_str(words.text_of(span));
        }
        letters
    }

    fn expand_by(&self, chooser: &mut dyn Chooser, wildcards: &dyn Wildcards) -> Expansion {
        let made = Expansion::default();
        let mut expander = Expander { chooser, wildcards, draws_left: MAX_DRAWS, names: Vec::new(), origin: None, made };
        let mut prompt = String::new();
        expander.walk(self, 0..self.spans.len(), &mut prompt);
        Expansion { prompt, ..expander.made }
    }
}

struct Expander<'a> {
    chooser: &'a mut dyn Chooser,
    wildcards: &'a dyn Wildcards,
    draws_left: usize,
    /// The wildcards within which this text lies.
    names: Vec<String>,
    /// The bytes of the template from which this text comes, where it is not the template itself.
    origin: Option<Range<usize>>,
    made: Expansion,
}

/// An option: spans of the text that is looked at, or a line of a list.
enum Choice<'a> {
    Spans(Range<usize>),
    Line(&'a str, &'a str),
}

impl Expander<'_> {
    fn fault(&mut self, range: &Range<usize>, kind: FaultKind) {
        let range = self.origin.clone().unwrap_or_else(|| range.clone());
        let fault = Fault { range, kind };
        if self.made.faults.len() < MAX_FAULTS && !self.made.faults.contains(&fault) {
            self.made.faults.push(fault);
        }
    }

    /// Adds as much of a text as a prompt may have.
    fn push(&mut self, out: &mut String, text: &str, range: &Range<usize>) {
        // A character has four bytes at most.
        let room = (ROWS.prompt.limits * 4).saturating_sub(out.len());
        let cut = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last().unwrap_or_default();
        if text.len() <= room {
            out.push_str(text);
        } else {
            out.push_str(text.get(..cut).unwrap_or_default());
            self.fault(range, FaultKind::TooLong);
        }
    }

    fn walk(&mut self, prompt: &Prompt<'_>, spans: Range<usize>, out: &mut String) {
        let mut index = spans.start;
        let mut skips_line = false;
        while let Some(span) = prompt.spans.get(index).filter(|_| index < spans.end) {
            let mut text = prompt.text_of(span);
            if std::mem::take(&mut skips_line) {
                text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
            }
            index += 1;
            match span.kind {
                SpanKind::Comment => {
                    out.truncate(out.trim_end_matches([' ', '\t']).len());
                    skips_line = out.is_empty() || out.ends_with('\n');
                }
                SpanKind::Wildcard => self.wildcard(text, &span.range, out),
                SpanKind::Literal if prompt.is_own_escape(span) => self.push(out, text.get(1..).unwrap_or(text), &span.range),
                SpanKind::Open(group) if prompt.is_choice(group) => {
                    self.choice(prompt, group, out);
                    index = prompt.groups.get(group).map_or(index, |group| group.close + 1);
                }
                _ => self.push(out, text, &span.range),
            }
        }
    }

    fn choice(&mut self, prompt: &Prompt<'_>, number: usize, out: &mut String) {
        let Some(group) = prompt.groups.get(number) else { return };
        let GroupKind::Choice { least, most, between } = &group.kind else { return };
        let start = prompt.spans.get(group.open).map_or(0, |span| span.range.start);
        let end = prompt.spans.get(group.close).map_or(start, |span| span.range.end);
        let wildcards = self.wildcards;
        let (mut options, mut shares) = (Vec::new(), Vec::new());
        for part in prompt.parts(number) {
            let first = prompt.spans.get(part.start).filter(|_| !part.is_empty());
            let own = first.filter(|span| matches!(span.kind, SpanKind::Share(of) if of == number));
            let own_share = own.and_then(|span| share(prompt.text_of(span))).map_or(1.0, |(share, _)| share);
            let part = if own.is_some() { part.start + 1..part.end } else { part };
            options.push(Choice::Spans(part));
            shares.push(own_share);
        }
        // Several of one list are several of its lines.
        if let [Choice::Spans(part)] = options.as_slice()
            && part.len() == 1
            && let Some(span) = prompt.spans.get(part.start).filter(|span| span.kind == SpanKind::Wildcard)
        {
            let name = wildcard_name(prompt.text_of(span));
            let lines = wildcards.lines(name);
            if !lines.is_empty() {
                shares = lines.iter().map(|line| line_share(line).0).collect();
                options = lines.into_iter().map(|line| Choice::Line(name, line_share(line).1)).collect();
            }
        }
        let count = u32::try_from(options.len()).unwrap_or(u32::MAX);
        let wanted = self.chooser.between((*least).min(count), (*most).min(count));
        let mut chosen = String::new();
        for at in 0..wanted {
            let Some(index) = self.take_draw(start..end).then(|| self.chooser.index(&shares)).flatten() else { break };
            if let Some(share) = shares.get_mut(index) {
                *share = 0.0;
            }
            if at > 0 {
                let text = between.as_ref().and_then(|range| prompt.text.get(range.clone())).unwrap_or(BETWEEN);
                self.push(&mut chosen, text, &(start..end));
            }
            match options.get(index) {
                Some(Choice::Spans(part)) => {
                    let mut text = String::new();
                    self.nested(|it| it.walk(prompt, part.clone(), &mut text));
                    let has_share = part
                        .start
                        .checked_sub(1)
                        .and_then(|at| prompt.spans.get(at))
                        .is_some_and(|it| matches!(it.kind, SpanKind::Share(_)));
                    let text = if has_share { text.as_str() } else { text.trim_start() };
                    self.push(&mut chosen, text, &(start..end));
                }
                Some(Choice::Line(name, line)) => self.line(name, line, &(start..end), &mut chosen),
                None => {}
            }
        }
        self.push(out, &chosen, &(start..end));
        self.chose(start..end, chosen);
    }

    fn wildcard(&mut self, text: &str, range: &Range<usize>, out: &mut String) {
        let name = wildcard_name(text);
        let lines = self.wildcards.lines(name);
        if lines.is_empty() {
            self.fault(range, FaultKind::UnknownWildcard);
            return self.push(out, text, range);
        }
        let shares: Vec<f64> = lines.iter().map(|line| line_share(line).0).collect();
        let index = self.take_draw(range.clone()).then(|| self.chooser.index(&shares)).flatten();
        let mut chosen = String::new();
        if let Some(line) = index.and_then(|index| lines.get(index)) {
            self.line(name, line_share(line).1, range, &mut chosen);
        }
        self.push(out, &chosen, range);
        self.chose(range.clone(), chosen);
    }

    /// A line of a list is a template itself.
    fn line(&mut self, name: &str, line: &str, range: &Range<usize>, out: &mut String) {
        if self.names.len() >= MAX_WILDCARDS_DEEP || self.names.iter().any(|it| it == name) {
            return self.fault(range, FaultKind::EndlessWildcard);
        }
        self.names.push(name.to_owned());
        let origin = self.origin.clone();
        self.origin.get_or_insert_with(|| range.clone());
        let line = Prompt::parse(line);
        self.walk(&line, 0..line.spans.len(), out);
        self.origin = origin;
        self.names.pop();
    }

    /// What is chosen within an option is not told beside it.
    fn nested(&mut self, walk: impl FnOnce(&mut Self)) {
        let told = self.made.chosen.len();
        walk(self);
        self.made.chosen.truncate(told);
    }

    fn chose(&mut self, range: Range<usize>, text: String) {
        if self.origin.is_none() {
            self.made.chosen.push((range, text));
        }
    }

    fn take_draw(&mut self, range: Range<usize>) -> bool {
        let has_some = self.draws_left > 0;
        self.draws_left = self.draws_left.saturating_sub(1);
        if !has_some {
            self.fault(&range, FaultKind::TooLong);
        }
        has_some
    }
}

/// A line of a list, and its share where it begins with one.
fn line_share(line: &str) -> (f64, &str) {
    share(line).and_then(|(share, bytes)| Some((share, line.get(bytes..)?.trim_start()))).unwrap_or((1.0, line))
}
