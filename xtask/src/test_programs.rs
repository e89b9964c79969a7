//! The test programs that cargo would run, with their folders and environments.
//!
//! Cargo starts every test program through this one (`runner` in its configuration), which writes
//! down how it was started and does not run it.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo::output;
use crate::failure::Failure;

/// The first word of a command line by which cargo starts a test program through this one.
pub(crate) const LIST_TEST: &str = "list-test";
/// Names the package to a test program.
const PACKAGE_VARIABLE: &str = "CARGO_PKG_NAME";

/// How cargo starts a test program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestProgram {
    file: PathBuf,
    /// Words for the tests.
    pub(crate) arguments: Vec<String>,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl TestProgram {
    /// `package/program`, the same in every build. A package's library and its program may share it.
    pub(crate) fn name(&self) -> String {
        let package = self.environment.iter().find(|(name, _)| name == PACKAGE_VARIABLE).map_or("", |(_, value)| value);
        let stem = self.file_stem();
        // Cargo ends its names in a hash.
        format!("{package}/{}", stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name))
    }

    /// The name of its file, unique in one build.
    pub(crate) fn file_stem(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Starts it as cargo would, but with these words.
    pub(crate) fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.file);
        command.args(arguments).current_dir(&self.folder);
        // What is not Unicode is not in the list and stays as this program has it.
        for (name, _) in unicode_variables() {
            command.env_remove(name);
        }
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }
}

/// The test programs that a `cargo test` would run, in its order, with `arguments` for the tests.
/// The list is written into `folder`.
pub(crate) fn list(cargo_test: &mut Command, arguments: &[String], folder: &Path) -> Result<Vec<TestProgram>, Failure> {
    let list = folder.join("list");
    let own = env::current_exe().map_err(|error| Failure::new(format!("The path of this program is unknown: {error}")))?;
    // Quotes of TOML that know no escapes, for the backslashes of Windows.
    let runner = format!("target.'cfg(all())'.runner = ['{}', '{LIST_TEST}', '{}']", own.display(), list.display());
    output(cargo_test.args(["--config", &runner]).arg("--").args(arguments))?;
    let problem = |error: io::Error| Failure::new(format!("{} cannot be read: {error}", list.display()));
    parse(&fs::read(&list).map_err(problem)?).ok_or_else(|| Failure::new(format!("{} is damaged.", list.display())))
}

/// Writes down how a test program was started. `words`: the list's file, the program and its
/// arguments.
pub(crate) fn list_test(words: &[String]) -> ExitCode {
    let [list, file, arguments @ ..] = words else {
        eprintln!("`{LIST_TEST}` is for `cargo xtask test` alone.");
        return ExitCode::from(2);
    };
    let appended = env::current_dir().and_then(|folder| {
        let program = TestProgram { file: file.into(), arguments: arguments.to_vec(), folder, environment: unicode_variables().collect() };
        append(Path::new(list), &program)
    });
    match appended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{list} cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

fn unicode_variables() -> impl Iterator<Item = (String, String)> {
    env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Appends a program in one write: each field ends in a NUL, which none of them can hold.
fn append(list: &Path, program: &TestProgram) -> io::Result<()> {
    let path = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| io::Error::other(format!("{} is not Unicode", path.display())));
    let mut fields = vec![path(&program.file)?, path(&program.folder)?];
    fields.extend([program.arguments.len().to_string(), program.environment.len().to_string()]);
    fields.extend(program.arguments.iter().cloned());
    fields.extend(program.environment.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
    let text: String = fields.iter().flat_map(|field| [field.as_str(), "\0"]).collect();
    OpenOptions::new().create(true).append(true).open(list)?.write_all(text.as_bytes())
}

/// Reads what [`append`] wrote; `None` if it is cut short.
fn parse(bytes: &[u8]) -> Option<Vec<TestProgram>> {
    let mut fields = str::from_utf8(bytes).ok()?.split_terminator('\0').map(str::to_owned);
    let mut programs = Vec::new();
    while let Some(file) = fields.next() {
        let folder = fields.next()?.into();
        let [arguments, variables] = [fields.next()?, fields.next()?].map(|count| count.parse::<usize>());
        let arguments = (0..arguments.ok()?).map(|_| fields.next()).collect::<Option<_>>()?;
        let environment = (0..variables.ok()?).map(|_| Some((fields.next()?, fields.next()?))).collect::<Option<_>>()?;
        programs.push(TestProgram { file: file.into(), arguments, folder, environment });
    }
    Some(programs)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A program that runs in `folder` with these variables.
    pub(crate) fn program(file: &str, arguments: &[&str], folder: &Path, environment: &[(&str, &str)]) -> TestProgram {
        TestProgram {
            file: file.into(),
            arguments: arguments.iter().map(|it| (*it).to_owned()).collect(),
            folder: folder.into(),
            environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn programs_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let programs = [
            program("/a/engine-00ff", &["", "--exact", "a word"], folder.path(), &[("A", "1=2\n3"), ("B", "")]),
            program("/a/queue_kills-11ff", &[], folder.path(), &[(PACKAGE_VARIABLE, "atelier")]),
        ];
        for program in &programs {
            append(&list, program).unwrap();
        }
        let bytes = fs::read(&list).unwrap();
        assert_eq!(parse(&bytes).unwrap(), programs);
        assert_eq!(parse(&[]), Some(Vec::new()));
        // Cut inside the second program's fields.
        assert_eq!(parse(&bytes[..bytes.len() - "atelier\0".len()]), None);
    }

    #[test]
    fn a_name_is_the_package_and_the_file_without_its_hash() {
        let of = |file: &str| program(file, &[], Path::new("/"), &[(PACKAGE_VARIABLE, "atelier-engine")]).name();
        assert_eq!(of("/a/hostile_graphs-00ff"), "atelier-engine/hostile_graphs");
        assert_eq!(of("hostile_graphs.exe"), "atelier-engine/hostile_graphs");
    }

    #[test]
    fn a_program_starts_with_the_listed_environment_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let command = program("x", &[], folder.path(), &[("ATELIER_LISTED", "1")]).command(&["--exact".to_owned()]);
        let mut kept = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        assert_eq!(kept.next(), Some(("ATELIER_LISTED", "1")));
        assert_eq!(kept.next(), None);
        assert!(command.get_envs().any(|(name, value)| name == "PATH" && value.is_none()));
        assert_eq!(command.get_current_dir(), Some(folder.path()));
        assert!(command.get_args().eq(["--exact"]));
    }
}
