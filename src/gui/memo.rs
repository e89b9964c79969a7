//! What a view works out of something in each frame, once as long as that is the same.

use std::sync::Arc;

use eframe::egui::{Context, Id};

/// The key, and what was made of it; made anew only where the last key under this id was another.
pub(crate) fn memoize<K, V>(ctx: &Context, id: Id, key: K, make: impl FnOnce(&K) -> V) -> Arc<(K, V)>
where
    K: PartialEq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let known = ctx.data(|data| data.get_temp::<Arc<(K, V)>>(id)).filter(|known| known.0 == key);
    known.unwrap_or_else(|| {
        let value = make(&key);
        let made = Arc::new((key, value));
        ctx.data_mut(|data| data.insert_temp(id, Arc::clone(&made)));
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_again_for_another_key_alone() {
        let (ctx, mut count) = (Context::default(), 0);
        let mut doubled = |key: u32| {
            let make = |key: &u32| {
                count += 1;
                key * 2
            };
            (memoize(&ctx, Id::unique("doubled"), key, make).1, count)
        };
        assert_eq!([doubled(1), doubled(1), doubled(2), doubled(1)], [(2, 1), (2, 1), (4, 2), (2, 3)]);
    }
}
