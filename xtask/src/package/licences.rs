//! `licences.html`: the licence of every crate that is linked into the program, and of what the
//! engine brings.
//!
//! Cargo names the crates; their texts are read from the folders that cargo compiled them from. A
//! text that many share is there once.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::stage::TargetSystem;
use crate::cargo::{cargo, cargo_program};
use crate::failure::Failure;

/// How deep a crate's folder is searched for licence texts.
const SEARCH_DEPTH: usize = 4;
/// The crate that holds the engine's sources, some of which carry their licence as a comment.
const ENGINE: &str = "diffusion-rs-sys";
const ENGINE_HEADERS: &str = "stable-diffusion.cpp/thirdparty";

const STYLE: &str = "body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 sans-serif;color-scheme:light dark}\
pre{white-space:pre-wrap;font-size:.85rem;border:1px solid #8884;border-radius:6px;padding:1rem}td{padding-right:1.5rem}";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    licence: String,
    page: String,
}

/// The page as HTML.
pub(crate) fn page(system: TargetSystem) -> Result<String, Failure> {
    let (target, features) = match system {
        TargetSystem::Linux => ("x86_64-unknown-linux-gnu", "vulkan"),
        TargetSystem::Windows => ("x86_64-pc-windows-gnu", "vulkan"),
        TargetSystem::Macos => ("aarch64-apple-darwin", "metal"),
    };
    let crates = linked_crates(target, features)?;
    let folders = crate_folders(target)?;
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut without_text = Vec::new();
    for it in &crates {
        let user = format!("{} {}", it.name, it.version);
        let Some(folder) = find_folder(&folders, it) else {
            return Err(Failure::new(format!("The folder of the crate {user} was not found, so its licence cannot be packed.")));
        };
        let mut found = licence_texts(folder, SEARCH_DEPTH);
        if it.name == ENGINE {
            found.extend(notices_in_headers(&folder.join(ENGINE_HEADERS)));
        }
        if found.is_empty() {
            without_text.push(user.clone());
        }
        for (file, text) in found {
            // Texts beside the crate's own are of what it brings, so they are named by their file.
            let user = if file.contains('/') { format!("{user}, {file}") } else { user.clone() };
            texts.entry(text).or_default().insert(user);
        }
    }
    for (_, text) in standard_library_texts() {
        texts.entry(text).or_default().insert("the standard library of Rust".to_owned());
    }
    Ok(render(&crates, &texts, &without_text))
}

/// Crates in the program, without Atelier's own.
fn linked_crates(target: &str, features: &str) -> Result<BTreeSet<Crate>, Failure> {
    let mut command = cargo("tree");
    command.args(["--locked", "--package", "atelier", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"]);
    command.args(["--target", target, "--features", features, "--format", "{p}|{l}|{r}"]);
    let output = command.output().map_err(|error| Failure::new(format!("cargo could not be started: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("Cargo could not list the dependencies.\n{}", String::from_utf8_lossy(&output.stderr))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_crate).collect())
}

/// A line of `cargo tree`; `None` for a crate of this workspace.
fn parse_crate(line: &str) -> Option<Crate> {
    let mut fields = line.split('|');
    let (package, licence, page) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    if words.next().is_some() {
        return None;
    }
    let [name, version, licence, page] = [name, version, licence, page].map(str::to_owned);
    Some(Crate { name, version, licence, page })
}

/// Folders of the packages for a system.
fn crate_folders(target: &str) -> Result<Vec<PathBuf>, Failure> {
    let output = cargo("metadata").args(["--locked", "--format-version", "1", "--filter-platform", target]).output();
    let output = output.map_err(|error| Failure::new(format!("cargo could not be started: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("Cargo could not describe the packages.\n{}", String::from_utf8_lossy(&output.stderr))));
    }
    let folders = manifest_paths(&String::from_utf8_lossy(&output.stdout));
    Ok(folders.iter().filter_map(|it| it.parent()).map(Path::to_owned).collect())
}

/// Values of `manifest_path` in the JSON of `cargo metadata`.
fn manifest_paths(json: &str) -> Vec<PathBuf> {
    let values = json.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    values.map(|value| PathBuf::from(value.replace("\\\\", "\\"))).collect()
}

/// The folder is called `name-version`, or `name` alone in a folder made by `cargo vendor`.
fn find_folder<'a>(folders: &'a [PathBuf], it: &Crate) -> Option<&'a PathBuf> {
    let versioned = format!("{}-{}", it.name, it.version);
    let named = |wanted: &str| folders.iter().find(|folder| folder.file_name().is_some_and(|name| name == wanted));
    named(&versioned).or_else(|| named(&it.name))
}

/// Licence texts in a folder and below, by path in it, most general first.
fn licence_texts(folder: &Path, depth: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            if depth > 0 {
                found.extend(licence_texts(&path, depth - 1).into_iter().map(|(file, text)| (format!("{name}/{file}"), text)));
            }
        } else if is_licence_name(name)
            && let Ok(bytes) = fs::read(&path)
        {
            found.push((name.to_owned(), String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim().to_owned()));
        }
    }
    found.sort();
    found
}

fn is_licence_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let source = [".rs", ".h", ".c", ".cpp", ".py", ".toml", ".json", ".html"].iter().any(|ending| name.ends_with(ending));
    let word = ["license", "licence", "copying", "copyright", "notice", "unlicense", "ofl.", "ufl."];
    !source && (word.iter().any(|word| name.starts_with(word)) || name.contains("license.") || name.contains("-license"))
}

/// Licences in the comments of headers that come as one file.
fn notices_in_headers(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let headers = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let notices = headers.filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        let text = notice(&fs::read_to_string(&path).ok()?)?;
        Some((format!("{ENGINE_HEADERS}/{name}"), text))
    });
    notices.collect()
}

