//! Where the settings stand in a text, and their pairs.

use std::borrow::Cow;

use super::key;

/// Fewer pairs than this are a line of prose.
pub(super) const FEWEST_PAIRS: usize = 3;
/// Pairs that are read; the longest lines of known programs have a few dozen.
pub(super) const MAX_PAIRS: usize = 1024;
/// Brackets that are never closed after which no others are looked for: each is looked for to the
/// end of the line.
const MAX_OPEN_BRACKETS: usize = 8;
/// Lines that settings are read from where an editor or a mail has broken their one line.
const MAX_WRAPPED: usize = 8;
/// Beginning of the settings as A1111 writes them.
const START: &str = "Steps: ";
/// Keys by which a line is known to go on with the settings before it.
const KNOWN: [&str; 24] = [
    key::SAMPLER,
    key::SCHEDULE_TYPE,
    key::CFG_SCALE,
    key::DISTILLED_CFG_SCALE,
    key::SEED,
    key::SIZE,
    "Model hash",
    key::MODEL,
    "VAE hash",
    key::VAE,
    key::DENOISING_STRENGTH,
    key::CLIP_SKIP,
    key::RNG,
    key::ETA,
    key::SHIFT,
    key::HIRES_UPSCALE,
    key::HIRES_UPSCALER,
    key::HIRES_STEPS,
    key::HIRES_RESIZE,
    "Lora hashes",
    "TI hashes",
    "Hashes",
    "Civitai resources",
    key::VERSION,
];

/// The settings that were found.
pub(super) struct SettingsLine<'a> {
    /// Index of their line.
    pub(super) at: usize,
    /// Index of the line behind them.
    pub(super) end: usize,
    /// Words before them on the same line.
    pub(super) words_before: Option<&'a str>,
    pub(super) pairs: Vec<(String, String)>,
}

