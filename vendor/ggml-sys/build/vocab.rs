//! The engine's vocabularies without their text form: `src/tokenizers/vocab` holds 49 MB of data as
//! 237 MB of numbers in C++, which take a compiler more than a minute. Here they become files that
//! the assembler includes.
//!
//! Only for Linux, whose assembler directives are known here; `engine_sources.cmake` leaves the
//! engine's `vocab.cpp` out under the same condition.

/// A vocabulary: name of its array, and the data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Vocabulary {
    /// Reads a header of the form `static const unsigned char NAME[] = {`, a line of `0x..,` and
    /// `};`.
    ///
    /// # Errors
    /// A sentence where it has another form.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let line = text.iter().position(|byte| *byte == b'\n').ok_or("no line")?;
        let name = std::str::from_utf8(&text[..line])
            .ok()
            .and_then(|line| line.trim_end().strip_prefix("static const unsigned char ")?.strip_suffix("[] = {"))
            .filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
            .ok_or("does not begin with an array of bytes")?;
        let mut bytes = Vec::with_capacity(text.len() / 5);
        let mut rest = &text[line + 1..];
        // Compiled without optimisation: a loop over slices is the quickest.
        while let [first, tail @ ..] = rest {
            rest = match rest {
                [b'0', b'x', high, low, b',', tail @ ..] => {
                    bytes.push(hex(*high)? << 4 | hex(*low)?);
                    tail
                }
                [b'}', b';', tail @ ..] if tail.trim_ascii().is_empty() => return Ok(Self { name: name.to_owned(), bytes }),
                _ if first.is_ascii_whitespace() => tail,
                _ => return Err(format!("neither `0x..,` nor `}};` after {} bytes", bytes.len())),
            };
        }
        Err("no end".to_owned())
    }

    /// Declaration and definition of the array, whose data the assembler reads from `file`.
    pub(crate) fn cpp(&self, file: &str) -> String {
        let Self { name, bytes } = self;
        format!(
            "extern \"C\" __attribute__((visibility(\"hidden\"))) const unsigned char {name}[{}];\n\
             asm(R\"(\n.pushsection .rodata\n.balign 16\n.globl {name}\n.hidden {name}\n{name}:\n.incbin \"{file}\"\n.popsection\n)\");\n",
            bytes.len()
        )
    }
}

fn hex(digit: u8) -> Result<u8, String> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err("a number that is none".to_owned()),
    }
}
