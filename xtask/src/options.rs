//! The command line of `cargo xtask`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::format::Format;

/// Output of `cargo xtask help`.
pub(crate) const HELP: &str = "\
Atelier's chores:

  cargo xtask run [-- ARGS]     build Atelier and start it; ARGS go to Atelier
  cargo xtask test [-- ARGS]    check the format, lint, and run every test, what failed once more; ARGS go to the tests
  cargo xtask test --vulkan     build with Vulkan in a folder of its own and compare a Vulkan device's picture with the processor's
  cargo xtask test --clients    let programs that others wrote (webuiapi, openai, ai, node-sd-webui, stable-diffusion-api, SillyTavern, mcp) ask a real server, and a browser use its page; needs Python, Node, Chromium and the network
  cargo xtask test --soak [-- ARGS] let ten people ask a real server for ten minutes, kill it in the middle, and count; needs Python and Linux
  cargo xtask test --packages   make the packages for Linux, or those that are named, and try them in a new Debian, as root
  cargo xtask sanitize [-- ARGS] run the tests that go through the engine with the sanitizers for addresses, leaks and undefined behaviour
  cargo xtask setup             only install what the others need
  cargo xtask lint              check the format, lint, and audit the dependencies
  cargo xtask bench [-- ARGS]   measure; ARGS go to the benchmark
  cargo xtask sheet [-- FILE]   paint 24 prompts with the built-in model into one picture (docs/screenshots/builtin.png);
                                with `-- --schedule`, words that change at each of the steps (docs/screenshots/schedule.png)
  cargo xtask screenshots [-- NAME] take the screens of docs/screenshots that show the built-in model at work, or those of NAME (film)
  cargo xtask fresh [-- ARGS]   do `test` and `run` in a new Debian, as root (ARGS go to tools/fresh-machine.sh)
  cargo xtask check --macos     check on Linux that the program compiles for macOS
  cargo xtask check --arm       run the tests of the CPU's kernels for 64-bit ARM under QEMU, on Linux
  cargo xtask toolchain windows only install what `package windows` needs on another system
  cargo xtask package FORMATS   build for other machines and pack: deb, rpm, appimage, tar, windows, msi, macos
  cargo xtask gpu-kit           pack what measures Atelier on a machine with a graphics card, without network and without Rust
  cargo xtask notes [VERSION]   print what CHANGELOG.md says of a version
  cargo xtask sums FOLDER       write sums of a folder's packages, and sign them with the key that ATELIER_MINISIGN_KEY names
  cargo xtask help              print this

Options, before `--`:

  -y, --yes          install what is missing without asking (CI=true means the same)
      --no-check     do not look for what is missing
      --jobs N       test: run N test programs at a time (usually two, or one where cores or memory are few)
      --release      run: build with every optimisation
      --features F   run, bench, sheet: build with these features (vulkan, cuda, metal, wgpu)
      --program FILE package, test --packages, gpu-kit: pack this program, which was built before; test --soak: try it";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chore {
    Help,
    Setup,
    Run,
    Test,
    Lint,
    Bench,
    Sanitize,
    Sheet,
    Screenshots,
    Fresh,
    Package,
    GpuKit,
    Notes,
    Sums,
    ToolchainWindows,
    CheckMacos,
    CheckArm,
}

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) chore: Chore,
    pub(crate) yes: bool,
    pub(crate) check: bool,
    pub(crate) release: bool,
    /// `test`: only the tests that require a build with Vulkan.
    pub(crate) vulkan: bool,
    /// `test`: only clients of the server that others wrote.
    pub(crate) clients: bool,
    /// `test`: only a server under load, which is killed.
    pub(crate) soak: bool,
    /// `test`: programs at a time, instead of what the machine has room for.
    pub(crate) jobs: Option<NonZeroUsize>,
    pub(crate) features: Option<String>,
    /// `test`: packages instead of the sources.
    pub(crate) packages: bool,
    /// `package` and `test --packages`: what to make.
    pub(crate) formats: Vec<Format>,
    /// `package`, `test --packages`, `test --soak` and `gpu-kit`: a program that was built before.
    pub(crate) program: Option<PathBuf>,
    /// Arguments after `--`; `notes`: the version; `sums`: the folder.
    pub(crate) rest: Vec<String>,
}

