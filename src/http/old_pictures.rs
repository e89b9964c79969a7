//! Removes pictures of others that are kept no longer, while the server runs.

use std::sync::Arc;
use std::time::Duration;

use atelier_gallery::SystemTrash;
use tokio::time::{Instant, interval_at};

use super::clock::now_ms;
use super::state::{SharedApp, blocking};

/// Time between two looks, and after the start before the first one: it is not waited for.
const INTERVAL: Duration = Duration::from_hours(1);
const FIRST_AFTER: Duration = Duration::from_mins(1);

/// Looks each hour for what is kept no longer.
pub(super) async fn remove_hourly(app: SharedApp) {
    let mut ticks = interval_at(Instant::now() + FIRST_AFTER, INTERVAL);
    loop {
        ticks.tick().await;
        let app = Arc::clone(&app);
        // A fault is in the log already, and the next hour tries again.
        drop(blocking(move || app.remove_old_pictures(now_ms(), &mut SystemTrash)).await);
    }
}
