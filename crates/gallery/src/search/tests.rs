use super::*;
use crate::fixture::{Fixture, from_picture, recipe, with_lora};
use crate::queue::Owner;
use crate::{FolderKind, Grouping, NewPicture, PictureFlag, PictureKind};
use atelier_core::recipe::{Recipe, Sampler, Seed};

/// Days in seconds since 1970, around noon in any time zone.
const DAY: u64 = 86_400;
const NOON: u64 = 20_000 * DAY + 43_200;

fn lakes() -> Fixture {
    let mut it = Fixture::new();
    it.add_folder("own", FolderKind::Own);
    it.record("own/lake.png", &recipe("a red lake at sunset, rendered", 1), NOON);
    it.record("own/night.png", &recipe("a lake by night", 2), NOON + DAY);
    it.record("own/ink.png", &with_lora(recipe("a hundred birds, Größe", 3), "ink_v2"), NOON + 2 * DAY);
    let portrait =
        Recipe {
            sampler: Some(Sampler::EulerA), negative_prompt: "fog".into(), steps: 30, guidance: 7.1, ..recipe("湖の上の夕日", 4)
        };
    it.record("own/japan.png", &portrait, NOON + 3 * DAY);
    it
}

#[test]
fn words_match_at_their_beginning_and_inside_only_where_none_begins_so() {
    let it = lakes();
    assert_eq!(it.found(""), ["japan.png", "ink.png", "night.png", "lake.png"]);
    assert_eq!(it.found("lake"), ["night.png", "lake.png"]);
    assert_eq!(it.found("LA"), ["night.png", "lake.png"]);
    assert_eq!(it.found("red"), ["lake.png"], "neither hundred nor rendered");
    assert_eq!(it.found("*red"), ["ink.png", "lake.png"]);
    assert_eq!(it.found("unse"), ["lake.png"]);
    assert_eq!(it.found("lake -night"), ["lake.png"]);
    assert_eq!(it.found("\"lake by\""), ["night.png"]);
    assert_eq!(it.found("\"lake b\""), Vec::<String>::new());
    assert_eq!(it.found("grosse"), Vec::<String>::new());
    assert_eq!(it.found("große"), ["ink.png"], "accents do not count");
    assert_eq!(it.found("größe groß"), ["ink.png"]);
    assert_eq!(it.found("nothing"), Vec::<String>::new());
}

#[test]
fn text_without_spaces_is_found_by_any_part_of_any_length() {
    let it = lakes();
    for part in ["湖", "夕日", "上の夕", "湖の上の夕日"] {
        assert_eq!(it.found(part), ["japan.png"], "{part}");
    }
    assert_eq!(it.found("-湖 lake"), ["night.png", "lake.png"]);
    assert_eq!(it.found("月"), Vec::<String>::new());
}

