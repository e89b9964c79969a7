//! What a program calls itself, for the person who is asked to let it in. It is a stranger's word, so
//! it is short, in one line, without what would end a quotation, and proves nothing. Pure.

use atelier_peers::clean_name;

/// Bytes of a `User-Agent` that are looked at.
const MAX_READ: usize = 1024;
/// With this a browser begins, whichever it is.
const ANY_BROWSER: &str = "Mozilla/";
/// What browsers name beside themselves, for what they are built from and whom they stand in for.
const BESIDE_BROWSERS: [&str; 6] = ["Mozilla", "AppleWebKit", "Gecko", "Version", "Mobile", "Safari"];

/// The name that a `User-Agent` gives, of at most 63 bytes; `None` where it gives none.
pub(super) fn program_name(user_agent: &str) -> Option<String> {
    let read = &user_agent[..user_agent.floor_char_boundary(MAX_READ)];
    let products = without_comments(read);
    let named = if products.starts_with(ANY_BROWSER) { browser(&products) } else { products.as_str() };
    Some(clean_name(named)).filter(|name| !name.is_empty())
}

/// The text outside of brackets, without quotation marks.
fn without_comments(text: &str) -> String {
    let mut depth = 0_usize;
    let is_outside = |c: &char| {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0 && *c != '"'
    };
    text.chars().filter(is_outside).collect()
}

/// The product of a browser that is its own.
fn browser(products: &str) -> &str {
    let is_own = |product: &&str| !BESIDE_BROWSERS.contains(&product.split('/').next().unwrap_or_default());
    let mut all = products.split_whitespace();
    // Safari has none beside itself, and stands last.
    products.split_whitespace().rfind(is_own).or_else(|| all.next_back()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_browsers_are_known_by_their_own_words() {
        for (sent, name) in [
            ("Blender", "Blender"),
            ("python-requests/2.34.2", "python-requests/2.34.2"),
            ("SillyTavern/1.19.0 (Linux; x64) node", "SillyTavern/1.19.0 node"),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox/128.0"),
            ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36", "Chrome/126.0"),
            ("Mozilla/5.0 (iPhone) AppleWebKit/605.1 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1", "Safari/604.1"),
            ("Mozilla/4.0", "Mozilla/4.0"),
        ] {
            assert_eq!(program_name(sent).as_deref(), Some(name), "{sent}");
        }
        for nothing in ["", "  ", "(a comment (in another) alone)", "\u{202e}\u{200b}", "\""] {
            assert_eq!(program_name(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_strangers_word_stays_short_in_one_line_and_within_its_quotation() {
        let sent = format!("Blender\u{1b}[2J\r\n\u{202e}\" has access. \"{}", "x".repeat(100_000));
        let name = program_name(&sent).unwrap();
        assert!(name.starts_with("Blender") && name.len() <= 63, "{name}");
        assert!(!name.chars().any(|c| c.is_control() || c == '"' || c == '\u{202e}'), "{name:?}");
        assert_eq!(program_name(&"ä".repeat(5000)).unwrap().len(), 62, "no letter is cut");
        assert_eq!(program_name(&"(".repeat(100_000)), None);
        assert_eq!(program_name(") Krita").as_deref(), Some("Krita"), "a bracket that nobody opened");
    }
}
