//! What is published beside the packages: notes out of CHANGELOG.md, sums, the file that tells a
//! program of a newer version, and signatures.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{output, root};
use crate::failure::Failure;
use crate::files::write;
use crate::options::Options;

const CHANGELOG: &str = "CHANGELOG.md";
const SUMS: &str = "SHA256SUMS";
/// The file that the program's check for updates fetches.
const VERSION_FILE: &str = "atelier-version.json";

/// Path of minisign's secret key, one without a password.
const KEY_VARIABLE: &str = "ATELIER_MINISIGN_KEY";
/// Address of the page from which people download, `https://...`.
const PAGE_VARIABLE: &str = "ATELIER_DOWNLOAD_PAGE";

/// Prints the section of a version, this one's where none is named; of what is not released yet
/// where it has none.
pub(crate) fn notes(options: &Options) -> Result<(), Failure> {
    let path = root().join(CHANGELOG);
    let text = fs::read_to_string(&path).map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))?;
    let named = options.rest.first().map(|it| it.strip_prefix('v').unwrap_or(it));
    let version = named.unwrap_or(env!("CARGO_PKG_VERSION"));
    let found = section(&text, version).or_else(|| section(&text, "Unreleased"));
    let notes =
        found.ok_or_else(|| Failure::new(format!("{CHANGELOG} has a section neither for {version} nor for what is unreleased.")))?;
    println!("{notes}");
    Ok(())
}

/// Writes sums of all files of a folder, the version file where a page is named, and signatures of
/// both where a key is.
pub(crate) fn sums(options: &Options) -> Result<(), Failure> {
    let folder = options.rest.first().map(PathBuf::from).ok_or_else(|| Failure::new("Name the folder with the packages."))?;
    let mut signed = vec![folder.join(SUMS)];
    if let Ok(page) = env::var(PAGE_VARIABLE) {
        let file = folder.join(VERSION_FILE);
        write(&file, &version_file(env!("CARGO_PKG_VERSION"), &page)?)?;
        signed.push(file);
    }
    let mut lines = String::new();
    for file in files(&folder)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        lines.extend([&sum(&file)?, "  ", &name, "\n"]);
    }
    write(&folder.join(SUMS), &lines)?;
    match env::var_os(KEY_VARIABLE) {
        Some(key) => signed.iter().try_for_each(|file| sign(file, Path::new(&key)))?,
        None => eprintln!("{KEY_VARIABLE} names no key, so nothing is signed."),
    }
    println!("{}", folder.join(SUMS).display());
    Ok(())
}

/// The lines below the heading `## [version]` up to the next one, without empty ones around them.
fn section<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    let heading = format!("## [{version}]");
    let begin = changelog.match_indices(&heading).map(|(at, _)| at).find(|at| *at == 0 || changelog[..*at].ends_with('\n'))?;
    let (_, text) = changelog[begin..].split_once('\n')?;
    let end = text.find("\n## ").unwrap_or(text.len());
    // Lists of links stand at the end of the file.
    let text = text[..end].trim();
    let links = text.find("\n[").filter(|at| text[*at..].trim().lines().all(|line| line.starts_with('[') || line.is_empty()));
    let text = links.map_or(text, |at| &text[..at]).trim();
    (!text.is_empty()).then_some(text)
}

fn version_file(version: &str, page: &str) -> Result<String, Failure> {
    let is_page = page.starts_with("https://") && !page.contains(|c: char| c == '"' || c == '\\' || c.is_whitespace() || c.is_control());
    if !is_page {
        return Err(Failure::new(format!("{PAGE_VARIABLE} is no address of a page: {page}")));
    }
    Ok(format!("{{\"product\":\"atelier\",\"version\":\"{version}\",\"page\":\"{page}\"}}\n"))
}

/// Files of a folder by name, without sums and signatures.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::new(format!("{} cannot be read: {error}", folder.display())))?;
    let is_own = |name: &str| name == SUMS || name.ends_with(".minisig");
    let is_package = |path: &PathBuf| path.is_file() && !path.file_name().is_some_and(|name| is_own(&name.to_string_lossy()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_package).collect();
    files.sort();
    if files.is_empty() { Err(Failure::new(format!("{} holds no packages.", folder.display()))) } else { Ok(files) }
}

/// SHA-256 by the program that the system has.
fn sum(file: &Path) -> Result<String, Failure> {
    let mut command = if cfg!(target_os = "macos") { Command::new("shasum") } else { Command::new("sha256sum") };
    if cfg!(target_os = "macos") {
        command.args(["-a", "256"]);
    }
    let text = output(command.arg("--").arg(file))?;
    // A name with a backslash is written with one more in front of the line.
    let sum = text.trim_start_matches('\\').split_whitespace().next().unwrap_or_default();
    if sum.len() == 64 { Ok(sum.to_owned()) } else { Err(Failure::new(format!("{} has no sum: {text}", file.display()))) }
}

fn sign(file: &Path, key: &Path) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    output(Command::new("minisign").args(["-S", "-W", "-s"]).arg(key).args(["-t", &name, "-m"]).arg(file)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n- One.\n\n## [0.1.0]\n- First.\n\n[0.1.0]: https://x\n";

    #[test]
    fn a_version_has_its_lines_and_no_others() {
        assert_eq!(section(TEXT, "0.2.0"), Some("### Added\n- One."));
        assert_eq!(section(TEXT, "0.1.0"), Some("- First."));
        assert_eq!((section(TEXT, "Unreleased"), section(TEXT, "0.3.0")), (None, None));
    }

    #[test]
    fn the_changelog_of_this_tree_has_notes() {
        let text = fs::read_to_string(root().join(CHANGELOG)).unwrap();
        assert!(section(&text, env!("CARGO_PKG_VERSION")).or_else(|| section(&text, "Unreleased")).is_some());
    }

    #[test]
    fn the_version_file_names_a_page_of_https_alone() {
        let expected = "{\"product\":\"atelier\",\"version\":\"1.2.3\",\"page\":\"https://x.example/a\"}\n";
        assert_eq!(version_file("1.2.3", "https://x.example/a").unwrap(), expected);
        assert!(version_file("1.2.3", "http://x.example").is_err() && version_file("1.2.3", "https://x\"").is_err());
    }

    #[test]
    fn a_folder_is_summed_without_sums_and_signatures() {
        let root = tempfile::tempdir().unwrap();
        assert!(files(root.path()).is_err());
        for name in ["b.deb", "a.exe", SUMS, "a.exe.minisig"] {
            fs::write(root.path().join(name), "x").unwrap();
        }
        let names: Vec<_> = files(root.path()).unwrap().iter().map(|it| it.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.exe", "b.deb"]);
        #[cfg(unix)]
        assert_eq!(sum(&root.path().join("b.deb")).unwrap(), "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
    }
}