#[test]
fn fields_find_what_they_name() {
    let mut it = lakes();
    let ids = [it.id("own/lake.png"), it.id("own/ink.png")];
    it.database.set_rating(&ids, 4).unwrap();
    it.database.set_flag(&ids[..1], Some(PictureFlag::Pick)).unwrap();
    it.database.add_tag(&ids, "Water colour").unwrap();
    it.database.set_note(&ids[1..], "for the poster").unwrap();
    it.database.create_board("Summer").unwrap();
    it.database.add_to_board(&[ids[1], ids[0]], "summer").unwrap();
    let all = ["japan.png", "ink.png", "night.png", "lake.png"];
    for (query, expected) in [
        ("model:z-image", &all[..]),
        ("model:\"Z Image Turbo\"", &all),
        ("-model:z-image", &[]),
        ("model:sdxl", &[]),
        ("lora:INK", &all[1..2]),
        ("-lora:ink", &["japan.png", "night.png", "lake.png"]),
        ("seed:2..3", &all[1..3]),
        ("-seed:2..3", &["japan.png", "lake.png"]),
        ("rating>=3", &["ink.png", "lake.png"]),
        ("rating:0", &["japan.png", "night.png"]),
        ("flag:pick", &all[3..]),
        ("-flag:pick", &all[..3]),
        ("flag:none", &all[..3]),
        ("tag:\"water colour\"", &["ink.png", "lake.png"]),
        ("tag:wat*", &["ink.png", "lake.png"]),
        ("tag:wat", &[]),
        ("colour", &["ink.png", "lake.png"]),
        ("board:Summer", &["ink.png", "lake.png"]),
        ("note:poster", &all[1..2]),
        ("has:note", &all[1..2]),
        ("-has:lora", &["japan.png", "night.png", "lake.png"]),
        ("negative:fog", &all[..1]),
        ("fog", &[]),
        ("name:nigh", &all[2..3]),
        ("prompt:sunset", &all[3..]),
        ("folder:own", &all),
        ("folder:lake", &[]),
        ("tool:atelier", &all),
        ("-tool:comfyui", &all),
        ("sampler:\"euler a\"", &all[..1]),
        ("-sampler:euler-a", &all[1..]),
        ("steps>20", &all[..1]),
        ("cfg:7.1", &all[..1]),
        ("cfg<7.1", &all[1..]),
        ("size:8x6", &all),
        ("width>8", &[]),
        ("shape:landscape", &all),
        ("is:kept", &all),
        ("is:missing", &[]),
        ("before:2024-10-05", &all[3..]),
        ("since:2024-10-05 before:2024-10-06", &all[2..3]),
        ("on:2024-10-05", &all[2..3]),
        ("on:2024-10", &all),
        ("on:2023", &[]),
        ("before:1d", &all),
        ("since:1y", &[]),
    ] {
        assert_eq!(it.found(query), expected, "{query}");
    }
    assert_eq!(it.found_in_order("board:summer", Order::Board), ["ink.png", "lake.png"]);
    assert_eq!(it.found_in_order("", Order::Rating), ["ink.png", "lake.png", "japan.png", "night.png"]);
    assert_eq!(it.found_in_order("", Order::Name), ["ink.png", "japan.png", "lake.png", "night.png"]);
    assert_eq!(it.found_in_order("", Order::Oldest), ["lake.png", "night.png", "ink.png", "japan.png"]);
    assert_eq!(it.found_in_order("", Order::Largest).len(), 4);
}

#[test]
fn seeds_of_all_64_bits_are_found_by_value_and_between_two() {
    let mut it = Fixture::new();
    it.add_folder("own", FolderKind::Own);
    for (name, seed) in [("small", 7), ("half", i64::MAX.unsigned_abs()), ("high", 1 << 63), ("last", u64::MAX)] {
        let id = it.record(&format!("own/{name}.png"), &recipe("a lake", seed), NOON);
        assert_eq!(it.database.picture(id).unwrap().unwrap().settings.seed, Some(Seed(seed)));
    }
    it.record("own/unknown.png", &Recipe { seed: None, ..recipe("a lake", 0) }, NOON);
    for (query, expected) in [
        ("seed:18446744073709551615", &["last"][..]),
        ("seed:9223372036854775808", &["high"]),
        ("seed>9223372036854775807", &["high", "last"]),
        ("seed<9223372036854775808", &["half", "small"]),
        ("seed:9223372036854775807..9223372036854775808", &["half", "high"]),
        ("seed:0..18446744073709551615", &["half", "high", "last", "small"]),
        ("-seed:..9", &["half", "high", "last", "unknown"]),
        ("seed<0", &[]),
        ("seed:8..9", &[]),
        ("seed:-3..", &["half", "high", "last", "small"]),
        ("seed>18446744073709551615", &[]),
        ("seed<99999999999999999999", &["half", "high", "last", "small"]),
        ("steps>9223372036854775807", &[]),
        ("steps<9223372036854775808", &["half", "high", "last", "small", "unknown"]),
    ] {
        let mut found = it.found(query);
        found.sort();
        assert_eq!(found, expected.iter().map(|name| format!("{name}.png")).collect::<Vec<_>>(), "{query}");
    }
}

