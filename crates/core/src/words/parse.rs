//! Cuts a prompt into spans: one way through the text, with the open brackets in a bounded stack.

use std::ops::Range;

use super::lexeme::{BLOCK_COMMENT, BLOCK_COMMENT_END, block_comment, comment_mark, header, json, no_number, piece, share, weight, when};
use super::span::{Fault, FaultKind, Group, GroupKind, Prompt, Span, SpanKind};
use super::{MAX_DEPTH, MAX_FAULTS};

/// A bracket that is open.
struct Frame {
    bracket: char,
    /// Index of its span.
    open: usize,
    /// Indices of spans that may be its marks: words, if it turns out otherwise.
    marks: Vec<usize>,
    /// Its number, where it becomes a group.
    group: usize,
    header: Option<GroupKind>,
}

struct Parser<'a> {
    text: &'a str,
    spans: Vec<Span>,
    groups: Vec<Group>,
    faults: Vec<Fault>,
    frames: Vec<Frame>,
    /// Numbers of groups that were never closed are left out at the end.
    next_group: usize,
    closed: Vec<(usize, Group)>,
    /// Places of the braces that have another half, in rising order.
    closed_braces: Vec<usize>,
    has_open_json: bool,
    has_open_comment: bool,
    /// Where comments are words: the places of their marks.
    comment_marks: Option<Vec<usize>>,
    /// There too: the place at which the last comment of several lines could end.
    last_comment_end: Option<usize>,
}

impl<'a> Prompt<'a> {
    /// The parts of a text.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let mut parser = Parser::new(text);
        parser.run();
        parser.finish()
    }

    /// The parts of words that are a template no longer, or never were one: nothing in them is a
    /// comment.
    #[must_use]
    pub fn parse_chosen(text: &'a str) -> Self {
        let mut parser = Parser::with_comments_as_words(text);
        parser.run();
        parser.finish()
    }

    /// The text in which each mark of a comment is escaped, so that all of it is words.
    #[must_use]
    pub fn with_comments_as_letters(&self) -> String {
        let mut parser = Parser::with_comments_as_words(self.text);
        parser.run();
        let marks = parser.comment_marks.unwrap_or_default();
        let mut letters = String::with_capacity(self.text.len() + marks.len());
        let mut copied = 0;
        for mark in marks {
            letters.push_str(self.text.get(copied..mark).unwrap_or_default());
            letters.push('\\');
            copied = mark;
        }
        letters.push_str(self.text.get(copied..).unwrap_or_default());
        letters
    }
}

