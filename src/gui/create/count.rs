//! How many pictures are made at once where the person leaves it to Atelier. Pure.

use atelier_core::time::TimePrediction;

/// Pictures that are made at once where they are quick.
const QUICK_COUNT: u32 = 4;
/// Seconds that they may take together.
const QUICK_SECS: f64 = 10.0;

/// How many pictures to make at once. `time`: of one, as predicted; `None`: unknown. `is_loaded`:
/// their model is in memory.
#[must_use]
pub(crate) fn quick_count(time: Option<&TimePrediction>, is_loaded: bool) -> u32 {
    let is_quick = time.is_some_and(|time| time.batch_secs(QUICK_COUNT) - time.saved_secs(is_loaded) < QUICK_SECS);
    if is_quick { QUICK_COUNT } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_are_made_where_they_are_quick_together() {
        let time =
            |total_secs, next_picture_secs| TimePrediction { total_secs, next_picture_secs, load_secs: 3.0, ..TimePrediction::default() };
        assert_eq!(quick_count(None, true), 1);
        assert_eq!((quick_count(Some(&time(6.0, 2.0)), true), quick_count(Some(&time(6.0, 2.0)), false)), (4, 1));
        assert_eq!(quick_count(Some(&time(4.0, 1.0)), false), 4);
    }
}
