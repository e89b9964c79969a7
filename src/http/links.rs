//! Links to pictures by names that cannot be guessed, each for an hour.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atelier_media::ExportFormat;

/// Time for which a link leads to its picture, and how many there are.
const LINK_AGE: Duration = Duration::from_hours(1);
const MAX_LINKS: usize = 1000;

/// A picture that can be had by an unguessable name.
struct Link {
    path: PathBuf,
    format: ExportFormat,
    since: Instant,
}

impl Link {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= LINK_AGE
    }
}

/// The links by their names.
#[derive(Default)]
pub(super) struct Links(HashMap<String, Link>);

impl Links {
    /// A link to a picture: its name, of 128 bits.
    pub(super) fn add(&mut self, path: PathBuf, format: ExportFormat, now: Instant) -> String {
        let name = format!("{:032x}.{}", rand::random::<u128>(), format.ending());
        self.0.retain(|_, link| !link.is_over(now));
        if self.0.len() >= MAX_LINKS {
            let oldest = self.0.iter().min_by_key(|(_, link)| link.since).map(|(name, _)| name.clone());
            self.0.remove(&oldest.unwrap_or_default());
        }
        self.0.insert(name.clone(), Link { path, format, since: now });
        name
    }

    /// The picture of such a name.
    pub(super) fn find(&self, name: &str, now: Instant) -> Option<(PathBuf, ExportFormat)> {
        let link = self.0.get(name).filter(|link| !link.is_over(now))?;
        Some((link.path.clone(), link.format))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_lasts_an_hour_and_of_too_many_the_oldest_goes() {
        let (mut links, start) = (Links::default(), Instant::now());
        let path = |n: usize| PathBuf::from(format!("/p/{n}.png"));
        let first = links.add(path(0), ExportFormat::Png, start);
        assert!(first.len() == 36 && first.strip_suffix(".png").is_some(), "{first}");
        let end = start + LINK_AGE;
        assert_eq!(links.find(&first, start + (LINK_AGE.saturating_sub(Duration::from_millis(1)))), Some((path(0), ExportFormat::Png)));
        assert_eq!([links.find(&first, end), links.find("0123456789abcdef.png", start)], [None, None]);
        let second = links.add(path(1), ExportFormat::WebP, start + Duration::from_secs(1));
        for n in 2..=MAX_LINKS {
            links.add(path(n), ExportFormat::Png, start + Duration::from_secs(2));
        }
        assert_eq!((links.0.len(), links.find(&first, start)), (MAX_LINKS, None));
        assert_eq!(links.find(&second, start), Some((path(1), ExportFormat::WebP)));
        links.add(path(0), ExportFormat::Png, end + Duration::from_secs(1));
        assert_eq!(links.find(&second, start), None, "what is over is not kept");
    }
}
