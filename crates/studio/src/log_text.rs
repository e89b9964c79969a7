//! What may stand in a log or a crash report: no words of a prompt, and nothing that steers a
//! terminal.
//!
//! A picture's file is named after the first words of its prompt, so instead of the name stands a
//! mark: the same one for the same name while the program runs, and nothing that could be guessed
//! back. It is put there where lines are written, so no caller has to think of it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write};
use std::sync::LazyLock;

use atelier_core::plain_text::{indented, plain};
use atelier_media::PICTURE_ENDINGS;
use atelier_media::canvas_file::CANVAS_ENDING;

/// Spaces before the further lines of an event, so that none of them passes for an event of its
/// own.
const INDENT: usize = 4;
/// Words after which a parser repeats what it read, in quotation marks that end with the last one
/// of this kind.
const REPEATED: [(&str, char); 3] = [("string \"", '"'), ("unknown variant `", '`'), ("unknown field `", '`')];
/// What stands for words that are left out.
const LEFT_OUT: char = '…';
/// The beginning of a mark.
const MARK: &str = "picture-";

/// Makes marks; another one at each start, so that nobody can try out which name a mark stands for.
static MARKS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The text as it may be kept.
#[must_use]
pub fn log_text(text: &str) -> String {
    let lines = text.split('\n').map(|line| plain(&without_names(&without_repeated(line))).into_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// A panic's message without what it quotes, which may be a slice of a prompt: everything from the
/// first quotation mark to the last.
#[must_use]
pub fn without_quotations(message: &str) -> String {
    ['"', '`'].into_iter().fold(message.to_owned(), |message, mark| match (message.find(mark), message.rfind(mark)) {
        (Some(first), Some(last)) if first < last => format!("{}{mark}{LEFT_OUT}{}", &message[..first], &message[last..]),
        _ => message,
    })
}

/// A line without what a parser repeats of a file.
fn without_repeated(line: &str) -> Cow<'_, str> {
    REPEATED.iter().fold(Cow::Borrowed(line), |line, (words, mark)| {
        let Some(begin) = line.find(words).map(|at| at + words.len()) else { return line };
        let end = line.rfind(*mark).filter(|end| *end >= begin).unwrap_or(line.len());
        Cow::Owned(format!("{}{LEFT_OUT}{}", &line[..begin], &line[end..]))
    })
}

/// A line with marks in place of the names of pictures and canvases.
fn without_names(line: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(line.len()), line);
    while let Some((dot, after)) = find_ending(rest) {
        let begin = begin_of_name(&rest[..dot]);
        let name = &rest[begin..dot];
        text.push_str(&rest[..begin]);
        if name.is_empty() || is_mark(name) {
            text.push_str(name);
        } else {
            // Half of the hash tells the few names of a log apart.
            // Writing to a string never fails.
            let _ = write!(text, "{MARK}{:08x}", MARKS.hash_one(name) as u32);
        }
        text.push_str(&rest[dot..after]);
        rest = &rest[after..];
    }
    text + rest
}

