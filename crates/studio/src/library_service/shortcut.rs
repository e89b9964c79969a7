//! URLs that reach the service as paths: internet shortcuts, which browsers write where a link is
//! dragged out of them, and dropped text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Upper bound of a shortcut's size; larger files are none.
const MAX_BYTES: u64 = 64 << 10;

/// URL in a shortcut of Windows (`.url`), freedesktop (`.desktop`) or macOS (`.webloc`); `None` for
/// any other file.
pub(super) fn url_in_shortcut(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
    if !["url", "desktop", "webloc"].contains(&extension.as_str()) {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    if extension == "webloc" {
        let begin = text.find("<string>")? + "<string>".len();
        let rest = text.get(begin..)?;
        return Some(rest.get(..rest.find("</string>")?)?.replace("&amp;", "&"));
    }
    let line = text.lines().find_map(|line| line.trim().strip_prefix("URL")?.trim_start().strip_prefix('='))?;
    Some(line.trim().to_owned())
}

/// URL that was dropped as text and so became a path, in which two slashes may have become one.
pub(super) fn url_as_path(path: &Path) -> Option<String> {
    let text = path.to_str()?.trim();
    if ["huggingface.co/", "hf.co/"].iter().any(|host| text.starts_with(host)) {
        return Some(format!("https://{text}"));
    }
    let (scheme, rest) = text.split_once(":/")?;
    ["http", "https"].contains(&scheme).then(|| format!("{scheme}://{}", rest.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_found_in_the_shortcuts_of_every_system() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            url_in_shortcut(&path)
        };
        let found = Some("https://example.org/a.gguf?x=1&y=2".to_owned());
        assert_eq!(read("a.url", "[InternetShortcut]\r\nURL=https://example.org/a.gguf?x=1&y=2\r\n"), found);
        assert_eq!(read("a.desktop", "[Desktop JobSnapshot]\nType=Link\nURL = https://example.org/a.gguf?x=1&y=2\n"), found);
        let plist = "<plist><dict><key>URL</key><string>https://example.org/a.gguf?x=1&amp;y=2</string></dict></plist>";
        assert_eq!(read("a.webloc", plist), found);
        assert_eq!((read("a.txt", "URL=https://example.org"), read("b.url", "nothing")), (None, None));
    }

    #[test]
    fn a_url_is_known_among_paths() {
        assert_eq!(url_as_path(Path::new("https:/hf.co/a/b")).as_deref(), Some("https://hf.co/a/b"));
        assert_eq!(url_as_path(Path::new("hf.co/a/b")).as_deref(), Some("https://hf.co/a/b"));
        assert_eq!(url_as_path(Path::new("http://x/y.gguf")).as_deref(), Some("http://x/y.gguf"));
        assert_eq!((url_as_path(Path::new("/home/me/https")), url_as_path(Path::new("C:/models"))), (None, None));
    }
}
