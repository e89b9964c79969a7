//! Standard output of a command: text for people, or with `--json` one object a line and nothing else.

use std::io::{self, Write};

use serde::Serialize;

/// Standard output of a command.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut dyn Write, is_json: bool) -> Self {
        Self { out, is_json }
    }

    pub(super) const fn is_json(&self) -> bool {
        self.is_json
    }

    /// A line of JSON; nothing without `--json`.
    pub(super) fn json(&mut self, line: &impl Serialize) -> io::Result<()> {
        if !self.is_json {
            return Ok(());
        }
        writeln!(self.out, "{}", serde_json::to_string(line)?)?;
        self.out.flush()
    }

    /// A line for people; nothing with `--json`.
    pub(super) fn text(&mut self, line: &str) -> io::Result<()> {
        if self.is_json { Ok(()) } else { writeln!(self.out, "{line}").and_then(|()| self.out.flush()) }
    }
}