/// True for a name that was replaced before: a report holds the end of a log.
fn is_mark(name: &str) -> bool {
    name.strip_prefix(MARK).is_some_and(|digits| digits.len() == 8 && digits.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Where an ending of such a name begins and ends.
fn find_ending(text: &str) -> Option<(usize, usize)> {
    text.match_indices('.').find_map(|(dot, _)| {
        let rest = &text[dot + 1..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (ending, behind) = rest.split_at(length);
        // More of a name, or a folder.
        let goes_on = behind.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '\\'));
        let is_such = PICTURE_ENDINGS.into_iter().chain([CANVAS_ENDING, "ora"]).any(|it| ending.eq_ignore_ascii_case(it));
        (is_such && !goes_on).then_some((dot, dot + 1 + length))
    })
}

/// Where the name begins that ends this text: after its folder; without one, after what cannot be
/// part of it. Names have spaces.
fn begin_of_name(text: &str) -> usize {
    let after = |mark: &str| text.rfind(mark).map(|at| at + mark.len());
    after("/").or_else(|| after("\\")).or_else(|| [": ", "\"", "`", "="].into_iter().filter_map(after).max()).unwrap_or(0)
}

/// The writer of a log: each write is an event.
pub struct LogWriter<W: Write>(pub W);

impl<W: Write> Write for LogWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let (words, end) = text.strip_suffix('\n').map_or((&*text, ""), |words| (words, "\n"));
        self.0.write_all(format!("{}{end}", indented(&log_text(words), INDENT)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word that is in no message of ours.
    const RARE: &str = "quagga";

    #[test]
    fn no_name_of_a_picture_is_kept_wherever_it_stands() {
        let name = format!("2026-11-20 19-30-05 a {RARE}'s (sunset) 42");
        for line in [
            format!("/home/x/Pictures/Atelier/{name}.png was written before the program ended"),
            format!(r"C:\Users\x\Pictures\{name} (2).PNG stays: Access is denied. (os error 5)"),
            format!("2026-11-20T19:30:05Z  WARN atelier::studio: {name}.jpeg is no picture: it ends too early"),
            format!("a file could not be read path=/home/x/{name}.webp error=no"),
            format!("\"/home/x/{name}.png\" and \"/home/x/{name}.jpg\": not found"),
            format!("{name}.png"),
            format!("/tmp/{name}.atelier could not be written"),
            format!("one\n/tmp/{RARE}.png\ntwo"),
        ] {
            let kept = log_text(&line);
            assert!(!kept.contains(RARE) && kept.contains("picture-"), "{kept}");
        }
        let path = "/home/x/a b.png";
        assert_eq!(log_text(path), log_text(path), "the same mark for the same name");
        assert_ne!(log_text(path), log_text("/home/x/a c.png"));
        assert_eq!(log_text(&log_text(path)), log_text(path));
        assert!(log_text("/home/x/a b.png was written").starts_with("/home/x/picture-"));
        assert!(log_text("/home/x/a b.png was written").ends_with(".png was written"));
    }

    #[test]
    fn other_names_and_words_stay() {
        for line in [
            "the model /home/x/models/my model.gguf is damaged",
            "/home/x/.local/share/atelier/gallery.sqlite: disk is full",
            "/tmp/.atelier-job-3-0.part stays: denied",
            "~/.atelier/data is read-only",
            "Atelier 0.1.0 (x86_64) starts, with diffusion-rs-sys 0.1.20",
            "crates/media/src/png.rs:12 png.decode failed",
        ] {
            assert_eq!(log_text(line), line);
        }
    }

    #[test]
    fn what_a_parser_repeats_is_left_out() {
        for text in [format!("{{\"steps\":\"a {RARE}, \\\"red\\\"\"}}"), format!("{{\"sampler\":\"a `{RARE}`\"}}")] {
            #[derive(Debug, serde::Deserialize)]
            #[expect(dead_code, reason = "only read")]
            struct Read {
                steps: Option<u32>,
                sampler: Option<Sampler>,
            }
            #[derive(Debug, serde::Deserialize)]
            enum Sampler {
                Euler,
            }
            let _ = Sampler::Euler;
            let error = serde_json::from_str::<Read>(&text).unwrap_err().to_string();
            assert!(error.contains(RARE), "{error}");
            let kept = log_text(&error);
            assert!(!kept.contains(RARE) && kept.contains('…'), "{kept}");
        }
    }

    #[test]
    fn a_panic_keeps_no_slice_of_a_prompt() {
        let prompt = format!("{RARE} größer `x` \"y\"");
        for cut in [10, 200] {
            let prompt = prompt.clone();
            let panicked = std::thread::spawn(move || prompt[cut..].len()).join().unwrap_err();
            let message = panicked.downcast_ref::<String>().unwrap();
            assert!(message.contains(RARE), "{message}");
            let kept = without_quotations(message);
            assert!(!kept.contains(RARE) && kept.contains('…'), "{kept}");
        }
        assert_eq!(without_quotations("no such index"), "no such index");
    }

    #[test]
    fn an_event_is_one_event_whatever_it_says() {
        let mut log = Vec::new();
        let mut writer = LogWriter(&mut log);
        writer.write_all("WARN a\u{1b}[2J\u{202e}b\nERROR forged\n".as_bytes()).unwrap();
        writer.write_all(b"WARN next\n").unwrap();
        assert_eq!(String::from_utf8(log).unwrap(), "WARN a\\u001b[2J\\u202eb\n    ERROR forged\nWARN next\n");
    }
}
