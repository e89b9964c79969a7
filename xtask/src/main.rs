//! Atelier's chores, from a machine that has only Rust and a C compiler: `cargo xtask run | test | lint | bench`, and more in `help`.
//!
//! Each chore first finds out what the system lacks for it (`needs`, `probe`), names it, installs it (`install`), then does its work
//! (`chores`, `vulkan`). Only the standard library is used, so that this program itself builds in a second on any machine.
//! Not here: anything that the application or its tests call.

mod chores;
mod install;
mod needs;
mod options;
mod packages;
mod probe;
mod stages;
mod vulkan;

use std::process::ExitCode;

use options::{Chore, Options};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("{sentence}\n\n{}", options::HELP);
            return ExitCode::from(2);
        }
    };
    let done = match options.chore {
        Chore::Help => {
            println!("{}", options::HELP);
            Ok(())
        }
        Chore::Setup => chores::setup(&options),
        Chore::Run => chores::run(&options),
        Chore::Test if options.vulkan => vulkan::test(&options),
        Chore::Test => chores::test(&options),
        Chore::Lint => chores::lint(&options),
        Chore::Bench => chores::bench(&options),
        Chore::Sheet => chores::sheet(&options),
        Chore::Fresh => chores::fresh(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            if let Some(sentence) = stop.sentence {
                eprintln!("{sentence}");
            }
            ExitCode::from(stop.code)
        }
    }
}

/// Why a chore ends early: what to say, if the program that failed has not said it, and the exit status.
#[derive(Debug, PartialEq, Eq)]
struct Stop {
    sentence: Option<String>,
    code: u8,
}

impl Stop {
    fn because(sentence: impl Into<String>) -> Self {
        Self { sentence: Some(sentence.into()), code: 1 }
    }

    fn with_code(code: Option<i32>) -> Self {
        Self { sentence: None, code: code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1) }
    }
}