#[test]
fn pictures_made_for_others_are_found_by_a_part_of_their_names_in_any_script() {
    let mut it = lakes();
    for (n, name) in ["Anna", "Änne Löwe", "花子", "guest 10.0.0.7"].into_iter().enumerate() {
        let path = it.write(&format!("own/{n}.png"), &recipe("a harbour", 20 + n as u64), NOON + (10 + n as u64) * DAY);
        let picture = NewPicture { owner: Owner::named(name), ..NewPicture::read(&path, PictureKind::Kept).unwrap() };
        it.database.record_picture(&picture).unwrap();
    }
    for (query, expected) in [
        ("owner:anna", &["0.png"][..]),
        ("owner:änne", &["1.png"]),
        ("owner:\"löwe\"", &["1.png"]),
        ("owner:花", &["2.png"]),
        ("owner:\"guest 10.0.0.7\"", &["3.png"]),
        ("owner:nn", &["1.png", "0.png"]),
        ("owner:ben", &[]),
        ("harbour -owner:anna", &["3.png", "2.png", "1.png"]),
        ("has:owner", &["3.png", "2.png", "1.png", "0.png"]),
        ("lake -has:owner", &["night.png", "lake.png"]),
        ("lake -owner:anna", &["night.png", "lake.png"]),
        ("anna", &[]),
    ] {
        assert_eq!(it.found(query), expected, "{query}");
    }
    let id = it.id("own/1.png");
    assert_eq!(it.database.picture(id).unwrap().unwrap().owner, Owner::named("Änne Löwe"));
    assert!(it.database.picture(it.id("own/lake.png")).unwrap().unwrap().owner.is_person());
    // A picture that is found by a scan first, and recorded after, is the owner's all the same.
    let (path, folder) = (it.write("own/late.png", &recipe("late", 30), NOON + 20 * DAY), it.database.folders().unwrap()[0].id);
    it.scan(folder);
    it.database.record_picture(&NewPicture { owner: Owner::named("Ben"), ..NewPicture::read(&path, PictureKind::Kept).unwrap() }).unwrap();
    assert_eq!(it.found("owner:ben"), ["late.png"]);
}

#[test]
fn a_search_with_a_problem_is_not_carried_out() {
    let error = lakes().database.search(&Query::parse("lake colour:red"), Order::Newest).unwrap_err();
    assert!(matches!(&error, GalleryError::Query(sentence) if sentence.contains("not a search field")), "{error}");
}

#[test]
fn signs_of_sql_and_of_full_text_search_are_ordinary_characters() {
    let mut it = lakes();
    it.record("own/odd.png", &recipe("50% off_it \\ \"quoted\" OR NEAR( ' * ^", 9), NOON + 9 * DAY);
    for query in ["*0%", "*f_i", "name:odd", "\"OR NEAR\"", "'", "^", "%", "\\", "quoted"] {
        if Query::parse(query).problem().is_none() {
            assert!(!it.found(query).iter().any(|it| it == "lake.png"), "{query}");
        }
    }
    for query in ["50%", "*f_i", "quoted", "\"OR NEAR\"", "'", "^", "\\"] {
        assert_eq!(it.found(query), ["odd.png"], "{query}");
    }
    for query in ["tag:%", "board:'", "sampler:%", "folder:%", "lora:_ink", "name:\"'; DROP TABLE picture; --\""] {
        assert!(it.database.search(&Query::parse(query), Order::Newest).is_ok(), "{query}");
    }
    assert_eq!(it.found("").len(), 5);
}

