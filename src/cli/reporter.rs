//! Messages and progress of a command, on standard error.
//!
//! A line that cannot be written is no reason to stop: standard output and the exit code say what
//! came of the work.

use std::io::Write;
use std::time::Duration;

use atelier_core::plain_text::{indented, plain_line};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::printer::CONTINUATION_INDENT;

/// Parts of a full bar.
const FULL: u64 = 1000;
/// Time between two frames of a spinner.
const TICK: Duration = Duration::from_millis(120);

const SPINNER: &str = "{msg:24} {spinner} {prefix}";
const FRACTION: &str = "{msg:24} [{bar:30}] {prefix}";
const BYTES: &str = "{prefix:24} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";

/// State of the work at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProgressLine {
    pub(super) message: String,
    /// Steps, bytes or time left; may be empty.
    pub(super) detail: String,
    /// Fraction of the stage that is done, 0 to 1; `None` where it cannot be measured.
    pub(super) fraction: Option<f64>,
}

impl ProgressLine {
    /// A stage of which nothing else is known.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// Receives messages and the progress of any long work of the command line.
pub(super) trait Reporter {
    /// A line that stays.
    fn message(&mut self, line: &str);
    fn begin_stage(&mut self, line: &ProgressLine);
    /// The stage goes on.
    fn update(&mut self, line: &ProgressLine);
    /// Bytes of a transfer; `total` where it is known.
    fn bytes(&mut self, name: &str, done: u64, total: Option<u64>);
    /// The work is over: nothing but messages is left on the screen.
    fn finish(&mut self);
    /// Calls `write` while nothing of the reporter's is on the screen.
    fn suspend(&mut self, write: &mut dyn FnMut());
}

/// Writes a line that stays to standard error. Where it goes on in further lines, they are
/// indented: no name passes for a message.
///
/// Nothing can be said where standard error is closed; the exit code says it too.
pub(super) fn write_message(err: &mut dyn Write, line: &str) {
    let _ = writeln!(err, "{}", indented(line, CONTINUATION_INDENT));
}

/// The reporter for this standard error: a bar on a terminal, a line for each stage elsewhere.
pub(super) fn reporter<'a>(err: Box<dyn Write + 'a>, is_terminal: bool) -> Box<dyn Reporter + 'a> {
    if is_terminal { Box::new(BarReporter { err, bar: None }) } else { Box::new(LineReporter { err }) }
}

/// A reporter of messages alone, for commands whose standard output is read by a program.
pub(super) fn quiet_reporter<'a>(err: Box<dyn Write + 'a>) -> Box<dyn Reporter + 'a> {
    Box::new(QuietReporter { err })
}

struct BarReporter<'a> {
    err: Box<dyn Write + 'a>,
    bar: Option<Bar>,
}

/// A bar, with what its looks depend on.
struct Bar {
    widget: ProgressBar,
    template: &'static str,
    /// Name of the transfer; empty for stages.
    transfer: String,
}

impl BarReporter<'_> {
    /// The bar of these looks. Another transfer is another bar, because rates are measured from a
    /// bar's beginning.
    fn bar(&mut self, template: &'static str, transfer: &str, length: Option<u64>) -> &ProgressBar {
        if self.bar.as_ref().is_some_and(|bar| bar.transfer != transfer) {
            self.finish();
        }
        let bar = self.bar.get_or_insert_with(|| {
            let widget = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
            if transfer.is_empty() {
                widget.enable_steady_tick(TICK);
            }
            Bar { widget, template: "", transfer: transfer.to_owned() }
        });
        if bar.template != template {
            bar.template = template;
            bar.widget.set_style(style(template));
        }
        &bar.widget
    }
}

impl Reporter for BarReporter<'_> {
    fn message(&mut self, line: &str) {
        let Self { err, bar } = self;
        let mut write = || write_message(err, line);
        match bar {
            Some(bar) => bar.widget.suspend(write),
            None => write(),
        }
    }

    fn begin_stage(&mut self, line: &ProgressLine) {
        self.update(line);
    }

    fn update(&mut self, line: &ProgressLine) {
        let bar = self.bar(if line.fraction.is_some() { FRACTION } else { SPINNER }, "", Some(FULL));
        // A bar writes to the terminal by itself.
        bar.set_message(plain_line(&line.message).into_owned());
        bar.set_prefix(plain_line(&line.detail).into_owned());
        bar.set_position((line.fraction.unwrap_or(0.0).clamp(0.0, 1.0) * FULL as f64) as u64);
    }

    fn bytes(&mut self, name: &str, done: u64, total: Option<u64>) {
        let bar = self.bar(BYTES, name, total);
        bar.set_prefix(plain_line(name).into_owned());
        bar.set_length(total.unwrap_or(done));
        bar.set_position(done);
    }

    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.widget.finish_and_clear();
        }
    }

    fn suspend(&mut self, write: &mut dyn FnMut()) {
        match &self.bar {
            Some(bar) => bar.widget.suspend(write),
            None => write(),
        }
    }
}

struct LineReporter<'a> {
    err: Box<dyn Write + 'a>,
}

impl Reporter for LineReporter<'_> {
    fn message(&mut self, line: &str) {
        write_message(&mut self.err, line);
    }

    fn begin_stage(&mut self, line: &ProgressLine) {
        let detail = if line.detail.is_empty() { String::new() } else { format!(" ({})", line.detail) };
        self.message(&format!("{}{detail}", line.message));
    }

    fn update(&mut self, _: &ProgressLine) {}

    fn bytes(&mut self, _: &str, _: u64, _: Option<u64>) {}

    fn finish(&mut self) {}

    fn suspend(&mut self, write: &mut dyn FnMut()) {
        write();
    }
}

struct QuietReporter<'a> {
    err: Box<dyn Write + 'a>,
}

impl Reporter for QuietReporter<'_> {
    fn message(&mut self, line: &str) {
        write_message(&mut self.err, line);
    }

    fn begin_stage(&mut self, _: &ProgressLine) {}

    fn update(&mut self, _: &ProgressLine) {}

    fn bytes(&mut self, _: &str, _: u64, _: Option<u64>) {}

    fn finish(&mut self) {}

    fn suspend(&mut self, write: &mut dyn FnMut()) {
        write();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    if template == BYTES { style } else { style.progress_chars("=> ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_templates_are_valid() {
        for template in [SPINNER, FRACTION, BYTES] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
