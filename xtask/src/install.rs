//! Names what is missing, and installs it where that is allowed.

use std::env;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::Command;

use crate::Stop;
use crate::needs::{Need, Os, Purpose, Surroundings, needs};
use crate::options::Options;
use crate::packages::{CommandLine, Manager, Privilege};
use crate::probe::Searcher;

/// What to do about something that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Install,
    Ask,
    Stop,
}

/// `yes` is the option or CI; `terminal` tells whether a person is there to be asked.
const fn decide(yes: bool, terminal: bool, privilege: Privilege) -> Decision {
    match (privilege, yes, terminal) {
        (Privilege::None, _, _) | (_, false, false) => Decision::Stop,
        (_, true, _) => Decision::Install,
        (_, false, true) => Decision::Ask,
    }
}

/// Makes sure that everything a purpose needs is there.
pub(crate) fn ensure(purpose: Purpose, options: &Options) -> Result<(), Stop> {
    if !options.check {
        return Ok(());
    }
    let os = Os::current();
    let set = |variable: &str| env::var_os(variable).is_some_and(|value| !value.is_empty());
    let around = Surroundings {
        os,
        wayland: set("WAYLAND_DISPLAY") || set("WAYLAND_SOCKET"),
        ninja: env::var("CMAKE_GENERATOR").is_ok_and(|name| name.starts_with("Ninja")),
    };
    let needed = needs(purpose, around);
    let searcher = Searcher::here(os);
    let missing = searcher.missing(&needed);
    if missing.is_empty() {
        return Ok(());
    }
    eprint!("Atelier needs a few things that are not on this machine:\n{}", list(&missing));
    let Some(manager) = Manager::detect(os, |name| searcher.has_program(name)) else {
        return Err(Stop::because(format!("No package manager known here was found.\n{}", by_hand(&missing, None))));
    };
    let terminal = io::stdin().is_terminal();
    let privilege = Privilege::of(manager.needs_root() && !is_root(), searcher.has_program("sudo"), terminal);
    let commands = manager.install(&missing, privilege);
    let refresh = manager.refresh(privilege).filter(|_| !has_package_lists());
    let shown: String = refresh.iter().chain(&commands).fold(String::new(), |mut text, command| {
        let _ = writeln!(text, "  {command}");
        text
    });
    let decision = if commands.is_empty() { Decision::Stop } else { decide(options.yes || in_ci(), terminal, privilege) };
    if !commands.is_empty() {
        eprint!("This installs them:\n{shown}");
    }
    let hand = by_hand(&missing, Some(manager));
    match decision {
        Decision::Stop => {
            let root = if privilege == Privilege::None { " as root" } else { "" };
            let again = "then start this again. (`--yes` runs it for you, where you have the right to.)";
            let run = if commands.is_empty() { String::new() } else { format!("Run that{root}, {again}\n") };
            return Err(Stop::because(format!("{run}{hand}").trim_end().to_owned()));
        }
        Decision::Ask if !agreed()? => return Err(Stop::because("Nothing was installed.")),
        Decision::Ask | Decision::Install => {}
    }
    install(manager, privilege, refresh, &commands)?;
    let left = Searcher::here(os).missing(&needed);
    if left.is_empty() {
        return Ok(());
    }
    Err(Stop::because(format!(
        "Still not found:\n{}{}If you know better, `--no-check` goes on without looking.",
        list(&left),
        by_hand(&left, Some(manager))
    )))
}

