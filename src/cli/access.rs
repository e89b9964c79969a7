//! `atelier serve access` and `atelier serve revoke`: who may use the models of this computer over the
//! network, and who may no longer.

use std::io::{self, Write};

use time::{OffsetDateTime, UtcOffset};

use super::devices::aligned;
use super::exit::Exit;
use super::flags::HttpCommand;
use super::json::AccessLine;
use super::printer::Printer;
use super::reporter::write_message;
use crate::http::{Access, Admission};
use atelier_core::paths::Paths;

/// Carries out the command.
pub(super) fn run(command: &HttpCommand, paths: &Paths, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let done = match command {
        HttpCommand::Access { json } => list(paths, &mut Printer::new(out, *json)),
        HttpCommand::Revoke { name } => revoke(name, paths, &mut Printer::new(out, false)),
    };
    match done {
        Ok(()) => Exit::Done,
        // Nobody reads any more.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) => Exit::Done,
        Err(error) => {
            write_message(err, &format!("error: {error:#}"));
            Exit::Failed
        }
    }
}

fn list(paths: &Paths, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let admissions = Access::admissions(paths)?;
    for admission in &admissions {
        printer.json(&line(admission))?;
    }
    if admissions.is_empty() {
        printer.text("Nobody has a token, and no device was let in without one.")?;
        return Ok(());
    }
    let title = ["NAME", "BY", "SINCE", "LAST USED", "ENDS", "CALLS ITSELF"].map(str::to_owned);
    let table: Vec<[String; 6]> = std::iter::once(title).chain(admissions.iter().map(row)).collect();
    printer.lines(aligned(&table).trim_end_matches('\n'))?;
    Ok(())
}

/// By what somebody comes in.
const fn kind(admission: &Admission) -> &'static str {
    if admission.is_device { "address" } else { "token" }
}

fn line(admission: &Admission) -> AccessLine {
    let ms = |secs: Option<i64>| secs.map(|secs| secs.saturating_mul(1000));
    AccessLine::Access {
        name: admission.name.clone(),
        by: kind(admission).to_owned(),
        program: admission.program.clone(),
        since_ms: ms(admission.since_secs),
        last_used_ms: ms(admission.used_secs),
        until_ms: ms(admission.until_secs),
    }
}

fn row(admission: &Admission) -> [String; 6] {
    let Admission { name, program, since_secs, used_secs, until_secs, .. } = admission;
    let used = used_secs.map_or_else(|| "never".to_owned(), day);
    let [since, until] = [since_secs, until_secs].map(|secs| secs.map(day).unwrap_or_default());
    [name.clone(), kind(admission).to_owned(), since, used, until, program.clone().unwrap_or_default()]
}

/// A day where this computer is; empty where there is no such day.
fn day(secs: i64) -> String {
    let format = time::macros::format_description!("[year]-[month]-[day]");
    let text = OffsetDateTime::from_unix_timestamp(secs).ok().and_then(|time| {
        let zone = UtcOffset::local_offset_at(time).unwrap_or(UtcOffset::UTC);
        time.to_offset(zone).format(format).ok()
    });
    text.unwrap_or_default()
}

fn revoke(name: &str, paths: &Paths, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let had_access = Access::revoke(paths, name)?;
    anyhow::ensure!(had_access, "nobody named {name} has access; list everybody with: atelier serve access");
    printer.text(&format!("{name} has no access any more, also where a server runs."))?;
    Ok(())
}
