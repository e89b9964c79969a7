//! The page at `/`: for a phone, and for who opens the address in a browser. One file, without
//! anything from elsewhere.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::json;

use super::state::SharedApp;

const PAGE: &str = include_str!("page/index.html");
const ICON: &[u8] = include_bytes!("../../packaging/icon.png");
/// Side of the icon in pixels.
const ICON_SIDE: u32 = 512;
const DAY: &str = "public, max-age=86400";

pub(super) fn routes() -> Router<SharedApp> {
    Router::new().route("/", get(index)).route("/icon.png", get(icon)).route("/manifest.webmanifest", get(manifest))
}

/// The page, whose script runs by a word that is drawn for this answer alone: none that something
/// else wrote into it does.
async fn index() -> impl IntoResponse {
    let nonce = format!("{:032x}", rand::random::<u128>());
    let policy = format!(
        "default-src 'self'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("<script>", &format!("<script nonce=\"{nonce}\">"));
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (header::CONTENT_SECURITY_POLICY, policy)], page)
}

async fn icon() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "image/png"), (header::CACHE_CONTROL, DAY)], ICON)
}

/// What a phone needs to have the page among its apps.
async fn manifest() -> impl IntoResponse {
    let manifest = json!({
        "name": "Atelier", "short_name": "Atelier", "start_url": "/", "scope": "/", "display": "standalone",
        "background_color": "#171718", "theme_color": "#171718",
        "icons": [{"src": "/icon.png", "sizes": format!("{ICON_SIDE}x{ICON_SIDE}"), "type": "image/png", "purpose": "any"}],
    });
    ([(header::CONTENT_TYPE, "application/manifest+json")], manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that is opened over a slow network is one that is small.
    const MAX_BYTES: usize = 60_000;

    #[test]
    fn the_page_is_one_small_file_that_needs_nothing_from_elsewhere() {
        assert!(PAGE.len() < MAX_BYTES, "{} bytes", PAGE.len());
        for elsewhere in ["http://", "https://", "src=\"//", "@import", "url(", "eval(", "innerHTML", "document.write"] {
            assert!(!PAGE.contains(elsewhere), "{elsewhere}");
        }
        assert_eq!(PAGE.matches("<script").count(), 1);
        assert_eq!(PAGE.matches(" onclick=").count(), 0, "the policy lets no attribute run");
    }

    #[test]
    fn every_control_has_a_name_and_everything_that_the_script_takes_is_there() {
        let script = PAGE.split("<script>").nth(1).unwrap();
        let ids: Vec<&str> = script.split("$('").skip(1).filter_map(|rest| rest.split('\'').next()).collect();
        assert!(ids.len() > 20);
        for id in ids {
            assert!(PAGE.contains(&format!("id=\"{id}\"")), "{id}");
        }
        for field in ["token", "prompt", "earlier", "model"] {
            assert!(PAGE.contains(&format!("<label for=\"{field}\">")), "{field}");
        }
        for button in PAGE.split("<button").skip(1) {
            let words = button.split('>').nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
            assert!(!words.trim().is_empty(), "{button}");
        }
    }

    #[test]
    fn the_icon_has_the_size_that_the_manifest_says() {
        let side = |at: usize| u32::from_be_bytes(ICON[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (ICON_SIDE, ICON_SIDE));
    }
}
