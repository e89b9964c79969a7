use crate::fixture::{Fixture, recipe};
use crate::{FolderKind, Grouping, Order, Query};

/// Rows that no version of Atelier writes, as damage or another program leaves them.
#[test]
fn hostile_rows_are_read_as_far_as_they_go() {
    let mut it = Fixture::new();
    let folder = it.add_folder("own", FolderKind::Own);
    it.record("own/good.png", &recipe("a lake", 1), 1000);
    for (n, change) in [
        "rating = 300",
        "rating = -1",
        "rating = 'many'",
        "width = -5, height = 99999999999",
        "state = 'unheard of'",
        "kind = x'ff', tool = 'paint', flag = 'maybe'",
        "seed = 'x', steps = -7, guidance = 'hot'",
        "file_hash = x'00'",
        "file_hash = 'text'",
        "bytes = -1, modified_ns = 'never', created_ms = 'never'",
        "model_id = NULL, sampler = x'00ff'",
        "relative_path = ''",
        "batch_id = 'x', prompt_hash = 'x'",
        "created_ms = 9223372036854775807",
    ]
    .into_iter()
    .enumerate()
    {
        let id = it.record(&format!("own/{n}.png"), &recipe("a lake", 10 + n as u64), 2000 + n as u64);
        let connection = it.database.connection();
        connection.pragma_update(None, "ignore_check_constraints", true).unwrap();
        connection.execute(&format!("UPDATE picture SET {change} WHERE id = {}", id.0), []).unwrap();
        connection.execute("UPDATE picture_recipe SET recipe = '{\"seed\":[' WHERE picture_id = ?1", [id.0]).unwrap();
        let pictures = it.database.pictures(&[id]).unwrap_or_else(|error| panic!("{change}: {error}"));
        assert_eq!(pictures.len(), 1, "{change}");
        assert!(pictures[0].rating <= 5, "{change}");
        let details = it.database.picture(id).unwrap_or_else(|error| panic!("{change}: {error}")).unwrap();
        assert_eq!(details.recipe(), None);
    }
    let ids = it.database.search(&Query::parse("lake"), Order::Rating).unwrap();
    assert_eq!(ids.len(), 15);
    for grouping in [Grouping::Prompt, Grouping::Day, Grouping::Model, Grouping::Batch] {
        let groups = it.database.groups(&ids, grouping).unwrap_or_else(|error| panic!("{grouping:?}: {error}"));
        assert_eq!(groups.iter().map(|it| it.pictures.len()).sum::<usize>(), 15);
    }
    it.database.latest_pictures().unwrap();
    it.database.set_rating(&ids, 3).unwrap();
    it.scan(folder);
    assert_eq!(it.found("good"), ["good.png"]);
}
