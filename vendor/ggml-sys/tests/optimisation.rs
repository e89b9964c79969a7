//! A development build spends less on the shim than a release.

#[path = "../build/optimisation.rs"]
mod optimisation;

#[test]
fn a_development_build_is_optimised_a_little_and_a_release_well() {
    assert_eq!(["0", "1"].map(optimisation::level), [1; 2]);
    assert_eq!(["2", "3", "s", "z"].map(optimisation::level), [2; 4]);
}
