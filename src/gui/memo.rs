//! What a view works out of something in each frame, once as long as that is the same.

use std::sync::Arc;

use eframe::egui::{Context, Id};

/// The key, and what was made of it; made anew only where the last key under this id was another.
pub(crate) fn memoize<K, V>(ctx: &Context, id: Id, key: K, make: impl FnOnce(&K) -> V) -> Arc<(K, V)>
where
    K: PartialEq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let known = last(ctx, id).filter(|known: &Arc<(K, V)>| known.0 == key);
    known.unwrap_or_else(|| remember(ctx, id, key, make))
}

/// The same for a key that is not made where `is_same` is true of the last one.
pub(crate) fn memoize_while<K, V>(
    ctx: &Context,
    id: Id,
    is_same: impl FnOnce(&K) -> bool,
    key: impl FnOnce() -> K,
    make: impl FnOnce(&K) -> V,
) -> Arc<(K, V)>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let known = last(ctx, id).filter(|known: &Arc<(K, V)>| is_same(&known.0));
    known.unwrap_or_else(|| remember(ctx, id, key(), make))
}

fn last<T: Clone + Send + Sync + 'static>(ctx: &Context, id: Id) -> Option<T> {
    ctx.data(|data| data.get_temp(id))
}

fn remember<K, V>(ctx: &Context, id: Id, key: K, make: impl FnOnce(&K) -> V) -> Arc<(K, V)>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let value = make(&key);
    let made = Arc::new((key, value));
    ctx.data_mut(|data| data.insert_temp(id, Arc::clone(&made)));
    made
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

    #[test]
    fn a_key_is_made_where_the_last_one_is_another() {
        let (ctx, mut keys) = (Context::default(), 0);
        let mut length = |text: &str| {
            let key = || {
                keys += 1;
                text.to_owned()
            };
            (memoize_while(&ctx, Id::unique("length"), |known| known == text, key, String::len).1, keys)
        };
        assert_eq!([length("a"), length("a"), length("fog"), length("a")], [(1, 1), (1, 1), (3, 2), (1, 3)]);
    }
}
