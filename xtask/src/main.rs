//! Atelier's chores, from a machine that has only Rust and a C compiler: `cargo xtask run | test |
//! lint | bench`, and more in `help`.
//!
//! Each chore first searches the system for its requirements (`requirements`, `installed`,
//! `display`), installs missing ones (`install`), then does its work (`chores`, `vulkan`,
//! `package`). Only the standard library is used, so that this program itself builds in a second on
//! any machine. Not here: anything that the application or its tests call.

mod arm_check;
mod cargo;
mod chores;
mod clients;
mod debian;
mod display;
mod failure;
mod files;
mod flaky;
mod format;
mod gpu_kit;
mod install;
mod installed;
mod macos_check;
mod options;
mod package;
mod packages;
mod release;
mod requirements;
mod sanitize;
mod shader_compiler;
mod soak;
mod stages;
mod stale_engine;
mod test_programs;
mod test_run;
mod test_times;
mod vulkan;
mod windows_toolchain;

use std::process::ExitCode;

use options::{Chore, Options};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((test_programs::LIST_TEST, rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return test_programs::list_test(rest);
    }
    let options = match Options::parse(words) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n\n{}", options::HELP);
            return ExitCode::from(2);
        }
    };
    let result = match options.chore {
        Chore::Help => {
            println!("{}", options::HELP);
            Ok(())
        }
        Chore::Setup => chores::setup(&options),
        Chore::Run => chores::run(&options),
        Chore::Test if options.packages => package::test(&options),
        Chore::Test if options.clients => clients::test(&options),
        Chore::Test if options.soak => soak::test(&options),
        Chore::Test if options.vulkan => vulkan::test(&options),
        Chore::Test => chores::test(&options),
        Chore::Lint => chores::lint(&options),
        Chore::Bench => chores::bench(&options),
        Chore::Sanitize => sanitize::sanitize(&options),
        Chore::Sheet => chores::sheet(&options),
        Chore::Screenshots => chores::screenshots(&options),
        Chore::Fresh => chores::fresh(&options),
        Chore::Package => package::package(&options),
        Chore::Notes => release::notes(&options),
        Chore::Sums => release::sums(&options),
        Chore::CheckArm => arm_check::check(&options),
        Chore::CheckMacos => macos_check::check(&options),
        Chore::GpuKit => gpu_kit::gpu_kit(&options),
        Chore::ToolchainWindows => windows_toolchain::install(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = failure.message {
                eprintln!("{message}");
            }
            ExitCode::from(failure.code)
        }
    }
}
