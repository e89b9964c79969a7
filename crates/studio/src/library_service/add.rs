//! Links, repositories, folders and files that a person adds.

use std::path::Path;

use atelier_language::tr;
use atelier_library::Link;

use super::message::LibraryEvent;
use super::shortcut;
use super::worker::Worker;

impl Worker {
    /// Downloads a link, lists a repository, or uses a folder in place.
    pub(super) fn add(&mut self, path: &Path) {
        let Some(text) = shortcut::url_as_path(path).or_else(|| shortcut::url_in_shortcut(path)) else {
            if path.exists() {
                self.add_folder(path);
            } else if let Some(repo) = repository_name(path) {
                self.open_repository(repo);
            } else if let Some(link) = path.to_str().and_then(Link::read) {
                self.add_link(&link);
            } else {
                self.notice(tr!("studio-is-not-a-file", path = path.display()));
            }
            return;
        };
        match Link::read(&text) {
            Some(link) => self.add_link(&link),
            None => self.notice(tr!("studio-does-not-lead-to", text)),
        }
    }

    fn add_link(&self, link: &Link) {
        match link {
            Link::Repository(repo) => self.open_repository(repo.clone()),
            Link::Direct(url) if !link.names_a_file() => self.with_downloads(|it| it.probe(url)),
            Link::File { .. } | Link::Direct(_) => self.download_link(link, None),
        }
    }

    fn open_repository(&self, repo: String) {
        self.with_downloads(|it| it.list_repository(&repo));
        self.send(LibraryEvent::RepositoryOpened(repo));
    }
}

/// A repository's bare name, `owner/name`, which reached the service as a path.
fn repository_name(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let is_part = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let (owner, name) = text.split_once('/')?;
    let is_name = is_part(owner) && is_part(name) && !owner.starts_with('.');
    // A link without its scheme may look like one: `example.org/ink.gguf`.
    (is_name && Link::read(text).is_none()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_without_its_scheme_is_no_name_of_a_repository() {
        for (text, is_repository) in [
            ("example.org/ink.safetensors", false),
            ("example.org/ink.safetensors?download=true", false),
            ("owner/flux.1-dev", true),
            ("owner/ink.gguf", true),
            ("v1.5/ink.gguf", true),
            ("./ink.gguf", false),
        ] {
            assert_eq!(repository_name(Path::new(text)).is_some(), is_repository, "{text}");
        }
    }
}
