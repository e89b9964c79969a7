//! Reports missing requirements, and installs them with consent.

use std::env;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::installed::Installed;
use crate::options::Options;
use crate::packages::{CommandLine, Manager, Privilege};
use crate::requirements::{Environment, Os, Purpose, Requirement, requirements};

/// Treatment of missing requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Install,
    Ask,
    Refuse,
}

/// `yes`: the option or CI; `terminal`: a person can be asked.
const fn decide(yes: bool, terminal: bool, privilege: Privilege) -> Decision {
    match (privilege, yes, terminal) {
        (Privilege::None, _, _) | (_, false, false) => Decision::Refuse,
        (_, true, _) => Decision::Install,
        (_, false, true) => Decision::Ask,
    }
}

/// Ensures that all requirements of a purpose are installed.
pub(crate) fn ensure_installed(purpose: Purpose, options: &Options) -> Result<(), Failure> {
    let os = Os::current();
    let set = |variable: &str| env::var_os(variable).is_some_and(|value| !value.is_empty());
    let environment = Environment {
        os,
        wayland: set("WAYLAND_DISPLAY") || set("WAYLAND_SOCKET"),
        ninja: env::var("CMAKE_GENERATOR").is_ok_and(|name| name.starts_with("Ninja")),
    };
    ensure(&requirements(purpose, environment), options)
}

/// Ensures that these requirements are installed.
pub(crate) fn ensure(needed: &[Requirement], options: &Options) -> Result<(), Failure> {
    if !options.check {
        return Ok(());
    }
    let os = Os::current();
    let installed = Installed::inspect(os);
    let missing = installed.missing(needed);
    if missing.is_empty() {
        return Ok(());
    }
    eprint!("Atelier needs a few things that are not on this machine:\n{}", list(&missing));
    let Some(manager) = Manager::detect(os, |name| installed.has_program(name)) else {
        return Err(Failure::new(format!("No package manager known here was found.\n{}", manual_instructions(&missing, None))));
    };
    let terminal = io::stdin().is_terminal();
    let privilege = Privilege::detect(manager.needs_root() && !is_root(), installed.has_program("sudo"), terminal);
    let commands = manager.install(&missing, privilege);
    let refresh = manager.refresh(privilege).filter(|_| !has_package_lists());
    let shown: String = refresh.iter().chain(&commands).fold(String::new(), |mut text, command| {
        let _ = writeln!(text, "  {command}");
        text
    });
    let decision = if commands.is_empty() { Decision::Refuse } else { decide(options.yes || in_ci(), terminal, privilege) };
    if !commands.is_empty() {
        eprint!("This installs them:\n{shown}");
    }
    let manual = manual_instructions(&missing, Some(manager));
    match decision {
        Decision::Refuse => {
            let root = if privilege == Privilege::None { " as root" } else { "" };
            let again = "then start this again. (`--yes` runs it for you, where you have the right to.)";
            let run = if commands.is_empty() { String::new() } else { format!("Run that{root}, {again}\n") };
            return Err(Failure::new(format!("{run}{manual}").trim_end().to_owned()));
        }
        Decision::Ask if !ask_for_consent()? => return Err(Failure::new("Nothing was installed.")),
        Decision::Ask | Decision::Install => {}
    }
    install(manager, privilege, refresh, &commands)?;
    let missing = Installed::inspect(os).missing(needed);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Still not found:\n{}{}If you know better, `--no-check` goes on without looking.",
        list(&missing),
        manual_instructions(&missing, Some(manager))
    )))
}

