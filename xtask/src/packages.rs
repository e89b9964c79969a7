//! Package managers: which one is here, and the commands that install packages with it. Pure;
//! nothing is run here.

use crate::requirements::{Os, Packages, Requirement};

/// A package manager that we can write commands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Apt,
    Dnf,
    Pacman,
    Brew,
    Winget,
}

/// Permission of commands to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privilege {
    /// We have it already, or none is needed.
    Own,
    /// `sudo`, which may ask for a password at the terminal.
    Sudo,
    /// `sudo`, which fails instead of asking.
    SilentSudo,
    /// There is no way.
    None,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine(pub(crate) Vec<String>);

impl std::fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0.join(" "))
    }
}

impl Manager {
    /// The first manager of this system that `has_program` knows.
    pub(crate) fn detect(os: Os, has_program: impl Fn(&str) -> bool) -> Option<Self> {
        let candidates: &[Self] = match os {
            Os::Linux => &[Self::Apt, Self::Dnf, Self::Pacman],
            Os::Macos => &[Self::Brew],
            Os::Windows => &[Self::Winget],
        };
        candidates.iter().copied().find(|manager| has_program(manager.program()))
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Pacman => "pacman",
            Self::Brew => "brew",
            Self::Winget => "winget",
        }
    }

    /// Name of the package in this manager; empty where it has none.
    pub(crate) const fn name_in(self, packages: Packages) -> &'static str {
        match self {
            Self::Apt => packages.apt,
            Self::Dnf => packages.dnf,
            Self::Pacman => packages.pacman,
            Self::Brew => packages.brew,
            Self::Winget => packages.winget,
        }
    }

    /// True where installing requires root.
    pub(crate) const fn needs_root(self) -> bool {
        match self {
            Self::Apt | Self::Dnf | Self::Pacman => true,
            Self::Brew | Self::Winget => false,
        }
    }

    /// Commands that install the packages of these requirements, each once; empty where the manager
    /// has none of them.
    pub(crate) fn install(self, requirements: &[Requirement], privilege: Privilege) -> Vec<CommandLine> {
        let mut names: Vec<&str> = Vec::new();
        for requirement in requirements {
            let name = self.name_in(requirement.packages);
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Vec::new();
        }
        let fixed: &[&str] = match self {
            Self::Apt => &["apt-get", "install", "--yes", "--no-install-recommends"],
            Self::Dnf => &["dnf", "install", "--assumeyes"],
            Self::Pacman => &["pacman", "--sync", "--needed", "--noconfirm"],
            Self::Brew => &["brew", "install"],
            // winget takes one package at a time.
            Self::Winget => {
                let one =
                    |name: &str| CommandLine(words(&["winget", "install", "--exact", "--id", name, "--accept-package-agreements"], &[]));
                return names.into_iter().map(one).collect();
            }
        };
        vec![privilege.command(words(fixed, &names))]
    }

    /// The command that refreshes the list of packages, where that is a command of its own.
    pub(crate) fn refresh(self, privilege: Privilege) -> Option<CommandLine> {
        match self {
            Self::Apt => Some(privilege.command(words(&["apt-get", "update"], &[]))),
            Self::Dnf | Self::Pacman | Self::Brew | Self::Winget => None,
        }
    }
}

impl Privilege {
    /// Permission of this process: `needs_root` where root is required and missing, `sudo` where it
    /// is installed, `terminal` where a person can type a password.
    pub(crate) const fn detect(needs_root: bool, sudo: bool, terminal: bool) -> Self {
        match (needs_root, sudo, terminal) {
            (false, _, _) => Self::Own,
            (true, false, _) => Self::None,
            (true, true, true) => Self::Sudo,
            (true, true, false) => Self::SilentSudo,
        }
    }

    fn command(self, mut command: Vec<String>) -> CommandLine {
        let front: &[&str] = match self {
            Self::Own | Self::None => &[],
            Self::Sudo => &["sudo"],
            Self::SilentSudo => &["sudo", "--non-interactive"],
        };
        command.splice(..0, front.iter().map(|&word| word.to_owned()));
        CommandLine(command)
    }
}

fn words(fixed: &[&str], names: &[&str]) -> Vec<String> {
    fixed.iter().chain(names).map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::{Environment, Purpose, requirements};

    fn everything(os: Os) -> Vec<Requirement> {
        requirements(Purpose::Test, Environment { os, wayland: true, ninja: false })
    }

    fn lines(manager: Manager, os: Os, privilege: Privilege) -> Vec<String> {
        manager.install(&everything(os), privilege).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn debian_gets_one_command_with_every_package_once() {
        assert_eq!(
            lines(Manager::Apt, Os::Linux, Privilege::Sudo),
            ["sudo apt-get install --yes --no-install-recommends cmake g++ libclang-dev make libx11-6 libx11-xcb1 libxcursor1 libxi6 \
              libxkbcommon0 libxkbcommon-x11-0 libegl1 libgl1 libgl1-mesa-dri libwayland-client0 libwayland-egl1 xvfb xdotool"]
        );
    }

    #[test]
    fn one_package_that_brings_several_things_is_named_once() {
        let line = lines(Manager::Pacman, Os::Linux, Privilege::Own).concat();
        assert_eq!(line.matches("libx11").count(), 1);
        assert!(line.starts_with("pacman --sync --needed --noconfirm cmake gcc clang make libx11 "), "{line}");
    }

    #[test]
    fn fedora_homebrew_and_windows_have_their_own_names() {
        assert!(lines(Manager::Dnf, Os::Linux, Privilege::Own).concat().contains("gcc-c++ clang-devel make libX11 libX11-xcb"));
        assert_eq!(lines(Manager::Brew, Os::Macos, Privilege::Own), ["brew install cmake llvm make"]);
        let windows = lines(Manager::Winget, Os::Windows, Privilege::Own);
        assert_eq!(windows.len(), 4);
        assert_eq!(windows[2], "winget install --exact --id LLVM.LLVM --accept-package-agreements");
    }

    #[test]
    fn nothing_to_install_is_no_command() {
        assert!(Manager::Apt.install(&[], Privilege::Own).is_empty());
    }

    #[test]
    fn the_manager_is_the_systems_own() {
        assert_eq!(Manager::detect(Os::Linux, |name| name == "pacman" || name == "brew"), Some(Manager::Pacman));
        assert_eq!(Manager::detect(Os::Macos, |name| name == "brew"), Some(Manager::Brew));
        assert_eq!(Manager::detect(Os::Linux, |_| false), None);
    }

    #[test]
    fn rights_are_ours_or_sudos_or_none() {
        assert_eq!(Privilege::detect(false, true, true), Privilege::Own);
        assert_eq!(Privilege::detect(true, true, true), Privilege::Sudo);
        assert_eq!(Privilege::detect(true, true, false), Privilege::SilentSudo);
        assert_eq!(Privilege::detect(true, false, true), Privilege::None);
        assert_eq!(Manager::Apt.refresh(Privilege::SilentSudo).unwrap().to_string(), "sudo --non-interactive apt-get update");
    }
}