impl<'a> SettingsLine<'a> {
    pub(super) fn find(lines: &[&'a str]) -> Option<Self> {
        Self::marked(lines).or_else(|| Self::flat(lines)).or_else(|| Self::last(lines))
    }

    /// The last line that says by its beginning that it is settings, however few.
    fn marked(lines: &[&'a str]) -> Option<Self> {
        let marked = (0..lines.len()).rev().filter(|at| lines.get(*at).is_some_and(|line| line.starts_with(START)));
        let mut settings = marked.filter_map(|at| Some(Self::begin(lines, at, None, lines.get(at)?)));
        settings.find(|line| has_settings(&line.pairs) && (has(&line.pairs, key::SEED) || has(&line.pairs, key::SAMPLER)))
    }

    /// The last line of which the end is settings, where a site has taken the line breaks away.
    fn flat(lines: &[&'a str]) -> Option<Self> {
        lines.iter().enumerate().rev().find_map(|(at, line)| {
            let (words, settings) = line.split_at_checked(line.rfind(START)?)?;
            let found = Self::begin(lines, at, Some(words.trim_end_matches([' ', ','])), settings);
            (has_settings(&found.pairs) && has(&found.pairs, key::SAMPLER) && has(&found.pairs, key::SEED)).then_some(found)
        })
    }

    /// The last line that says enough, in whatever order.
    fn last(lines: &[&'a str]) -> Option<Self> {
        (0..lines.len()).rev().find_map(|at| {
            let line = lines.get(at).filter(|line| line.contains(':'))?;
            // Enough is said before it is looked where the settings end.
            let is_enough = |pairs: &[(String, String)]| pairs.len() >= FEWEST_PAIRS && has_settings(pairs);
            is_enough(&pairs(line)).then(|| Self::begin(lines, at, None, line))
        })
    }

    /// The settings that begin so on this line, and the lines that they go on in.
    fn begin(lines: &[&'a str], at: usize, words_before: Option<&'a str>, start: &str) -> Self {
        let mut text = Cow::Borrowed(start);
        let mut end = at + 1;
        while end - at < MAX_WRAPPED
            && let Some(next) = lines.get(end).filter(|next| goes_on(&text, next))
        {
            text = Cow::Owned(format!("{} {}", text.trim_end(), next.trim_start()));
            end += 1;
        }
        Self { at, end, words_before, pairs: pairs(&text) }
    }
}

/// True where a line goes on with the settings before it: they end in the midst of a pair or of their
/// list, or the line has a known setting that they lack.
fn goes_on(settings: &str, line: &str) -> bool {
    let settings = settings.trim_end();
    if line.trim().is_empty() || line.starts_with(START) {
        return false;
    }
    if settings.ends_with(':') {
        return true;
    }
    let Some((before, _)) = line.split_once(':') else { return false };
    if settings.ends_with(',') {
        return !pairs(line).is_empty();
    }
    // The break may be in a key, as between `CFG` and `scale: 7`, or in the value before it.
    let first = before.rsplit(',').next().unwrap_or(before).trim();
    let last = settings.rsplit([',', ':']).next().unwrap_or(settings).trim();
    let is_new = |key: &str| KNOWN.iter().any(|it| it.eq_ignore_ascii_case(key)) && !has(&pairs(settings), key);
    is_new(first) || is_new(&format!("{last} {first}"))
}

fn has(pairs: &[(String, String)], key: &str) -> bool {
    pairs.iter().any(|(it, _)| it.eq_ignore_ascii_case(key))
}

/// True where the pairs say how a picture was made, and are no prose with colons in it.
fn has_settings(pairs: &[(String, String)]) -> bool {
    let is_number = |value: &str| value.trim().parse::<f64>().is_ok();
    let says = |(key, value): &(String, String)| match key.to_ascii_lowercase().as_str() {
        "steps" | "seed" | "cfg scale" => is_number(value),
        "size" => size(value).is_some(),
        // What upscales writes these alone.
        "postprocess upscaler" | "postprocess upscale by" | "postprocess size" => true,
        _ => false,
    };
    pairs.iter().any(says)
}

fn size(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', 'X', '×'])?;
    let side = |text: &str| text.trim().parse().ok().filter(|side| (1..=crate::MAX_SIDE).contains(side));
    Some((side(width)?, side(height)?))
}

/// The first `key: value` pairs of a line; a value that begins with a quotation mark or a bracket
/// is JSON, any other goes to the next comma.
pub(crate) fn pairs(line: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = line;
    let mut open_brackets = MAX_OPEN_BRACKETS;
    while pairs.len() < MAX_PAIRS
        && let Some((before, after)) = rest.split_once(':')
    {
        let Some(key) = key_at_end(before) else {
            rest = after;
            continue;
        };
        let after = after.trim_start();
        let in_brackets = if open_brackets > 0 && after.starts_with(['{', '[']) {
            let found = bracketed(after);
            open_brackets -= usize::from(found.is_none());
            found
        } else {
            None
        };
        let (value, next) = in_brackets.or_else(|| quoted(after)).unwrap_or_else(|| {
            let (value, next) = after.split_once(',').unwrap_or((after, ""));
            (value.trim_end().to_owned(), next)
        });
        pairs.push((key.to_owned(), value));
        rest = next;
    }
    pairs
}

/// A value in brackets, as JSON has them, that a comma or the end follows, and what comes after.
fn bracketed(text: &str) -> Option<(String, &str)> {
    // What closes each bracket that is open.
    let mut open = Vec::new();
    let (mut is_string, mut is_escaped, mut is_mixed) = (false, false, false);
    let end = text.bytes().position(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b'{' if !is_string => open.push(b'}'),
            b'[' if !is_string => open.push(b']'),
            b'}' | b']' if !is_string => is_mixed |= open.pop() != Some(byte),
            _ => {}
        }
        open.is_empty() || is_mixed
    })? + 1;
    if is_mixed {
        return None;
    }
    let (value, after) = text.split_at_checked(end)?;
    let after = after.trim_start();
    let next = if after.is_empty() { after } else { after.strip_prefix(',')? };
    Some((value.to_owned(), next))
}

/// The longest end of the text that can be a key: a word character, then word characters, spaces,
/// hyphens and slashes.
pub(super) fn key_at_end(text: &str) -> Option<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let foreign = text.char_indices().rfind(|(_, c)| !word(*c) && !matches!(c, ' ' | '-' | '/'));
    let start = foreign.map_or(0, |(at, c)| at + c.len_utf8());
    let key = text.get(start..)?.trim_start_matches(|c: char| !word(c)).trim_end();
    (key.chars().nth(1).is_some()).then_some(key)
}

/// A JSON string at the start of the text that a comma or the end follows, and what comes after.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut escaped = false;
    let end = text.strip_prefix('"')?.find(|c: char| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })? + 2;
    let (string, after) = text.split_at_checked(end)?;
    let after = after.trim_start();
    let next = if after.is_empty() { after } else { after.strip_prefix(',')? };
    Some((serde_json::from_str(string).ok()?, next))
}