/// Makes sure that cargo has the formatter and the linter.
pub(crate) fn ensure_components(options: &Options) -> Result<(), Stop> {
    let answers = |component: &str| {
        let probe = Command::new(crate::chores::cargo_program()).args([component, "--version"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    let wanted = [("fmt", "rustfmt"), ("clippy", "clippy")];
    let missing: Vec<&str> = wanted.iter().filter(|(subcommand, _)| !answers(subcommand)).map(|(_, name)| *name).collect();
    if missing.is_empty() || !options.check {
        return Ok(());
    }
    let mut command = CommandLine(vec!["rustup".into(), "component".into(), "add".into()]);
    command.0.extend(missing.iter().map(|&name| name.to_owned()));
    let names = missing.join(" and ");
    if !Searcher::here(Os::current()).has_program("rustup") {
        return Err(Stop::because(format!("This Rust has no {names}. Install it from where Rust itself came, then start this again.")));
    }
    eprintln!("This Rust has no {names}. This installs it:\n  {command}");
    let go = match decide(options.yes || in_ci(), io::stdin().is_terminal(), Privilege::Own) {
        Decision::Install => true,
        Decision::Ask => agreed()?,
        Decision::Stop => false,
    };
    if !go {
        return Err(Stop::because("Run that, then start this again. (`--yes` runs it for you.)"));
    }
    run(&command).map_err(|_| Stop::because(format!("{names} could not be installed: without a network, install it with Rust itself.")))
}

fn install(manager: Manager, privilege: Privilege, refresh: Option<CommandLine>, commands: &[CommandLine]) -> Result<(), Stop> {
    let refreshed = refresh.is_some();
    if let Some(command) = refresh {
        run(&command)?;
    }
    for command in commands {
        let Err(stop) = run(command) else { continue };
        // Lists from last month name files that the servers no longer have.
        match manager.refresh(privilege) {
            Some(refresh) if !refreshed => {
                eprintln!("The list of packages may be old; refreshing it.");
                run(&refresh)?;
                run(command)?;
            }
            _ => return Err(stop),
        }
    }
    Ok(())
}

fn run(command: &CommandLine) -> Result<(), Stop> {
    let Some((program, arguments)) = command.0.split_first() else { return Ok(()) };
    // A frontend of its own keeps a package's questions from waiting for nobody.
    let status = Command::new(program).args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Stop::because(format!("`{command}` did not succeed ({status}). What it printed above says why."))),
        Err(error) => Err(Stop::because(format!("`{program}` could not be started: {error}"))),
    }
}

fn agreed() -> Result<bool, Stop> {
    eprint!("Go on? [Y/n] ");
    let _ = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).map_err(|error| Stop::because(format!("The answer could not be read: {error}")))?;
    Ok(read > 0 && is_yes(&line))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

fn list(needs: &[Need]) -> String {
    let width = needs.iter().map(|need| need.name.len()).max().unwrap_or(0);
    needs.iter().fold(String::new(), |mut text, need| {
        let _ = writeln!(text, "  {:width$}  {}", need.name, need.why);
        text
    })
}

/// What a person does about the needs that the manager has no package for.
fn by_hand(needs: &[Need], manager: Option<Manager>) -> String {
    let without = needs.iter().filter(|need| manager.is_none_or(|manager| manager.name_in(need.packages).is_empty()));
    without.fold(String::new(), |mut text, need| {
        let _ = writeln!(text, "For {}: {}", need.name, need.otherwise);
        text
    })
}

fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Fresh images of Debian come without lists, and then know no package.
fn has_package_lists() -> bool {
    let Ok(entries) = Path::new("/var/lib/apt/lists").read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Surroundings = Surroundings { os: Os::Linux, wayland: false, ninja: false };

    #[test]
    fn a_person_is_asked_a_machine_goes_on_and_neither_stops() {
        assert_eq!(decide(false, true, Privilege::Sudo), Decision::Ask);
        assert_eq!(decide(true, true, Privilege::Sudo), Decision::Install);
        assert_eq!(decide(true, false, Privilege::Own), Decision::Install);
        assert_eq!(decide(false, false, Privilege::Own), Decision::Stop);
    }

    #[test]
    fn without_the_right_to_install_nothing_is_tried() {
        assert_eq!(decide(true, true, Privilege::None), Decision::Stop);
    }

    #[test]
    fn enter_means_yes_and_only_yes_means_yes() {
        for yes in ["\n", "y\n", "YES\n"] {
            assert!(is_yes(yes));
        }
        for no in ["n\n", "no\n", "what\n"] {
            assert!(!is_yes(no));
        }
    }

    #[test]
    fn the_list_names_each_thing_and_why() {
        let text = list(&needs(Purpose::Build, LINUX));
        assert_eq!(text.lines().count(), 4);
        assert!(text.starts_with("  cmake           configures the build of the engine\n"), "{text}");
    }

    #[test]
    fn what_no_package_brings_is_explained() {
        let needed = needs(Purpose::Build, Surroundings { os: Os::Macos, ..LINUX });
        assert_eq!(by_hand(&needed, Some(Manager::Brew)), "For a C++ compiler: On macOS, run `xcode-select --install`.\n");
        assert!(by_hand(&needed, Some(Manager::Apt)).is_empty());
        assert_eq!(by_hand(&needed, None).lines().count(), needed.len());
    }
}