/// Comments that grant permissions, and SPDX lines, each once; `None` where there is neither.
fn notice(source: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut add = |part| {
        if !parts.contains(&part) {
            parts.push(part);
        }
    };
    source.lines().filter(|line| line.contains("SPDX-")).map(|line| line.trim_start_matches(['/', '*', ' '])).for_each(&mut add);
    let comments = source.split("/*").skip(1).filter_map(|rest| rest.split_once("*/"));
    let grants = |text: &str| text.contains("ermission is hereby granted") || text.contains("\"AS IS\"");
    comments.map(|(comment, _)| comment.trim()).filter(|comment| grants(comment)).for_each(&mut add);
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn standard_library_texts() -> Vec<(String, String)> {
    let program = env::var_os("RUSTC").unwrap_or_else(|| Path::new(&cargo_program()).with_file_name("rustc").into());
    let sysroot = std::process::Command::new(program).args(["--print", "sysroot"]).output().ok();
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    licence_texts(&Path::new(&sysroot).join("share/doc/rust"), 0)
}

fn render(crates: &BTreeSet<Crate>, texts: &BTreeMap<String, BTreeSet<String>>, without_text: &[String]) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Atelier: licences</title><style>{STYLE}</style></head><body>\n\
         <h1>Licences</h1>\n<p>Atelier is under the MIT or the Apache 2.0 licence, as you choose. It contains the work of others, under the \
         licences below: stable-diffusion.cpp and ggml, which make the pictures, and {} libraries.</p>\n<table>\n",
        crates.len()
    );
    for Crate { name, version, licence, page } in crates {
        let name = escape(name);
        let name = if page.starts_with("https://") { format!("<a href=\"{}\">{name}</a>", escape(page)) } else { name };
        let _ = writeln!(html, "<tr><td>{name}</td><td>{}</td><td>{}</td></tr>", escape(version), escape(licence));
    }
    html.push_str("</table>\n");
    let mut sections: Vec<_> = texts.iter().collect();
    // What many share comes first.
    sections.sort_by_key(|(_, users)| std::cmp::Reverse(users.len()));
    for (text, users) in sections {
        let users: Vec<&str> = users.iter().map(String::as_str).collect();
        let _ = writeln!(html, "<h3>{}</h3>\n<pre>{}</pre>", escape(&users.join("; ")), escape(text));
    }
    if !without_text.is_empty() {
        let names = escape(&without_text.join("; "));
        let _ = writeln!(html, "<h3>{names}</h3>\n<p>Published without a text: they are under the licences named in the table above.</p>");
    }
    html.push_str("</body></html>\n");
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_crates_are_left_out() {
        let line = parse_crate("aes v0.9.4|MIT OR Apache-2.0|https://x.example").unwrap();
        assert_eq!((line.name.as_str(), line.version.as_str(), line.licence.as_str()), ("aes", "0.9.4", "MIT OR Apache-2.0"));
        assert_eq!(parse_crate("atelier v0.1.0 (/src/atelier)|MIT|"), None);
    }

    #[test]
    fn paths_are_read_from_cargos_json() {
        let json = r#"{"packages":[{"manifest_path":"/r/a-1.0/Cargo.toml","x":1},{"manifest_path":"C:\\r\\b\\Cargo.toml"}]}"#;
        assert_eq!(manifest_paths(json), [PathBuf::from("/r/a-1.0/Cargo.toml"), PathBuf::from(r"C:\r\b\Cargo.toml")]);
    }

    #[test]
    fn licences_are_known_by_their_names() {
        for name in ["LICENSE", "LICENSE-MIT", "licence.md", "COPYING", "NOTICE", "OFL.txt", "emoji-icon-font-mit-license.txt"] {
            assert!(is_licence_name(name), "{name}");
        }
        for name in ["license.rs", "README.md", "copyright.h", "Cargo.toml"] {
            assert!(!is_licence_name(name), "{name}");
        }
    }

    #[test]
    fn a_header_gives_its_notice_and_not_its_code() {
        let source = "// SPDX-License-Identifier: MIT\nint x; /* a counter */\n/* (c) A\n Permission is hereby granted ... */\n";
        assert_eq!(notice(source).unwrap(), "SPDX-License-Identifier: MIT\n\n(c) A\n Permission is hereby granted ...");
        assert_eq!(notice("int x;"), None);
    }

    #[test]
    fn a_text_that_two_share_is_there_once_and_escaped() {
        let crates = ["a", "b"].map(|name| parse_crate(&format!("{name} v1|MIT|")).unwrap()).into();
        let users: BTreeSet<String> = ["a 1", "b 1"].map(str::to_owned).into();
        let html = render(&crates, &[("no <warranty>".to_owned(), users)].into(), &["c 1".to_owned()]);
        assert_eq!(html.matches("no &lt;warranty&gt;").count(), 1);
        assert!(html.contains("a 1; b 1") && html.contains("<td>b</td><td>1</td><td>MIT</td>"));
    }
}