#[test]
fn pictures_are_grouped_in_the_order_of_their_first_ones() {
    let mut it = lakes();
    it.record("own/lake2.png", &recipe("a red lake at sunset, rendered", 8), NOON + 3 * DAY + 60);
    let ids = it.database.search(&Query::default(), Order::Newest).unwrap();
    let groups = |grouping| -> Vec<(String, usize)> {
        it.database.groups(&ids, grouping).unwrap().into_iter().map(|it| (it.label, it.pictures.len())).collect()
    };
    let named = |all: &[(&str, usize)]| all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
    let prompts = [("a red lake at sunset, rendered", 2), ("湖の上の夕日", 1), ("a hundred birds, Größe", 1), ("a lake by night", 1)];
    assert_eq!(groups(Grouping::Prompt), named(&prompts));
    assert_eq!(groups(Grouping::Day), named(&[("2024-10-07", 2), ("2024-10-06", 1), ("2024-10-05", 1), ("2024-10-04", 1)]));
    assert_eq!(groups(Grouping::Model), named(&[("z_image_turbo-Q4", 5)]));
    assert_eq!(groups(Grouping::Batch).len(), 5);
}

#[test]
fn details_have_settings_family_and_the_newest_of_each_model() {
    let mut it = lakes();
    let parent = it.path("own/lake.png");
    let child = it.record("own/child.png", &from_picture(with_lora(recipe("again", 11), "ink"), &parent), NOON + 5 * DAY);
    let details = it.database.picture(child).unwrap().unwrap();
    assert_eq!(details.parent, Some(it.id("own/lake.png")));
    assert_eq!(it.database.picture(details.parent.unwrap()).unwrap().unwrap().children, [child]);
    assert_eq!(details.model_file.as_deref(), Some("z_image_turbo-Q4.gguf"));
    let settings = &details.settings;
    assert_eq!((settings.prompt.as_deref(), settings.seed, settings.steps), (Some("again"), Some(Seed(11)), Some(20)));
    assert_eq!((settings.loras[0].name.as_str(), settings.loras[0].strength), ("ink", 0.7));
    assert_eq!(
        details.recipe().unwrap().to_json().unwrap(),
        atelier_media::read_metadata(&it.path("own/child.png")).unwrap().recipe.unwrap().to_json().unwrap()
    );
    let latest = it.database.latest_pictures().unwrap();
    assert_eq!(latest.by_model_file["z_image_turbo-Q4.gguf"], child);
    assert_eq!((latest.by_lora["ink"], latest.by_lora["ink_v2"]), (child, it.id("own/ink.png")));
    assert_eq!(it.database.newest(2).unwrap(), [child, it.id("own/japan.png")]);
    assert_eq!(it.database.picture(PictureId(5)).unwrap(), None);
    assert_eq!(it.database.pictures(&[PictureId(5), child]).unwrap().len(), 1);
}

#[test]
fn the_best_pictures_of_a_model_are_picked_ones_then_stars_then_the_newest() {
    let mut it = lakes();
    let best = |it: &Fixture, count| it.database.best_of_model("z_image_turbo-Q4", "z_image_turbo-Q4.gguf", count).unwrap();
    let id = |it: &Fixture, name: &str| it.id(&format!("own/{name}.png"));
    let [lake, night, ink, japan] = ["lake", "night", "ink", "japan"].map(|name| id(&it, name));
    assert_eq!(best(&it, 9), [japan, ink, night, lake]);
    it.database.set_rating(&[night], 4).unwrap();
    it.database.set_flag(&[lake], Some(PictureFlag::Pick)).unwrap();
    it.database.set_flag(&[japan], Some(PictureFlag::Reject)).unwrap();
    assert_eq!(best(&it, 9), [lake, night, ink]);
    assert_eq!(best(&it, 1), [lake]);
    for (name, file) in [("z_image_turbo-Q4", "other.gguf"), ("other", "z_image_turbo-Q4.gguf")] {
        assert_eq!(it.database.best_of_model(name, file, 9).unwrap(), [], "another model");
    }
    it.database.connection().execute("UPDATE picture SET owner = 'anna' WHERE id = ?1", [lake.0]).unwrap();
    assert_eq!(best(&it, 9), [night, ink], "others asked for it");
}
