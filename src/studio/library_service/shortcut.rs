//! Links that come as files: what browsers leave where an address is dragged out of them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file larger than this is no shortcut.
const MOST_BYTES: u64 = 64 << 10;

/// The address in a shortcut of Windows (`.url`), freedesktop (`.desktop`) or macOS (`.webloc`); `None` where the file is none.
pub(crate) fn address(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
    if !["url", "desktop", "webloc"].contains(&ending.as_str()) {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    if ending == "webloc" {
        let begin = text.find("<string>")? + "<string>".len();
        let rest = text.get(begin..)?;
        return Some(rest.get(..rest.find("</string>")?)?.replace("&amp;", "&"));
    }
    let line = text.lines().find_map(|line| line.trim().strip_prefix("URL")?.trim_start().strip_prefix('='))?;
    Some(line.trim().to_owned())
}

/// A path that is an address: dropped text reaches the window as a path, in which two slashes may have become one.
pub(crate) fn written(path: &Path) -> Option<String> {
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
    fn an_address_is_found_in_the_shortcuts_of_every_system() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            address(&path)
        };
        let found = Some("https://example.org/a.gguf?x=1&y=2".to_owned());
        assert_eq!(read("a.url", "[InternetShortcut]\r\nURL=https://example.org/a.gguf?x=1&y=2\r\n"), found);
        assert_eq!(read("a.desktop", "[Desktop Entry]\nType=Link\nURL = https://example.org/a.gguf?x=1&y=2\n"), found);
        let plist = "<plist><dict><key>URL</key><string>https://example.org/a.gguf?x=1&amp;y=2</string></dict></plist>";
        assert_eq!(read("a.webloc", plist), found);
        assert_eq!((read("a.txt", "URL=https://example.org"), read("b.url", "nothing")), (None, None));
    }

    #[test]
    fn an_address_is_known_among_paths() {
        assert_eq!(written(Path::new("https:/hf.co/a/b")).as_deref(), Some("https://hf.co/a/b"));
        assert_eq!(written(Path::new("hf.co/a/b")).as_deref(), Some("https://hf.co/a/b"));
        assert_eq!(written(Path::new("http://x/y.gguf")).as_deref(), Some("http://x/y.gguf"));
        assert_eq!((written(Path::new("/home/me/https")), written(Path::new("C:/models"))), (None, None));
    }
}
