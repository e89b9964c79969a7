//! Numbers as people read them: sizes of files and of memory, durations, points in time.
//!
//! Files are counted in decimal units as file managers show them, memory in binary units as devices
//! and budgets have it.

use atelier_language::tr;

/// Bytes in a GiB.
pub const GIB: u64 = 1 << 30;

/// A number with so many decimals, as it is written in the language in use: for what is read, and
/// neither typed nor given to programs.
#[must_use]
pub fn decimal(value: f64, decimals: usize) -> String {
    atelier_language::decimal(format!("{value:.decimals$}"))
}

/// The size of a file, in its largest decimal unit.
///
/// ```
/// use atelier_core::format::file_size;
///
/// assert_eq!(file_size(640), "640 bytes");
/// assert_eq!(file_size(9_200_000), "9.2 MB");
/// ```
#[must_use]
pub fn file_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return tr!("core-bytes", bytes);
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{} {unit}", decimal(value, 1))
}

/// The size of a file, in whole decimal megabytes or tenths of gigabytes: `640 MB`, `3.4 GB`.
#[must_use]
pub fn file_size_rounded(bytes: u64) -> String {
    if bytes < 1_000_000_000 { format!("{} MB", bytes / 1_000_000) } else { format!("{} GB", decimal(bytes as f64 / 1e9, 1)) }
}

/// Memory of a device, in whole MiB, rounded up, or tenths of GiB: `640 MiB`, `7.5 GiB`.
#[must_use]
pub fn memory_size(bytes: u64) -> String {
    if bytes < GIB { format!("{} MiB", bytes.div_ceil(1 << 20)) } else { format!("{} GiB", gib_with_tenth(bytes)) }
}

/// GiB with one decimal, as memory of devices is shown.
#[must_use]
pub fn gib_with_tenth(bytes: u64) -> String {
    decimal(bytes as f64 / GIB as f64, 1)
}

/// A duration in its two largest units; below ten seconds in tenths: `0.4 s`, `3 min 20 s`, `1 h 5
/// min`.
#[must_use]
pub fn duration(secs: f32) -> String {
    let whole = secs.max(0.0).round() as u64;
    match whole {
        0..10 if secs.fract() != 0.0 => format!("{} s", decimal(f64::from(secs), 1)),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A duration that may be very short, down to a tenth of a second: `under 0.1 s`, `6 s`.
#[must_use]
pub fn seconds(secs: f64) -> String {
    if secs < 0.05 { tr!("core-under-a-tenth").to_owned() } else { duration(secs as f32) }
}

/// The time that passed since something happened, in its largest whole unit: `just now`, `2 hours
/// ago`.
#[must_use]
pub fn time_ago(secs: u64) -> String {
    match secs {
        0..=59 => tr!("core-just-now").to_owned(),
        60..=3_599 => tr!("core-minutes-ago", count = secs / 60),
        3_600..=86_399 => tr!("core-hours-ago", count = secs / 3_600),
        _ => tr!("core-days-ago", count = secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_in_the_unit_that_fits() {
        let sizes = [0, 1, 999, 1000, 9_240_000, 999_960_000, 2_132_625_182].map(file_size);
        assert_eq!(sizes, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "9.2 MB", "1.0 GB", "2.1 GB"]);
        assert_eq!([640_900_000, 3_400_000_000].map(file_size_rounded), ["640 MB", "3.4 GB"]);
    }

    #[test]
    fn memory_is_counted_in_binary_units() {
        assert_eq!([1, 640 << 20, 15 * GIB / 2].map(memory_size), ["1 MiB", "640 MiB", "7.5 GiB"]);
    }

    #[test]
    fn times_read_like_times() {
        for (secs, text) in [(0.43, "0.4 s"), (59.0, "59 s"), (200.0, "3 min 20 s"), (3900.0, "1 h 5 min")] {
            assert_eq!(duration(secs), text);
        }
        assert_eq!([0.01, 0.1, 6.0].map(seconds), ["under 0.1 s", "0.1 s", "6 s"]);
    }

    #[test]
    fn what_was_is_said_in_the_largest_whole_unit() {
        for (secs, text) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (7_199, "1 hour ago"),
            (7_200, "2 hours ago"),
            (900_000, "10 days ago"),
        ] {
            assert_eq!(time_ago(secs), text);
        }
    }
}
