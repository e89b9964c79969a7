//! Standard output of a command: text for people, or with `--json` one object a line and nothing
//! else, or with `--null` paths and nothing else.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use atelier_core::plain_text::{indented, path_bytes, quoted_path};

/// Spaces before the further lines of a text, so that none of it passes for a line of its own.
pub(super) const CONTINUATION_INDENT: usize = 2;

/// Standard output of a command.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    form: Form,
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    /// Paths, each with a NUL behind it.
    Null,
}

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut dyn Write, is_json: bool) -> Self {
        Self { out, form: if is_json { Form::Json } else { Form::Text } }
    }

    /// With `--null`, the same for programs that read paths. JSON stays JSON.
    pub(super) const fn with_null(mut self, is_null: bool) -> Self {
        if is_null && matches!(self.form, Form::Text) {
            self.form = Form::Null;
        }
        self
    }

    pub(super) const fn is_json(&self) -> bool {
        matches!(self.form, Form::Json)
    }

    /// A line of JSON; nothing without `--json`.
    pub(super) fn json(&mut self, line: &impl Serialize) -> io::Result<()> {
        if !self.is_json() {
            return Ok(());
        }
        writeln!(self.out, "{}", serde_json::to_string(line)?)?;
        self.out.flush()
    }

    /// A sentence for people. Where it goes on in further lines, they are indented.
    pub(super) fn text(&mut self, line: &str) -> io::Result<()> {
        self.lines(&indented(line, CONTINUATION_INDENT))
    }

    /// Lines for people, as they are: whoever calls this put the line breaks there.
    pub(super) fn lines(&mut self, lines: &str) -> io::Result<()> {
        if self.form != Form::Text {
            return Ok(());
        }
        writeln!(self.out, "{lines}")?;
        self.out.flush()
    }

    /// A path of a list, for people or programs; nothing with `--json`.
    pub(super) fn path(&mut self, path: &Path) -> io::Result<()> {
        match self.form {
            Form::Json => return Ok(()),
            Form::Text => writeln!(self.out, "{}", quoted_path(path))?,
            Form::Null => {
                self.out.write_all(&path_bytes(path))?;
                self.out.write_all(b"\0")?;
            }
        }
        self.out.flush()
    }
}