/// Places of the braces that are closed: what stands within one that is not belongs to none.
fn closed_braces(text: &str) -> Vec<usize> {
    let (mut open, mut closed, mut is_escaped) = (Vec::new(), Vec::new(), false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' => open.push(at),
            b'}' => closed.extend(open.pop()),
            _ => {}
        }
    }
    closed.sort_unstable();
    closed
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            spans: Vec::new(),
            groups: Vec::new(),
            faults: Vec::new(),
            frames: Vec::new(),
            next_group: 0,
            closed: Vec::new(),
            closed_braces: closed_braces(text),
            has_open_json: false,
            has_open_comment: false,
            comment_marks: None,
            last_comment_end: None,
        }
    }

    fn with_comments_as_words(text: &'a str) -> Self {
        Self { comment_marks: Some(Vec::new()), last_comment_end: text.rfind(BLOCK_COMMENT_END), ..Self::new(text) }
    }

    fn run(&mut self) {
        let mut at = 0;
        let mut before = None;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let end = self.step(at, rest, before);
            before = self.text.get(at..end).and_then(|it| it.chars().next_back());
            at = end;
        }
        while let Some(frame) = self.frames.pop() {
            self.give_up(&frame);
        }
    }

    /// Takes what begins at a place; returns its end.
    fn step(&mut self, at: usize, rest: &str, before: Option<char>) -> usize {
        let first = rest.chars().next().unwrap_or_default();
        if let Some(mark) = self.comment_as_words(rest, before) {
            self.comment_marks.get_or_insert_default().push(at);
            return self.push(at..at + mark, SpanKind::Words);
        }
        if let Some((kind, bytes)) = piece(rest, before) {
            return self.push(at..at + bytes, kind);
        }
        let end = at + first.len_utf8();
        match first {
            '{' if !self.has_open_json => match json(rest) {
                Some(Ok(bytes)) => return self.push(at..at + bytes, SpanKind::Json),
                Some(Err(())) => self.has_open_json = true,
                None => {}
            },
            '/' if !self.has_open_comment => match block_comment(rest) {
                Some(Ok(bytes)) => return self.push(at..at + bytes, SpanKind::Comment),
                Some(Err(())) => {
                    self.has_open_comment = true;
                    self.fault(at..at + 2, FaultKind::OpenComment);
                }
                None => {}
            },
            _ => {}
        }
        match first {
            '{' if self.closed_braces.binary_search(&at).is_err() => {
                self.fault(at..end, FaultKind::Unclosed);
                self.push(at..end, SpanKind::Words)
            }
            '(' | '[' | '{' => self.open(first, at),
            ')' | ']' | '}' => self.close(first, at..end),
            '|' => self.bar(at..end),
            ':' => self.colon(at, rest),
            _ => self.push(at..end, SpanKind::Words),
        }
    }

    /// The bytes of a comment's mark at a place, where comments are words.
    fn comment_as_words(&self, rest: &str, before: Option<char>) -> Option<usize> {
        self.comment_marks.as_ref()?;
        let line = || comment_mark(rest).filter(|_| before.is_none_or(char::is_whitespace));
        // That no end follows it is seen once for all marks.
        let block = || {
            let inner = rest.strip_prefix(BLOCK_COMMENT).filter(|_| !self.has_open_comment)?;
            let is_closed = self.last_comment_end.is_some_and(|end| end + inner.len() >= self.text.len());
            is_closed.then_some(BLOCK_COMMENT.len())
        };
        line().or_else(block)
    }

    /// Adds a span, words to those before; returns its end.
    fn push(&mut self, range: Range<usize>, kind: SpanKind) -> usize {
        let end = range.end;
        match self.spans.last_mut() {
            Some(last) if kind == SpanKind::Words && last.kind == SpanKind::Words => last.range.end = end,
            _ => self.spans.push(Span { range, kind }),
        }
        end
    }

    fn fault(&mut self, range: Range<usize>, kind: FaultKind) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault { range, kind });
        }
    }

    fn open(&mut self, bracket: char, at: usize) -> usize {
        if self.frames.len() >= MAX_DEPTH {
            self.fault(at..at + 1, FaultKind::TooDeep);
            return self.push(at..at + 1, SpanKind::Words);
        }
        let group = self.next_group;
        self.next_group += 1;
        let open = self.spans.len();
        self.spans.push(Span { range: at..at + 1, kind: SpanKind::Open(group) });
        let mut frame = Frame { bracket, open, marks: Vec::new(), group, header: None };
        let mut end = at + 1;
        if bracket == '{' {
            if let Some(found) = self.text.get(end..).and_then(header) {
                let between = found.between.map(|it| it.start + end..it.end + end);
                frame.header = Some(GroupKind::Choice { least: found.least, most: found.most, between });
                frame.marks.push(self.spans.len());
                end = self.push(end..end + found.bytes, SpanKind::Header(group));
            }
            end = self.option(&mut frame, end);
        }
        self.frames.push(frame);
        end
    }

    /// What may stand at the start of an option.
    fn option(&mut self, frame: &mut Frame, at: usize) -> usize {
        match self.text.get(at..).and_then(share) {
            Some((_, bytes)) => {
                frame.marks.push(self.spans.len());
                self.push(at..at + bytes, SpanKind::Share(frame.group))
            }
            None => at,
        }
    }

    fn bar(&mut self, range: Range<usize>) -> usize {
        // Round brackets do not hold options; those of a choice end with its option.
        let choice = self.frames.iter().rposition(|frame| frame.bracket == '{');
        let square = self.frames.last().is_some_and(|frame| frame.bracket == '[');
        let owner = if square { self.frames.len().checked_sub(1) } else { choice };
        let Some(owner) = owner else { return self.push(range, SpanKind::Words) };
        while self.frames.len() > owner + 1 {
            if let Some(frame) = self.frames.pop() {
                self.give_up(&frame);
            }
        }
        let Some(mut frame) = self.frames.pop() else { return self.push(range, SpanKind::Words) };
        frame.marks.push(self.spans.len());
        self.spans.push(Span { range: range.clone(), kind: SpanKind::Separator(frame.group) });
        let end = if frame.bracket == '{' { self.option(&mut frame, range.end) } else { range.end };
        self.frames.push(frame);
        end
    }

    fn colon(&mut self, at: usize, rest: &str) -> usize {
        let range = at..at + 1;
        let has_round = self.frames.iter().rev().take_while(|frame| frame.bracket != '{').any(|frame| frame.bracket == '(');
        if has_round && let Some((value, bytes)) = weight(rest) {
            return self.close_as('(', at..at + bytes, Some(value));
        }
        match self.frames.last_mut() {
            Some(frame) if frame.bracket == '[' => {
                frame.marks.push(self.spans.len());
                let kind = SpanKind::Separator(frame.group);
                self.spans.push(Span { range, kind });
                return at + 1;
            }
            _ => {}
        }
        if let (true, Some(bytes)) = (has_round, no_number(rest)) {
            self.fault(at..at + bytes, FaultKind::NoNumber);
        }
        self.push(range, SpanKind::Words)
    }

    fn close(&mut self, bracket: char, range: Range<usize>) -> usize {
        let opening = match bracket {
            ')' => '(',
            ']' => '[',
            _ => '{',
        };
        self.close_as(opening, range, None)
    }

    /// Closes the innermost open bracket of a kind, if there is one; those within it are letters.
    fn close_as(&mut self, opening: char, range: Range<usize>, weight: Option<f32>) -> usize {
        let Some(owner) = self.frames.iter().rposition(|frame| frame.bracket == opening) else {
            self.fault(range.clone(), FaultKind::Unopened);
            return self.push(range, SpanKind::Words);
        };
        // A bracket within an option closes none outside of it.
        let is_held = opening != '{' && self.frames.iter().skip(owner).any(|frame| frame.bracket == '{');
        if is_held {
            self.fault(range.clone(), FaultKind::Unopened);
            return self.push(range, SpanKind::Words);
        }
        while self.frames.len() > owner + 1 {
            if let Some(frame) = self.frames.pop() {
                self.give_up(&frame);
            }
        }
        let Some(frame) = self.frames.pop() else { return self.push(range, SpanKind::Words) };
        let kind = match (opening, weight) {
            ('(', Some(value)) => Some(GroupKind::Weight(value)),
            ('(', None) => Some(GroupKind::More),
            ('[', _) => return self.close_square(&frame, range),
            _ => self.choice(&frame),
        };
        if let Some(kind) = kind {
            return self.close_group(&frame, kind, range);
        }
        // Braces without options are letters.
        self.make_words(&frame);
        self.push(range, SpanKind::Words)
    }

    fn choice(&self, frame: &Frame) -> Option<GroupKind> {
        let has_options = self.marks(frame).any(|span| matches!(span.kind, SpanKind::Separator(_)));
        let usual = || has_options.then_some(GroupKind::Choice { least: 1, most: 1, between: None });
        frame.header.clone().or_else(usual)
    }

    /// What square brackets mean is known at their end.
    fn close_square(&mut self, frame: &Frame, range: Range<usize>) -> usize {
        let is_colon = |span: &Span| self.text.get(span.range.clone()) == Some(":");
        let colons: Vec<usize> = frame.marks.iter().copied().filter(|at| self.spans.get(*at).is_some_and(is_colon)).collect();
        let has_bars = colons.len() < frame.marks.len();
        let last = colons.last().copied();
        let time = last.and_then(|last| {
            let start = self.spans.get(last)?.range.end;
            when(self.text.get(start..range.start)?).map(|time| (last, time))
        });
        if let (Some((last, time)), 1..=2) = (time, colons.len()) {
            let bars: Vec<usize> = frame.marks.iter().copied().filter(|at| !colons.contains(at)).collect();
            self.words(&bars);
            // The number belongs to the bracket.
            let start = self.spans.get(last).map_or(range.start, |span| span.range.start);
            self.spans.truncate(last);
            return self.close_group(frame, GroupKind::Schedule(time), start..range.end);
        }
        self.words(&colons);
        let kind = if has_bars { GroupKind::Alternation } else { GroupKind::Less };
        self.close_group(frame, kind, range)
    }

    fn close_group(&mut self, frame: &Frame, kind: GroupKind, range: Range<usize>) -> usize {
        let close = self.spans.len();
        let end = range.end;
        self.spans.push(Span { range, kind: SpanKind::Close(frame.group) });
        self.closed.push((frame.group, Group { kind, open: frame.open, close }));
        end
    }

    /// A bracket that is never closed is a letter, and so are its marks.
    fn give_up(&mut self, frame: &Frame) {
        if let Some(span) = self.spans.get(frame.open) {
            let range = span.range.clone();
            self.fault(range, FaultKind::Unclosed);
        }
        self.make_words(frame);
    }

    fn make_words(&mut self, frame: &Frame) {
        self.words(&[frame.open]);
        self.words(&frame.marks);
    }

    fn words(&mut self, indices: &[usize]) {
        for index in indices {
            if let Some(span) = self.spans.get_mut(*index) {
                span.kind = SpanKind::Words;
            }
        }
    }

    fn marks<'b>(&'b self, frame: &'b Frame) -> impl Iterator<Item = &'b Span> {
        frame.marks.iter().filter_map(|at| self.spans.get(*at))
    }

    fn find_loras_in_turns(&mut self, spans: &[Span]) {
        let mut depth = 0_usize;
        for span in spans {
            let takes_turns = |number: usize| self.groups.get(number).is_some_and(|group| group.kind == GroupKind::Alternation);
            match span.kind {
                SpanKind::Open(number) if takes_turns(number) => depth += 1,
                SpanKind::Close(number) if takes_turns(number) => depth = depth.saturating_sub(1),
                SpanKind::Lora if depth > 0 => self.fault(span.range.clone(), FaultKind::LoraInTurns),
                _ => {}
            }
        }
    }

    /// Joins neighbours that are words, and numbers groups as they open.
    fn finish(mut self) -> Prompt<'a> {
        self.closed.sort_by_key(|(number, _)| *number);
        let mut numbers = vec![0; self.next_group];
        for (new, (old, group)) in std::mem::take(&mut self.closed).into_iter().enumerate() {
            if let Some(number) = numbers.get_mut(old) {
                *number = new;
            }
            self.groups.push(group);
        }
        let number = |old: usize| numbers.get(old).copied().unwrap_or_default();
        let mut spans: Vec<Span> = Vec::with_capacity(self.spans.len());
        for span in std::mem::take(&mut self.spans) {
            let kind = match span.kind {
                SpanKind::Open(group) => SpanKind::Open(number(group)),
                SpanKind::Header(group) => SpanKind::Header(number(group)),
                SpanKind::Share(group) => SpanKind::Share(number(group)),
                SpanKind::Separator(group) => SpanKind::Separator(number(group)),
                SpanKind::Close(group) => SpanKind::Close(number(group)),
                other => other,
            };
            match (spans.last_mut(), kind) {
                (Some(last), SpanKind::Words) if last.kind == SpanKind::Words => last.range.end = span.range.end,
                _ => spans.push(Span { range: span.range, kind }),
            }
            let at = spans.len() - 1;
            match kind {
                SpanKind::Open(group) => {
                    if let Some(group) = self.groups.get_mut(group) {
                        group.open = at;
                    }
                }
                SpanKind::Close(group) => {
                    if let Some(group) = self.groups.get_mut(group) {
                        group.close = at;
                    }
                }
                _ => {}
            }
        }
        self.find_loras_in_turns(&spans);
        self.faults.sort_by_key(|fault| fault.range.start);
        Prompt { text: self.text, spans, groups: self.groups, faults: self.faults }
    }
}
