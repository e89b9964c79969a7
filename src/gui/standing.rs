//! What must stand for a moment before something follows: nobody wants an answer to each letter that is typed.

/// What something has become, and since when.
#[derive(Debug)]
pub(crate) struct Standing<T>(Option<(T, f64)>);

impl<T> Default for Standing<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Standing<T> {
    /// The seconds until it has stood for so long; `None` once it has. `same`: whether it is still what it was; where not, it is what `made`
    /// makes, from now on.
    pub(crate) fn rest(&mut self, same: impl Fn(&T) -> bool, made: impl FnOnce() -> T, now_secs: f64, secs: f64) -> Option<f32> {
        let since = match &self.0 {
            Some((it, since)) if same(it) => *since,
            _ => {
                self.0 = Some((made(), now_secs));
                now_secs
            }
        };
        let rest = since + secs - now_secs;
        // What is left by rounding is no time.
        (rest > 1e-6).then_some(rest as f32)
    }

    /// It is as it was, or what follows has begun.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_begins_the_wait_anew() {
        let mut standing = Standing::default();
        let mut rest = |it: u32, now: f64| standing.rest(|before| *before == it, || it, now, 0.5);
        assert_eq!((rest(1, 0.0), rest(1, 0.25), rest(2, 0.4), rest(2, 0.9)), (Some(0.5), Some(0.25), Some(0.5), None));
    }
}