impl Options {
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut words = words.into_iter();
        let chore = match words.next().as_deref() {
            None | Some("help" | "-h" | "--help") => Chore::Help,
            Some("setup") => Chore::Setup,
            Some("run") => Chore::Run,
            Some("test") => Chore::Test,
            Some("lint") => Chore::Lint,
            Some("bench") => Chore::Bench,
            Some("sanitize") => Chore::Sanitize,
            Some("sheet") => Chore::Sheet,
            Some("screenshots") => Chore::Screenshots,
            Some("fresh") => Chore::Fresh,
            Some("package") => Chore::Package,
            Some("gpu-kit") => Chore::GpuKit,
            Some("notes") => Chore::Notes,
            Some("sums") => Chore::Sums,
            Some("check") => match words.next().as_deref() {
                Some("--macos") => Chore::CheckMacos,
                Some("--arm") => Chore::CheckArm,
                _ => {
                    let message =
                        "`check` is followed by the system: `cargo xtask check --macos` or `--arm`. For this one there is `lint`.";
                    return Err(message.to_owned());
                }
            },
            Some("toolchain") => match words.next().as_deref() {
                Some("windows") => Chore::ToolchainWindows,
                _ => return Err("`toolchain` is followed by the system to build for: `cargo xtask toolchain windows`.".to_owned()),
            },
            Some(other) => return Err(format!("There is no chore called `{other}`.")),
        };
        let mut options = Self {
            chore,
            yes: false,
            check: true,
            release: false,
            vulkan: false,
            clients: false,
            soak: false,
            packages: false,
            jobs: None,
            features: None,
            formats: Vec::new(),
            program: None,
            rest: Vec::new(),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--" => options.rest.extend(words.by_ref()),
                "-y" | "--yes" => options.yes = true,
                "--no-check" => options.check = false,
                "--release" if chore == Chore::Run => options.release = true,
                "--vulkan" if chore == Chore::Test => options.vulkan = true,
                "--clients" if chore == Chore::Test => options.clients = true,
                "--soak" if chore == Chore::Test => options.soak = true,
                "--jobs" if chore == Chore::Test => {
                    let jobs = words.next().and_then(|it| it.parse().ok());
                    options.jobs = Some(jobs.ok_or("`--jobs` is followed by a number of test programs, at least 1.")?);
                }
                "--features" if matches!(chore, Chore::Run | Chore::Bench | Chore::Sheet) => {
                    let list = words.next().ok_or("`--features` is followed by a list, such as `--features vulkan`.")?;
                    options.features = Some(list);
                }
                "--packages" if chore == Chore::Test => options.packages = true,
                "--program" if matches!(chore, Chore::Package | Chore::Test | Chore::GpuKit) => {
                    let program = words.next().ok_or("`--program` is followed by the path of a built program.")?;
                    options.program = Some(program.into());
                }
                name if (chore == Chore::Package || options.packages) && Format::parse(name).is_some() => {
                    options.formats.extend(Format::parse(name));
                }
                "-h" | "--help" => options.chore = Chore::Help,
                operand if matches!(chore, Chore::Notes | Chore::Sums) && options.rest.is_empty() && !operand.starts_with('-') => {
                    options.rest.push(word);
                }
                other => return Err(format!("`{other}` is not an option here. What is meant for the program itself goes after `--`.")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_follows_the_dashes_is_passed_on_untouched() {
        let options = parse("run --yes --features vulkan -- generate -p --yes -- x").unwrap();
        assert!(options.yes && options.check);
        assert_eq!(options.features.as_deref(), Some("vulkan"));
        assert_eq!(options.rest, ["generate", "-p", "--yes", "--", "x"]);
    }

    #[test]
    fn no_words_mean_help() {
        assert_eq!(parse("").unwrap().chore, Chore::Help);
        assert_eq!(parse("test --help").unwrap().chore, Chore::Help);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        assert!(parse("tset").unwrap_err().contains("`tset`"));
        assert!(parse("test --release").unwrap_err().contains("`--release`"));
        assert!(parse("run --features").unwrap_err().contains("--features"));
        assert!(parse("run --vulkan").unwrap_err().contains("`--vulkan`"));
        assert!(parse("check").is_err() && parse("check --macos --yes").unwrap().yes);
        assert_eq!(parse("check --arm -- int8").unwrap().chore, Chore::CheckArm);
        assert!(parse("toolchain").is_err() && parse("toolchain windows").is_ok());
        assert!(parse("package zip").unwrap_err().contains("`zip`"));
        assert_eq!(parse("notes v0.1.0").unwrap().rest, ["v0.1.0"]);
        assert!(parse("sums a b").unwrap_err().contains("`b`"));
        assert!(parse("gpu-kit --program x").unwrap().program.is_some());
        assert_eq!(parse("package deb --program x tar").unwrap().formats, [Format::Deb, Format::Tar]);
        assert_eq!(parse("test --packages deb -- --suite trixie").unwrap().formats, [Format::Deb]);
        assert!(parse("test deb").is_err());
        assert!(parse("test --clients").unwrap().clients && parse("run --clients").is_err());
        let soak = parse("test --soak --program x -- --minutes 60 --figures").unwrap();
        assert!(soak.soak && soak.program.is_some() && parse("bench --soak").is_err());
        assert_eq!(soak.rest, ["--minutes", "60", "--figures"]);
        assert_eq!(parse("test --jobs 3 -- x").unwrap().jobs, NonZeroUsize::new(3));
        assert!(parse("test --jobs 0").is_err() && parse("test --jobs").is_err() && parse("run --jobs 2").is_err());
        assert!(parse("test --vulkan").unwrap().vulkan && !parse("test").unwrap().vulkan);
    }
}
