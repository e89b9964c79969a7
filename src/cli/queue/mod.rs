//! `atelier queue`: the queue of the window, on the command line.
//!
//! All but `run` read or change rows, which the process that runs the queue notices; `run` runs it,
//! or follows the one that does. Exit codes: 0 all done, 1 something failed, 2 wrong flags, 130
//! ended by Ctrl-C.

mod add;
mod environment;
mod report;
mod run;

use std::io::Write;
use std::sync::Arc;

pub(super) use environment::QueueEnv;
use environment::{CommandError, open, warn};

use super::exit::Exit;
use super::flags::{QueueCommand, QueueFlags};
use super::printer::Printer;
use super::reporter::write_message;
use atelier_core::paths::Paths;
use atelier_engine::Handle;
use atelier_gallery::queue::{JobState, PauseMode, QueuedJobId};

use atelier_studio::queue::{list_jobs, settle_queue};

type ErrorOutput<'a> = &'a mut (dyn Write + Send);

/// Runs a command of `atelier queue`.
pub(super) fn run(flags: QueueFlags, start_engine: impl FnOnce() -> Arc<Handle>, mut env: QueueEnv<'_>) -> Exit {
    let result = match flags.command {
        QueueCommand::Run { pull, no_auto_placement, servers, library, paths } => {
            return run::run(&pull, servers, &library, !no_auto_placement, flags.json, paths, start_engine, env);
        }
        QueueCommand::List => list(&env.paths, &mut Printer::new(env.out, flags.json), env.err.as_mut()),
        QueueCommand::Add(add) => add::add(&add, &env.paths, env.builtin, &mut Printer::new(env.out, flags.json), env.err.as_mut()),
        QueueCommand::Pause { now } => {
            let pause = if now { PauseMode::Now } else { PauseMode::AfterPicture };
            set_pause(&env.paths, pause, &mut Printer::new(env.out, flags.json), env.err.as_mut())
        }
        QueueCommand::Resume { jobs } if jobs.is_empty() => {
            set_pause(&env.paths, PauseMode::No, &mut Printer::new(env.out, flags.json), env.err.as_mut())
        }
        QueueCommand::Resume { jobs } => resume(&env.paths, &jobs, &mut Printer::new(env.out, flags.json), env.err.as_mut()),
        QueueCommand::Clear { jobs, ended } => clear(&env.paths, &jobs, ended, &mut Printer::new(env.out, flags.json), env.err.as_mut()),
    };
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            let exit = error.exit();
            if exit != Exit::Done {
                write_message(&mut env.err, &format!("error: {error}"));
            }
            exit
        }
    }
}

fn list(paths: &Paths, printer: &mut Printer<'_>, err: ErrorOutput<'_>) -> Result<(), CommandError> {
    let listing = list_jobs(&paths.gallery_file())?;
    warn(&listing.found, err);
    for row in &listing.rows {
        printer.json(&report::row(row))?;
        printer.text(&report::row_text(row))?;
    }
    if listing.rows.is_empty() {
        printer.text("The queue is empty. Add a job with: atelier queue add --prompt \"...\"")?;
    }
    printer.json(&report::queue(&listing))?;
    if let Some(sentence) = report::queue_text(&listing) {
        printer.text(sentence)?;
    }
    Ok(())
}

fn set_pause(paths: &Paths, pause: PauseMode, printer: &mut Printer<'_>, err: ErrorOutput<'_>) -> Result<(), CommandError> {
    open(paths, err)?.set_queue_pause(pause)?;
    printer.json(&report::pause(pause))?;
    printer.text(match pause {
        PauseMode::No => "The queue resumes.",
        PauseMode::AfterPicture => "The queue is paused. The current picture is finished first.",
        PauseMode::Now => "The queue is paused. The current picture restarts later.",
    })?;
    Ok(())
}

fn resume(paths: &Paths, jobs: &[QueuedJobId], printer: &mut Printer<'_>, err: ErrorOutput<'_>) -> Result<(), CommandError> {
    let mut database = open(paths, err)?;
    settle_queue(&paths.gallery_file(), &mut database)?;
    for id in jobs {
        if !database.retry_job(*id)? {
            return Err(CommandError::Job(*id, "does not exist, or is not held, failed or cancelled"));
        }
        printer.json(&report::change(*id, JobState::Waiting))?;
        printer.text(&format!("Job {id} waits for its turn."))?;
    }
    Ok(())
}

fn clear(paths: &Paths, jobs: &[QueuedJobId], ended: bool, printer: &mut Printer<'_>, err: ErrorOutput<'_>) -> Result<(), CommandError> {
    let mut database = open(paths, err)?;
    settle_queue(&paths.gallery_file(), &mut database)?;
    for id in jobs {
        let Some(state) = database.cancel_job(*id)? else { return Err(CommandError::Job(*id, "does not exist")) };
        printer.json(&report::change(*id, state))?;
        printer.text(&match state {
            JobState::Running => format!("Job {id} is being stopped."),
            JobState::Cancelled => format!("Job {id} is cancelled."),
            _ => format!("Job {id} has already ended."),
        })?;
    }
    if jobs.is_empty() {
        let count = if ended { database.forget_ended_jobs()? } else { database.cancel_waiting_jobs()? };
        printer.json(&report::cleared(count))?;
        let jobs = if count == 1 { "1 job".to_owned() } else { format!("{count} jobs") };
        printer.text(&if ended {
            format!("{jobs} removed from the list; their pictures are kept.")
        } else {
            format!("{jobs} cancelled.")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
