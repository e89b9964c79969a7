//! Text of strangers for a terminal or a log: nothing in it steers what is shown.
//!
//! A prompt in a picture, a model's name, a server's sentence or a file's name may hold characters
//! that move the cursor, colour or clear the screen, turn the writing direction, or cannot be seen.
//! [`PlainWriter`] stands before every terminal and every log, so no caller can forget it; each
//! such character is shown by its number, in the form of JSON (`\u202e`), so a line of JSON still
//! means the same.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// True for a character that changes how the text around it is shown, or shows nothing. Line breaks
/// and tabs are none; neither are the joiners of emoji and of many scripts (U+200C, U+200D).
#[must_use]
pub const fn is_steering(c: char) -> bool {
    let is_control = matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}') && !matches!(c, '\n' | '\t');
    let is_direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_end_of_line = matches!(c, '\u{2028}' | '\u{2029}');
    let is_unseen = matches!(
        c,
        '\u{ad}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    );
    is_control || is_direction || is_end_of_line || is_unseen
}

/// The text with each steering character as its number.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    replaced(text, is_steering)
}

/// [`plain`] for what stands in one line, such as a name: line breaks are numbers too.
#[must_use]
pub fn plain_line(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c == '\n' || is_steering(c))
}

/// The text with every line but the first indented by so many spaces, so that none of it passes for
/// a line of its own.
#[must_use]
pub fn indented(text: &str, spaces: usize) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace('\n', &format!("\n{:spaces$}", ""))) } else { Cow::Borrowed(text) }
}

/// A path for a line of its own: as it is, or, where a character of it would break or steer the
/// line, quoted as shells write it (`$'a\012b'`), so that what is shown can be pasted.
#[must_use]
pub fn quoted_path(path: &Path) -> Cow<'_, str> {
    let trouble = |c: char| c.is_control() || is_steering(c);
    if let Some(text) = path.to_str()
        && !text.contains(trouble)
        && !text.starts_with("$'")
    {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::from("$'");
    for chunk in path_bytes(path).utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' | '\'' => quoted.extend(['\\', c]),
                c if trouble(c) => octal(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut quoted),
                c => quoted.push(c),
            }
        }
        octal(chunk.invalid(), &mut quoted);
    }
    quoted.push('\'');
    Cow::Owned(quoted)
}

/// A path for a program: its bytes, whatever they are. Where the system's names are no bytes, it is
/// UTF-8.
#[must_use]
pub fn path_bytes(path: &Path) -> Cow<'_, [u8]> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Cow::Borrowed(path.as_os_str().as_bytes())
    }
    #[cfg(not(unix))]
    match path.to_string_lossy() {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn octal(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a string never fails.
        let _ = write!(text, "\\{byte:03o}");
    }
}

fn replaced(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_replaced(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string never fails.
                let _ = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// A writer of [`plain`] text: everything that goes to a terminal or a log goes through one. What
/// is no text is U+FFFD.
#[derive(Debug)]
pub struct PlainWriter<W: Write> {
    inner: W,
    /// The beginning of a character whose end was not written yet.
    pending: Vec<u8>,
}

impl<W: Write> PlainWriter<W> {
    /// A writer into this one.
    pub const fn new(inner: W) -> Self {
        Self { inner, pending: Vec::new() }
    }
}

impl<W: Write> Write for PlainWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let joined = std::mem::take(&mut self.pending);
        let mut text = String::with_capacity(joined.len());
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let is_cut = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_cut && chunks.peek().is_none() {
                self.pending.extend_from_slice(chunk.invalid());
            } else if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.inner.write_all(plain(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(parts: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut writer = PlainWriter::new(&mut out);
        for part in parts {
            writer.write_all(part).unwrap();
        }
        writer.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_steers_a_terminal_is_shown_by_its_number_and_what_people_write_stays() {
        for (text, expected) in [
            ("a\u{1b}[31m\tb\nc\u{7}", "a\\u001b[31m\tb\nc\\u0007"),
            ("\u{9b}31m\u{7f}\r", "\\u009b31m\\u007f\\u000d"),
            ("x\u{202e}gnp.exe\u{2066}\u{200f}", "x\\u202egnp.exe\\u2066\\u200f"),
            ("a\u{2028}b\u{feff}c\u{200b}d", "a\\u2028b\\ufeffc\\u200bd"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("größer 湖 שלום مرحبا 👩\u{200d}🎨 ❤\u{fe0f}", "größer 湖 שלום مرحبا 👩\u{200d}🎨 ❤\u{fe0f}"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain_line("a\nb"), "a\\u000ab");
        assert_eq!(indented("a\nb\nc", 2), "a\n  b\n  c");
    }

    #[test]
    fn characters_that_are_cut_by_the_writes_are_read_whole() {
        assert_eq!(written(&[b"a\xe2\x80", b"\xaeb\xc2", b"\x9b", b"\xff."]), "a\\u202eb\\u009b\u{fffd}.");
        assert_eq!(written(&[b"\xe6\xb9", b"\x96\xe2\x80", b"x"]), "湖\u{fffd}x");
    }

    #[test]
    fn a_line_of_json_means_the_same() {
        let text = "a\u{1b}\u{9b}\u{7f}\u{202e}\u{e0041}\n\"";
        let line = serde_json::to_string(text).unwrap();
        let plain = written(&[line.as_bytes()]);
        assert!(!plain.contains(is_steering) && plain.contains("\\u202e"));
        assert_eq!(serde_json::from_str::<String>(&plain).unwrap(), text);
    }

    #[test]
    fn a_path_is_itself_unless_it_would_break_or_steer_its_line() {
        for plain in ["/home/a b/größer (2).png", "C:\\a'b.png", "-rf.png"] {
            assert_eq!(quoted_path(Path::new(plain)), plain);
        }
        assert_eq!(quoted_path(Path::new("a\u{1b}[31mit's\n.png")), "$'a\\033[31mit\\'s\\012.png'");
        assert_eq!(quoted_path(Path::new("b\u{202e}\\")), "$'b\\342\\200\\256\\\\'");
        assert_eq!(quoted_path(Path::new("$'x'")), "$'$\\'x\\''");
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_no_text_is_quoted_byte_by_byte() {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"a\xff.png"));
        assert_eq!(quoted_path(path), "$'a\\377.png'");
        assert_eq!(*path_bytes(path), *b"a\xff.png");
    }

    proptest! {
        #[test]
        fn nothing_that_steers_gets_through_in_any_pieces(text in any::<String>(), bytes in any::<Vec<u8>>(), at in any::<prop::sample::Index>()) {
            prop_assert!(!plain(&text).contains(is_steering));
            prop_assert!(!quoted_path(Path::new(&text)).contains(|c: char| c.is_control() || is_steering(c)));
            let all = [text.as_bytes(), &bytes].concat();
            let (first, second) = all.split_at(at.index(all.len() + 1));
            let out = written(&[first, second]);
            prop_assert!(!out.contains(is_steering));
            prop_assert_eq!(out.matches('\n').count(), String::from_utf8_lossy(&all).matches('\n').count());
        }
    }
}
