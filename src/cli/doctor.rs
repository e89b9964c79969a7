//! `atelier doctor`: checks this machine and says what to do; a line for each check.

use std::io::Write;
use std::sync::Arc;

use serde_json::json;

use super::devices;
use super::exit::Exit;
use super::flags::DoctorFlags;
use super::interrupt::Interrupt;
use super::printer::Printer;
use super::reporter::write_message;
use atelier_core::paths::{NoHome, Paths};
use atelier_engine::Handle;
use atelier_library::{Builtin, BuiltinError};
use atelier_studio::doctor::{Display, Finding, Health, Subject, examine};

/// System that is checked; tests give their own.
pub(super) struct DoctorEnv<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    pub(super) paths: Result<Paths, NoHome>,
    pub(super) builtin: Result<Builtin, BuiltinError>,
    pub(super) interrupt: Arc<Interrupt>,
}

/// Runs the checks. [`Exit::Failed`] where something is broken.
pub(super) fn run(flags: &DoctorFlags, handle: &Handle, env: DoctorEnv<'_>) -> Exit {
    let DoctorEnv { out, err, paths, builtin, interrupt } = env;
    let mut notes = Vec::new();
    let devices = devices::query(handle, &[], &mut notes).map_err(|error| format!("{error:#}."));
    let driver_notes = String::from_utf8_lossy(&notes).lines().map(str::to_owned).collect();
    let go_on = || !interrupt.pressed();
    let subject = Subject { paths, devices, driver_notes, builtin, display: Display::find(), sums: flags.sums, go_on: &go_on };
    let mut printer = Printer::new(out, flags.json);
    let (mut broken, mut attention, mut written) = (0, 0, Ok(()));
    examine(&subject, &mut |finding| {
        broken += usize::from(finding.health == Health::Broken);
        attention += usize::from(finding.health == Health::Attention);
        if written.is_ok() {
            written = printer.json(&json!({"event": "check", "topic": finding.topic, "status": status(finding.health),
                "message": finding.advice.sentence, "hint": finding.advice.hint}));
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| printer.text(&line(&finding)));
        }
    });
    if interrupt.pressed() {
        return Exit::Cancelled;
    }
    let summary = match (broken, attention) {
        (0, 0) => "All checks passed.".to_owned(),
        (0, _) => "No check failed.".to_owned(),
        (1, _) => "1 check failed.".to_owned(),
        _ => format!("{broken} checks failed."),
    };
    let ended = written.and_then(|()| {
        printer.json(&json!({"event": "done", "failed": broken, "warnings": attention}))?;
        printer.text(&summary)
    });
    if let Err(error) = ended
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        write_message(err, &format!("error: {error}"));
        return Exit::Failed;
    }
    if broken == 0 { Exit::Done } else { Exit::Failed }
}

/// Outcome of a check in the words of test reports.
const fn status(health: Health) -> &'static str {
    match health {
        Health::Ok => "ok",
        Health::Attention => "warning",
        Health::Broken => "failed",
    }
}

fn line(finding: &Finding) -> String {
    // A sentence of another part may have several lines.
    let advice = finding.advice.to_string().replace('\n', " ");
    format!("{:<10} {}: {advice}", finding.health.label(), finding.topic)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::cli::tests::{names_devices, run_once};

    #[test]
    fn each_check_is_a_line_and_what_is_broken_sets_the_exit_code() {
        let (ran, home) = run_once(&["doctor"], names_devices);
        assert_eq!(ran.exit, Exit::Failed, "the built-in model is not there: {}{}", ran.out, ran.err);
        assert!(
            ran.out.contains("ok         Devices: Vulkan0 (Some graphics") && ran.out.contains("broken     Built-in model: "),
            "{}",
            ran.out
        );
        let last = ran.out.lines().last().unwrap();
        assert_eq!(last, "1 check failed.", "{}", ran.out);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn with_json_each_line_is_an_object_and_the_last_one_counts() {
        let (ran, _home) = run_once(&["doctor", "--json"], names_devices);
        let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (done, checks) = lines.split_last().unwrap();
        assert!(checks.iter().all(|it| it["event"] == "check" && it["topic"].is_string() && it["message"].is_string()), "{}", ran.out);
        assert!(checks.iter().any(|it| it["topic"] == "Built-in model" && it["status"] == "failed" && it["hint"] != ""));
        assert_eq!((done["event"].as_str(), done["failed"].as_u64()), (Some("done"), Some(1)));
    }
}