/// Ensures that cargo has the formatter and the linter.
pub(crate) fn ensure_components(options: &Options) -> Result<(), Failure> {
    let answers = |component: &str| {
        let probe = Command::new(crate::cargo::cargo_program()).args([component, "--version"]).output();
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
    if !Installed::inspect(Os::current()).has_program("rustup") {
        return Err(Failure::new(format!("This Rust has no {names}. Install it from where Rust itself came, then start this again.")));
    }
    eprintln!("This Rust has no {names}. This installs it:\n  {command}");
    let may_install = match decide(options.yes || in_ci(), io::stdin().is_terminal(), Privilege::Own) {
        Decision::Install => true,
        Decision::Ask => ask_for_consent()?,
        Decision::Refuse => false,
    };
    if !may_install {
        return Err(Failure::new("Run that, then start this again. (`--yes` runs it for you.)"));
    }
    run(&command).map_err(|_| Failure::new(format!("{names} could not be installed: without a network, install it with Rust itself.")))
}

fn install(manager: Manager, privilege: Privilege, refresh: Option<CommandLine>, commands: &[CommandLine]) -> Result<(), Failure> {
    let refreshed = refresh.is_some();
    if let Some(command) = refresh {
        run(&command)?;
    }
    for command in commands {
        let Err(failure) = run(command) else { continue };
        // Lists from last month name files that the servers no longer have.
        match manager.refresh(privilege) {
            Some(refresh) if !refreshed => {
                eprintln!("The list of packages may be old; refreshing it.");
                run(&refresh)?;
                run(command)?;
            }
            _ => return Err(failure),
        }
    }
    Ok(())
}

fn run(command: &CommandLine) -> Result<(), Failure> {
    let Some((program, arguments)) = command.0.split_first() else { return Ok(()) };
    // Non-interactive: a package's configuration must not wait for an answer.
    let status = Command::new(program).args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("`{command}` did not succeed ({status}). What it printed above says why."))),
        Err(error) => Err(Failure::new(format!("`{program}` could not be started: {error}"))),
    }
}

fn ask_for_consent() -> Result<bool, Failure> {
    eprint!("Go on? [Y/n] ");
    let _ = io::stderr().flush();
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line).map_err(|error| Failure::new(format!("The answer could not be read: {error}")))?;
    Ok(read > 0 && is_yes(&line))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

fn list(requirements: &[Requirement]) -> String {
    let width = requirements.iter().map(|it| it.name.len()).max().unwrap_or(0);
    requirements.iter().fold(String::new(), |mut text, requirement| {
        let _ = writeln!(text, "  {:width$}  {}", requirement.name, requirement.reason);
        text
    })
}

/// Manual instructions for the requirements that the manager has no package of.
fn manual_instructions(requirements: &[Requirement], manager: Option<Manager>) -> String {
    let without = requirements.iter().filter(|it| manager.is_none_or(|manager| manager.name_in(it.packages).is_empty()));
    without.fold(String::new(), |mut text, requirement| {
        let _ = writeln!(text, "For {}: {}", requirement.name, requirement.instruction);
        text
    })
}

fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// False in a fresh image of Debian, where apt knows no package until it is refreshed.
fn has_package_lists() -> bool {
    let Ok(entries) = Path::new("/var/lib/apt/lists").read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Environment = Environment { os: Os::Linux, wayland: false, ninja: false };

    #[test]
    fn a_person_is_asked_a_machine_goes_on_and_neither_stops() {
        assert_eq!(decide(false, true, Privilege::Sudo), Decision::Ask);
        assert_eq!(decide(true, true, Privilege::Sudo), Decision::Install);
        assert_eq!(decide(true, false, Privilege::Own), Decision::Install);
        assert_eq!(decide(false, false, Privilege::Own), Decision::Refuse);
    }

    #[test]
    fn without_the_right_to_install_nothing_is_tried() {
        assert_eq!(decide(true, true, Privilege::None), Decision::Refuse);
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
        let text = list(&requirements(Purpose::Build, LINUX));
        assert_eq!(text.lines().count(), 4);
        assert!(text.starts_with("  cmake           configures the build of the engine\n"), "{text}");
    }

    #[test]
    fn what_no_package_brings_is_explained() {
        let needed = requirements(Purpose::Build, Environment { os: Os::Macos, ..LINUX });
        assert_eq!(manual_instructions(&needed, Some(Manager::Brew)), "For a C++ compiler: On macOS, run `xcode-select --install`.\n");
        assert!(manual_instructions(&needed, Some(Manager::Apt)).is_empty());
        assert_eq!(manual_instructions(&needed, None).lines().count(), needed.len());
    }
}
